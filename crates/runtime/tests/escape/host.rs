//! What the host itself has while a cell is alive: ports, sockets, files, variables, processes.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::Command;

use belljar_runtime::SandboxConfig;
use belljar_testing::{config, runtime, sandbox_with};
use serde_json::json;

use crate::support::{answer, default_sandbox};

#[tokio::test]
async fn tcp_port_of_the_host() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    let script = format!("emit_result(attempt(socket.socket().connect, ('127.0.0.1', {port})))");
    assert_eq!(answer(&sandbox, &script).await, json!("ECONNREFUSED"));
}

#[tokio::test]
async fn udp_port_of_the_host() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = receiver.local_addr().unwrap().port();
    let script = format!(
        "s = socket.socket(type=socket.SOCK_DGRAM)\ns.connect(('127.0.0.1', {port}))\ns.send(b'x')\nemit_result(attempt(s.recv, 1))"
    );
    assert_eq!(answer(&sandbox, &script).await, json!("ECONNREFUSED"));
    receiver.set_nonblocking(true).unwrap();
    assert!(receiver.recv(&mut [0]).is_err(), "a datagram got out");
}

#[tokio::test]
async fn abstract_socket_of_the_host() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let name = format!("belljar-escape-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    assert!(UnixStream::connect_addr(&address).is_ok());
    let script = format!("emit_result(attempt(socket.socket(socket.AF_UNIX).connect, '\\0{name}'))");
    assert_eq!(answer(&sandbox, &script).await, json!("ECONNREFUSED"));
}

#[tokio::test]
async fn files_of_the_host() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret");
    std::fs::write(&path, "secret").unwrap();
    let _listener = UnixListener::bind(directory.path().join("socket")).unwrap();
    let script = format!(
        "emit_result([attempt(open, {path:?}), attempt(socket.socket(socket.AF_UNIX).connect, {:?}), attempt(open, {:?})])",
        directory.path().join("socket"),
        std::env::current_exe().unwrap(),
    );
    assert_eq!(answer(&sandbox, &script).await, json!(["ENOENT", "ENOENT", "ENOENT"]));
}

#[tokio::test]
async fn process_of_the_host() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let pid = std::process::id();
    let script = format!(
        "emit_result([attempt(os.kill, {pid}, 0), attempt(os.listdir, '/proc/{pid}'), syscall('pidfd_open', {pid}, 0), attempt(os.getsid, {pid})])"
    );
    assert_eq!(answer(&sandbox, &script).await, json!(["ESRCH", "ENOENT", "ESRCH", "ESRCH"]));
}

/// Set for the host that the test below starts.
const MARK: &str = "BELLJAR_ESCAPE_MARK";
/// 32 bytes, in two halves: a search for the whole must not hold the whole.
const HEAD: &str = "c0ffee5afec0ffee";
const TAIL: &str = "5ec2e75ec2e75ec2";
const DIGEST_OF_TAIL: &str = "a7730f3293270b7d0dc245d146e95cb89979352af0b4bdd7845b2e0671361de9";

/// Not a test of its own: the host with the marked environment, which is this very program again.
#[tokio::test]
async fn as_the_host_with_a_marked_environment() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let look = format!("emit_result([memory_holds(b'{HEAD}', '{DIGEST_OF_TAIL}'), '{MARK}' in os.environ])");
    let plain = sandbox_with(&runtime, config()).await;
    assert_eq!(answer(&plain, &look).await, json!([false, false]));
    // The same variable, this time because the config says so.
    let env = [(MARK.to_owned(), format!("{HEAD}{TAIL}"))].into();
    let granted = sandbox_with(&runtime, SandboxConfig { env, ..config() }).await;
    assert_eq!(answer(&granted, &look).await, json!([true, true]), "the search does not find what is there");
}

#[tokio::test]
async fn environment_of_the_host_is_not_in_memory() {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "host::as_the_host_with_a_marked_environment", "--nocapture"])
        .env(MARK, format!("{HEAD}{TAIL}"))
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}

/// A socket can be bound to an interface by name, which tells whether there is one.
#[tokio::test]
async fn interfaces_of_the_host_by_guessing() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let names: Vec<String> = std::fs::read_dir("/sys/class/net")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "lo")
        .collect();
    let script = format!(
        "SO_BINDTODEVICE = 25\nchannel = socket.socket(fileno=os.dup(900))\n\
         emit_result([name for name in {names:?} if attempt(channel.setsockopt, socket.SOL_SOCKET, SO_BINDTODEVICE, name.encode()) == 'done'])"
    );
    assert_eq!(answer(&sandbox, &script).await, json!([]));
}
