//! Servers that are reached over HTTP.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use belljar_core::Secret;
use belljar_mcp::McpServer;
use belljar_runtime::ToolRegistry;
use belljar_testing::{data, in_time, runtime};

use super::official::program;
use super::{connect, run, sandbox};

/// Ends with the test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server of everything over HTTP, and its address.
fn serve(program: &std::path::Path, port: u16) -> Ending {
    let mut child = Command::new(program)
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let ending = Ending(child);
    let mut line = String::new();
    while !line.contains("listening on port") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it listened");
    }
    // Nobody reads the rest, but it can be written.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    ending
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn a_server_is_reached_over_http_and_again_after_its_end() {
    let (Some(runtime), Some(program)) = (runtime(), program("node_modules/.bin/mcp-server-everything"))
    else {
        return;
    };
    let port = free_port();
    let first = serve(&program, port);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let connection = connect(McpServer::url(url).header("X-Key", Secret::new("k"))).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "emit_result(mcp_echo(message='over http'))";
    assert!(data(&run(&sandbox, script).await).contains("over http"));
    drop(first);
    let gone = run(&sandbox, script).await;
    assert!(data(&gone).contains("\"success\":false"), "{gone:#?}");
    let _second = serve(&program, port);
    let again = run(&sandbox, "for _ in range(20):\n    found = mcp_echo(message='again')\n    if found.success: break\nemit_result(found)").await;
    assert!(data(&again).contains("\"success\":true"), "{again:#?}");
}

#[tokio::test]
async fn an_address_that_is_none_is_named() {
    let url = format!("http://127.0.0.1:{}/mcp", free_port());
    let error = in_time(McpServer::url(url).connect()).await.unwrap_err().to_string();
    assert!(error.contains("the MCP server `mcp` cannot be connected to"), "{error}");
    assert!(error.contains("Connection refused") && !error.contains("::"), "{error}");
    let url = format!("http://127.0.0.1:{}/mcp?key=hunter2", free_port());
    let error = in_time(McpServer::url(url).connect()).await.unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
    let error = in_time(McpServer::url("http://127.0.0.1:1").header("a b", Secret::new("k")).connect());
    let error = error.await.unwrap_err().to_string();
    assert!(error.contains("`a b` is no name of a header"), "{error}");
}

#[tokio::test]
async fn a_server_at_an_address_that_quotes_its_key_shows_it_to_nobody() {
    let Some(runtime) = runtime() else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/http_server.py");
    let mut child = Command::new("python3").arg(script).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let _ending = Ending(child);
    let mut port = String::new();
    said.read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let server = McpServer::url(url).named("test").header("Authorization", Secret::new("Bearer hunter2"));
    let connection = connect(server).await;
    let described = connection.add_to(ToolRegistry::new()).unwrap().descriptions().prompt();
    assert!(described.contains("Use ***."), "{described}");
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "emit_result([test_quote().data, test_fail().message, test_break().message])";
    let result = run(&sandbox, script).await;
    let found: serde_json::Value = serde_json::from_str(data(&result)).unwrap();
    assert_eq!((&found[0], &found[1]), (&"*** and ***".into(), &"*** and ***".into()));
    let message = found[2].as_str().unwrap();
    for part in ["the MCP server `test` gave no answer: ", "500", "The next call connects to it again"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("hunter2"), "{message}");
}
