//! Connections to hosts are used again, by one cell, and only while everything is well.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belljar_proxy::{CellEgress, Egress, EgressOptions, Limits};
use belljar_testing::bypass::Odd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::{ALLOWED, Script, policy, proxy, read_answer};

/// Long enough for any machine.
const HANG: Duration = Duration::from_secs(60);

async fn ask(proxy: SocketAddr, odd: &Odd, line: &str, rest: &str) -> String {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    let (method, path) = line.split_once(' ').unwrap();
    let at = format!("good.test:{}", odd.port);
    let request = format!("{method} http://{at}{path} HTTP/1.1\r\nHost: {at}\r\n{rest}");
    stream.write_all(request.as_bytes()).await.unwrap();
    timeout(HANG, read_answer(&mut stream)).await.unwrap()
}

async fn get(proxy: SocketAddr, odd: &Odd, path: &str) -> String {
    ask(proxy, odd, &format!("GET {path}"), "\r\n").await
}

async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(HANG, waiting).await.is_ok(), "it never came about that {what}");
}

async fn world() -> (Odd, CellEgress, SocketAddr) {
    let odd = Odd::start(ALLOWED).await;
    let (cell, address) =
        proxy(policy(&[odd.port, odd.silent]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    (odd, cell, address)
}

#[tokio::test]
async fn one_connection_serves_many_requests_and_is_given_up_after_a_while() {
    let (odd, cell, address) = world().await;
    for _ in 0..20 {
        assert!(get(address, &odd, "/hello").await.ends_with("hello"));
    }
    assert_eq!(odd.accepted(), 1);
    let lines = cell.take_decisions();
    assert_eq!((lines.len(), lines[0].count), (1, 20), "each request is a decision all the same");
    assert!(lines[0].bytes_sent > 20 * 30 && lines[0].bytes_received >= 20 * 43, "{lines:?}");
    eventually("nothing is kept for ever", || odd.open() == 0).await;
}

#[tokio::test]
async fn two_cells_of_one_template_share_no_connection() {
    let odd = Odd::start(ALLOWED).await;
    let egress =
        Egress::new(policy(&[odd.port]), EgressOptions::new(Script::new(vec![vec![ALLOWED]]))).unwrap();
    let mut cells = Vec::new();
    for count in 1..=3 {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        cells.push(egress.serve(listener).unwrap());
        for _ in 0..3 {
            assert!(get(address, &odd, "/hello").await.ends_with("hello"));
        }
        assert_eq!(odd.accepted(), count, "each cell has one of its own");
    }
}

#[tokio::test]
async fn another_name_for_the_same_place_is_another_host() {
    let (odd, _cell, address) = world().await;
    for name in ["good.test", "a.wild.test", "b.wild.test", "127.0.0.77"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let at = format!("{name}:{}", odd.port);
        stream
            .write_all(format!("GET http://{at}/hello HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        assert!(read_answer(&mut stream).await.ends_with("hello"));
    }
    assert_eq!(odd.accepted(), 4);
}

#[tokio::test]
async fn what_may_not_be_sent_twice_is_sent_on_a_connection_of_its_own() {
    let (odd, _cell, address) = world().await;
    for line in ["POST /a", "PUT /b", "DELETE /c", "PATCH /d"] {
        let answer = ask(address, &odd, line, "Content-Length: 2\r\n\r\nhi").await;
        assert!(answer.ends_with("hello"), "{answer}");
    }
    assert_eq!(odd.accepted(), 4);
    assert_eq!(
        odd.heard(),
        ["POST /a", "PUT /b", "DELETE /c", "PATCH /d"].map(|line| format!("{line} HTTP/1.1"))
    );
    assert!(get(address, &odd, "/hello").await.ends_with("hello"));
    assert_eq!(odd.accepted(), 4, "what they leave behind is good for one that may");
}

#[tokio::test]
async fn a_host_that_closes_when_it_likes_costs_no_request() {
    let (odd, _cell, address) = world().await;
    for round in 0..30 {
        for path in ["/silently-close", "/hello", "/close", "/unframed", "/extra"] {
            let answer = get(address, &odd, path).await;
            assert!(answer.contains("hello") && !answer.contains("forged"), "{round} {path}: {answer}");
        }
    }
}

#[tokio::test]
async fn after_an_answer_that_is_not_well_the_connection_is_not_used_again() {
    let (odd, _cell, address) = world().await;
    for (count, path) in
        ["/early-close", "/broken-chunk", "/extra", "/two-lengths", "/garbage"].iter().enumerate()
    {
        get(address, &odd, path).await;
        get(address, &odd, "/close").await;
        assert_eq!(odd.accepted(), 2 * (count + 1), "{path}");
    }
}

#[tokio::test]
async fn closing_a_cell_ends_all_of_it_before_it_is_over() {
    let odd = Odd::start(ALLOWED).await;
    let egress =
        Egress::new(policy(&[odd.port]), EgressOptions::new(Script::new(vec![vec![ALLOWED]]))).unwrap();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let tell = told.clone();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let cell = egress
        .serve_reporting(listener, move |denial| tell.lock().unwrap().push(denial.host.clone()))
        .unwrap();
    // An idle connection, some that wait for answers, and many requests for something that is
    // refused.
    get(address, &odd, "/hello").await;
    let mut kept = Vec::new();
    for path in ["/never", "/drip", "/endless"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let at = format!("good.test:{}", odd.port);
        let request = format!("POST http://{at}{path} HTTP/1.1\r\nHost: {at}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        kept.push(stream);
    }
    eventually("all have arrived", || odd.open() == 4).await;
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"CONNECT evil.test:1 HTTP/1.1\r\n\r\n").await.unwrap();
        kept.push(stream);
    }
    cell.close().await;
    let told_by_then = told.lock().unwrap().len();
    assert!(TcpStream::connect(address).await.is_err(), "its listener is closed");
    eventually("the host was left", || odd.open() == 0).await;
    for mut stream in kept {
        let mut rest = Vec::new();
        let _ = timeout(HANG, stream.read_to_end(&mut rest)).await.expect("its end is closed");
    }
    assert_eq!(told.lock().unwrap().len(), told_by_then, "something was decided after the end");
}

#[tokio::test]
async fn a_cell_that_has_spent_its_processor_time_ends_at_once_all_the_same() {
    let odd = Odd::start(ALLOWED).await;
    let mut limits = Limits::default();
    // So little that it is in debt for hours after the first request.
    limits.processor_cores = 0.0;
    limits.saved_processor_time = Duration::ZERO;
    let (cell, address) = proxy(policy(&[odd.port]), Script::new(vec![vec![ALLOWED]]), limits);
    let mut kept = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"CONNECT evil.test:1 HTTP/1.1\r\n\r\n").await.unwrap();
        kept.push(stream);
    }
    timeout(HANG, cell.close()).await.expect("its debts are waited for");
}
