//! A collector of OTLP on this machine, which keeps what it is sent.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a collector does with those who connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Takes what it is sent.
    Takes,
    /// Never answers.
    Silent,
}

pub(crate) struct Collector {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// The first line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// A span, as it was exported.
#[derive(Debug, Clone, Default)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) state: String,
    pub(crate) name: String,
    pub(crate) kind: u64,
    pub(crate) attributes: BTreeMap<String, String>,
}

impl Collector {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let kept = received.clone();
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                match manner {
                    Manner::Silent => silent.push(stream),
                    Manner::Takes => kept.lock().unwrap().extend(take(stream)),
                }
            }
        });
        Self { url, received }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let (mut spans, received) = (Vec::new(), self.received());
        for of_resource in received.iter().flat_map(|it| inner(&it.body, 1)) {
            for of_scope in inner(of_resource, 2) {
                spans.extend(inner(of_scope, 2).map(span));
            }
        }
        spans
    }
}

fn take(stream: TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    reader.into_inner().write_all(answer.as_bytes()).ok()?;
    Some(Received { head, body })
}

/// A field of a message of protobuf.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn fields(mut message: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let tag = number(&mut message);
        let field = match tag & 7 {
            0 => Field::Number(number(&mut message)),
            1 => Field::Bytes(message.split_off(..8).unwrap()),
            2 => {
                let length = usize::try_from(number(&mut message)).unwrap();
                Field::Bytes(message.split_off(..length).unwrap())
            }
            5 => Field::Bytes(message.split_off(..4).unwrap()),
            kind => panic!("there is no kind {kind}"),
        };
        found.push((tag >> 3, field));
    }
    found
}

fn number(message: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0..10 {
        let byte = *message.split_off_first().unwrap();
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn inner(message: &[u8], wanted: u64) -> impl Iterator<Item = &[u8]> {
    fields(message).into_iter().filter_map(move |(name, field)| match field {
        Field::Bytes(bytes) if name == wanted => Some(bytes),
        _ => None,
    })
}

fn span(message: &[u8]) -> Span {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut span = Span::default();
    for (name, field) in fields(message) {
        match (name, field) {
            (1, Field::Bytes(bytes)) => span.trace = hex(bytes),
            (2, Field::Bytes(bytes)) => span.id = hex(bytes),
            (3, Field::Bytes(bytes)) => span.state = text(bytes),
            (4, Field::Bytes(bytes)) => span.parent = hex(bytes),
            (5, Field::Bytes(bytes)) => span.name = text(bytes),
            (6, Field::Number(kind)) => span.kind = kind,
            (9, Field::Bytes(attribute)) => {
                let key = inner(attribute, 1).map(text).collect();
                let value = inner(attribute, 2).flat_map(fields).map(|(_, value)| match value {
                    Field::Number(number) => number.to_string(),
                    Field::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                });
                span.attributes.insert(key, value.collect());
            }
            _ => {}
        }
    }
    span
}
