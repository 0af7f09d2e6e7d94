//! A client that gives up gives back what it had: an honest script's time-outs must not cost it its
//! network.

use std::time::{Duration, Instant};

use belljar_testing::{data, eventually};

use crate::world::World;

/// Far less than the minute after which a silent connection is given up, and long enough for a
/// loaded machine.
const SOON: Duration = Duration::from_secs(25);

/// Each script ends with an ordinary request.
async fn is_served_soon_after(world: &World, script: &str) {
    let sandbox = world.sandbox("api.test").await;
    let began = Instant::now();
    let result = world.run(&sandbox, script).await;
    assert!(data(&result).ends_with("hello\""), "{result:#?}");
    assert!(began.elapsed() < SOON, "after {:?}", began.elapsed());
}

#[tokio::test]
async fn requests_that_a_client_gave_up_are_given_up() {
    let Some(world) = World::new().await else { return };
    // As many as there are places, each left by its client: by closing, and by resetting.
    let script = "for number in range(64):\n    s = proxy(); s.sendall(request('/never', more=''))\n    if number % 2: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\n    s.close()\n\
                  emit_result(get('/hello').decode())";
    is_served_soon_after(&world, script).await;
    eventually("the host was left alone", || world.odd.open() == 0).await;
}

#[tokio::test]
async fn answers_that_a_client_gave_up_are_given_up() {
    let Some(world) = World::new().await else { return };
    let script = "for number in range(64):\n    s = proxy(); s.sendall(request('/drip', more='')); seen = b''\n    while not seen.endswith(b'x'): seen += s.recv(4096)\n    s.close()\n\
                  emit_result(get('/hello').decode())";
    is_served_soon_after(&world, script).await;
}

#[tokio::test]
async fn tunnels_that_a_client_gave_up_are_given_up() {
    let Some(world) = World::new().await else { return };
    // The TLS greeting is on its way, and the client leaves before there is an answer.
    let script = "for number in range(64):\n    s = tunnel(port=SILENT); s.sendall(hello()); s.close()\n\
                  emit_result(get('/hello').decode())";
    is_served_soon_after(&world, script).await;
}

#[tokio::test]
async fn a_client_that_is_done_sending_still_gets_its_answer() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "def half(message):\n    with proxy() as s:\n        s.sendall(message); s.shutdown(socket.SHUT_WR)\n        return read_all(s).decode()\n\
                  old = f'GET http://api.test:{ODD}/hello HTTP/1.0\\r\\n\\r\\n'.encode()\n\
                  emit_result([half(message).endswith('hello') for message in [request('/hello'), request('/hello', more=''), old] * 10])";
    let result = world.run(&sandbox, script).await;
    assert_eq!(data(&result), format!("[{}]", vec!["true"; 30].join(",")), "{result:#?}");
}
