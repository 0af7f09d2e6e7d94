//! The host's ports are everybody's: one cell's connections must not use them up.

use belljar_testing::{data, eventually};

use crate::world::{HOME, World};

/// Sockets of this machine that wait for stray packets after a connection to a port of this world
/// was closed from here.
fn lingering(port: u16) -> usize {
    const TIME_WAIT: &str = "06";
    let std::net::IpAddr::V4(home) = HOME else { panic!("{HOME}") };
    let remote = format!("{:08X}:{port:04X}", u32::from_ne_bytes(home.octets()));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    table.lines().map(fields).filter(|line| line[2] == remote && line[3] == TIME_WAIT).count()
}

#[tokio::test]
async fn requests_share_a_few_connections_and_leave_none_behind() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "for _ in range(300): get('/hello')\nemit_result(1)";
    assert_eq!(data(&world.run(&sandbox, script).await), "1");
    assert!(world.odd.accepted() <= 20, "{} connections for 300 requests", world.odd.accepted());
    assert!(lingering(world.odd.port) <= 20, "{} ports are held", lingering(world.odd.port));
}

#[tokio::test]
async fn tunnels_that_a_guest_closes_leave_no_port_behind() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "import ssl\ncontext = ssl.create_default_context(cafile=CA)\n\
                  for number in range(150):\n    with context.wrap_socket(tunnel(port=HTTPS), server_hostname='api.test') as s:\n        s.sendall(f'GET / HTTP/1.1\\r\\nHost: api.test:{HTTPS}\\r\\n\\r\\n'.encode()); s.recv(4096)\n\
                  emit_result(1)";
    assert_eq!(data(&world.run(&sandbox, script).await), "1");
    assert!(lingering(world.https) <= 20, "{} ports are held", lingering(world.https));
}

#[tokio::test]
async fn plain_tunnels_that_guests_end_leave_few_ports_behind_whatever_the_number_of_runs() {
    let Some(world) = World::new().await else { return };
    let mut config = world.config("api.test", Vec::new());
    config.network_policy.plain_hosts = vec!["api.test".into()];
    let sandbox = world.runtime.sandbox(config).await.unwrap();
    let script = "for number in range(100):\n    s = tunnel(); s.sendall(b'hi')\n    if number % 2: s.shutdown(socket.SHUT_WR)\n    s.close()\n\
                  emit_result(1)";
    for _ in 0..3 {
        assert_eq!(data(&world.run(&sandbox, script).await), "1");
    }
    // A connection stands before its host has looked at it.
    eventually("the host has seen the tunnels", || world.odd.accepted() >= 200).await;
    eventually("the tunnels have ended", || world.odd.open() == 0).await;
    assert!(lingering(world.odd.port) <= 64, "{} ports are held", lingering(world.odd.port));
}

#[tokio::test]
async fn a_run_that_ends_with_open_tunnels_leaves_no_port_behind() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "kept = [tunnel() for _ in range(60)]\nemit_result(1)";
    assert_eq!(data(&world.run(&sandbox, script).await), "1");
    eventually("the host has seen the tunnels", || world.odd.accepted() >= 60).await;
    eventually("the tunnels have ended", || world.odd.open() == 0).await;
    assert!(lingering(world.odd.port) <= 10, "{} ports are held", lingering(world.odd.port));
}

#[tokio::test]
async fn new_connections_come_at_a_bounded_pace() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    // Each a connection of its own, as fast as a guest can: more than a second's worth is not made
    // at once.
    let script = "import time\nbegan, made = time.monotonic(), 0\n\
                  while time.monotonic() - began < 4:\n    tunnel().close(); made += 1\n\
                  emit_result(made)";
    let result = world.run(&sandbox, script).await;
    let made: usize = data(&result).parse().unwrap();
    eventually("the host has seen a hundred", || world.odd.accepted() >= 100).await;
    assert!(made <= 800, "{made} connections in four seconds");
}
