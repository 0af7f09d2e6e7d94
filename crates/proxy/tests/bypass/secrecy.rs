//! No log contains what a guest puts into a name, because it may be a secret.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use belljar_proxy::{Limits, SystemResolver};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::names::{Answer, Names};
use crate::world::{ALLOWED, Host, policy, proxy, read_answer};

/// Collects everything, at any level and from anyone.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<String>>);

struct Words<'a>(&'a mut String);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Words(&mut self.0.lock().unwrap()));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Words(&mut self.0.lock().unwrap()));
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Words(&mut self.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_secret_in_a_name_is_in_no_log() {
    let heard = Everything::default();
    let _hearing = tracing::subscriber::set_default(heard.clone());
    let names = Names::serve(|name, _| match name.starts_with("hunter2-ok") {
        true => Answer::Addresses(vec![ALLOWED]),
        false => Answer::Failure,
    });
    let host = Host::start().await;
    let resolver = SystemResolver::asking(names.address).unwrap();
    let (_cell, address) = proxy(policy(&[host.port]), resolver, Limits::default());
    // Allowed, allowed without an answer, and refused; by request and by tunnel.
    for name in
        ["hunter2-ok.wild.test", "hunter2-no.wild.test", "hunter2.evil.test", "hunter2 x", "hunter2\u{1}"]
    {
        for line in [format!("GET http://{name}:{}/", host.port), format!("CONNECT {name}:{}", host.port)] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request =
                format!("{line} HTTP/1.1\r\nHost: {name}:{}\r\nConnection: close\r\n\r\n", host.port);
            stream.write_all(request.as_bytes()).await.unwrap();
            read_answer(&mut stream).await;
        }
    }
    let heard = heard.0.lock().unwrap();
    assert!(heard.contains("*.wild.test"), "what is logged is the policy's own entry: {heard}");
    assert!(!heard.contains("hunter2"), "{heard}");
}

#[tokio::test]
async fn of_what_was_refused_nothing_but_a_host_is_on_record_or_in_the_answer() {
    let (cell, address) = proxy(policy(&[80]), crate::world::Script::default(), Limits::default());
    let long = "hunter2".repeat(44);
    for secret in ["hunter2", long.as_str(), "hunter2\\\"'", "hunter2/x", "x/hunter2", "hunter2?x#y"] {
        for line in [
            format!("GET http://user:{secret}@127.0.0.1:18080/"),
            format!("GET http://{secret}@127.0.0.1:18080/"),
            format!("GET http://user:x@evil.test/{secret}?{secret}"),
            format!("GET ftp://evil.test/{secret}"),
            format!("GET /{secret}"),
            format!("CONNECT user:{secret}@evil.test:443"),
            format!("CONNECT {secret}@evil.test:443"),
        ] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("{line} HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let answer = read_answer(&mut stream).await;
            assert!(answer.starts_with("HTTP/1.1 403 ") && !answer.contains("hunter2"), "{line}: {answer}");
            let said = format!("{:?}", cell.take_decisions());
            assert!(said.contains("Denied") && !said.contains("hunter2"), "{line}: {said}");
        }
    }
}
