//! Requests and greetings in pieces, in heaps and inside each other, from a guest's own sockets.

use belljar_runtime::NetworkVerdict;
use belljar_testing::data;

use crate::world::World;

#[tokio::test]
async fn requests_in_one_heap_are_answered_one_by_one_and_decided_one_by_one() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "heap = request('/a', more='') + request('/b', more='') + request('/c', host='evil.test', more='') + request('/d', more='')\n\
                  emit_result(ask(heap).decode())";
    let result = world.run(&sandbox, script).await;
    let answer: String = serde_json::from_str(data(&result)).unwrap();
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 403 ").count(), 1, "{answer}");
    let heard = world.odd.heard();
    assert!(heard.iter().any(|line| line.contains("/a")) && heard.iter().any(|line| line.contains("/b")));
    assert!(!heard.iter().any(|line| line.contains("/c") || line.contains("/d")), "{heard:?}");
}

#[tokio::test]
async fn a_request_inside_a_body_stays_a_body() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "inner = request('/inner', more='').decode()\n\
                  head = f'POST http://api.test:{ODD}/outer HTTP/1.1\\r\\nHost: api.test:{ODD}\\r\\n'\n\
                  plain = f'{head}Content-Length: {len(inner)}\\r\\n\\r\\n{inner}'.encode()\n\
                  bodies = [plain, f'{head}Content-Length: 0\\r\\nContent_Length: {len(inner)}\\r\\n\\r\\n'.encode(), f'{head}Transfer_Encoding: chunked\\r\\nContent-Length: 5\\r\\n\\r\\n0\\r\\n\\r\\n'.encode()]\n\
                  emit_result([ask(body + request('/after')).decode().count('HTTP/1.1 200') for body in bodies])";
    let result = world.run(&sandbox, script).await;
    // The second and third are written for servers that take `_` for `-`: to them it would be
    // another body.
    assert_eq!(data(&result), "[2,0,0]", "{result:#?}");
    let heard = world.odd.heard();
    assert!(!heard.iter().any(|line| line.contains("/inner")), "{heard:?}");
}

#[tokio::test]
async fn a_carriage_return_at_the_edge_of_a_value_is_refused() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "edges = ['X: a\\r\\r\\n', 'X:\\ra\\r\\n', 'X: \\ra \\r\\r\\n', 'X:\\r\\r\\n', 'Transfer-Encoding: \\rchunked\\r\\n', 'Content-Length: 0\\r\\r\\n']\n\
                  emit_result([ask(request('/edge', more=edge + 'Connection: close\\r\\n')).decode()[:13] for edge in edges])";
    let result = world.run(&sandbox, script).await;
    let answers: Vec<String> = serde_json::from_str(data(&result)).unwrap();
    assert_eq!(answers, ["HTTP/1.1 403 "; 6]);
    assert_eq!(world.odd.heard(), [""; 0]);
}

#[tokio::test]
async fn a_greeting_in_any_number_of_pieces_is_read_before_anything_is_sent() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "def greet(name, size, step):\n    with tunnel(port=HTTPS) as s:\n        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n        message = hello(name, size)\n        try:\n            for at in range(0, len(message), step): s.sendall(message[at:at + step])\n        except OSError: pass\n        return s.recv(1)[:1].hex()\n\
                  pieces = [(16000, 16000), (16000, 1), (1, 7), (40, 3), (5, 1)]\n\
                  emit_result([[greet(b'api.test', *p) for p in pieces], [greet(b'evil.test', *p) for p in pieces]])";
    let result = world.run(&sandbox, script).await;
    let (good, bad): (Vec<String>, Vec<String>) = serde_json::from_str(data(&result)).unwrap();
    // The host's own word, whatever it makes of such a greeting: a handshake or an alert. Else the
    // proxy's alert.
    assert!(good.iter().all(|first| first == "16" || first == "15"), "{good:?}");
    assert_eq!(bad, ["15"; 5]);
    let (sent, denied): (Vec<_>, Vec<_>) =
        result.network.iter().partition(|line| line.verdict == NetworkVerdict::Allowed);
    assert!(sent.iter().all(|line| line.bytes_sent > 0) && !sent.is_empty(), "{sent:?}");
    assert!(denied.iter().all(|line| line.bytes_sent == 0) && !denied.is_empty(), "{denied:?}");
}
