//! How much a cell may have done for it in a while, and what it does not have to wait for.

use std::time::{Duration, Instant};

use belljar_core::NetworkVerdict;
use belljar_proxy::{Limits, Resolve, Resolving};
use belljar_testing::bypass::Odd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::{ALLOWED, Script, policy, proxy, read_answer};

const HANG: Duration = Duration::from_secs(60);

async fn connect(proxy: std::net::SocketAddr, port: u16) -> String {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    let request = format!("CONNECT good.test:{port} HTTP/1.1\r\nHost: good.test\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    timeout(HANG, read_answer(&mut stream)).await.unwrap()
}

#[tokio::test]
async fn who_connects_too_often_waits_and_is_then_told() {
    let odd = Odd::start(ALLOWED).await;
    let mut limits = Limits::default();
    (limits.saved_dials, limits.dials_per_second) = (3, 1);
    limits.connect_time = Duration::from_millis(200);
    let (cell, address) = proxy(policy(&[odd.port]), Script::new(vec![vec![ALLOWED]]), limits);
    let asked: Vec<_> = (0..30).map(|_| tokio::spawn(connect(address, odd.port))).collect();
    let mut answers = Vec::new();
    for answer in asked {
        answers.push(answer.await.unwrap());
    }
    let granted = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 200 ")).count();
    let refused: Vec<_> = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 403 ")).collect();
    assert!(granted >= 3 && !refused.is_empty() && granted + refused.len() == 30, "{answers:?}");
    assert!(refused.iter().all(|answer| answer.contains("new connections a second")), "{refused:?}");
    let denied = |verdict: &NetworkVerdict| matches!(verdict, NetworkVerdict::Denied { .. });
    let on_record = cell.take_decisions().into_iter().filter(|line| denied(&line.verdict));
    assert_eq!(on_record.map(|line| line.count).sum::<u64>(), refused.len() as u64);
    // A little later another one works.
    let again = async { while !connect(address, odd.port).await.starts_with("HTTP/1.1 200 ") {} };
    timeout(HANG, again).await.unwrap();
}

/// Never answers.
struct Silence;

impl Resolve for Silence {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn who_leaves_while_a_host_is_looked_for_gives_its_place_back() {
    let mut limits = Limits::default();
    limits.connections = 1;
    limits.connect_time = HANG;
    let (_cell, address) = proxy(policy(&[80]), Silence, limits);
    let by_socks = [&[5, 1, 0, 5, 1, 0, 3, 9][..], b"good.test", &[0, 80]].concat();
    for beginning in [
        &b"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test\r\n\r\n"[..],
        b"GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
        b"POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nContent-Length: 2\r\n\r\nhi",
        &by_socks,
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(beginning).await.unwrap();
        drop(stream);
        // The only place is free again long before the host would be given up.
        let began = Instant::now();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"CONNECT evil.test:1 HTTP/1.1\r\n\r\n").await.unwrap();
        assert!(timeout(HANG, read_answer(&mut stream)).await.unwrap().starts_with("HTTP/1.1 403 "));
        assert!(began.elapsed() < HANG / 2, "after {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_cell_without_processor_time_is_slowed_down_and_served() {
    let odd = Odd::start(ALLOWED).await;
    let mut limits = Limits::default();
    limits.processor_cores = 0.05;
    limits.saved_processor_time = Duration::ZERO;
    let (_cell, address) = proxy(policy(&[odd.port]), Script::new(vec![vec![ALLOWED]]), limits);
    let mut stream = TcpStream::connect(address).await.unwrap();
    let at = format!("good.test:{}", odd.port);
    for _ in 0..10 {
        stream
            .write_all(format!("GET http://{at}/hello HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        assert!(timeout(HANG, read_answer(&mut stream)).await.unwrap().ends_with("hello"));
    }
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    timeout(HANG, stream.read_to_end(&mut rest)).await.unwrap().unwrap();
}
