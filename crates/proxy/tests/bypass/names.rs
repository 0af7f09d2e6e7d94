//! A small DNS server on loopback, as treacherous as a test wants it.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

pub(crate) const A: u16 = 1;
pub(crate) const AAAA: u16 = 28;
const CNAME: u16 = 5;

/// What the server answers to a question.
pub(crate) enum Answer {
    /// These addresses. Those of the family that was not asked for are left out.
    Addresses(Vec<IpAddr>),
    /// Another name, and its addresses.
    Alias(&'static str, Vec<IpAddr>),
    /// There is no such name.
    Unknown,
    /// The server itself has failed.
    Failure,
    /// Nothing, ever.
    Silence,
}

/// The server. It lives on its own thread until the process ends.
pub(crate) struct Names {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<(String, u16)>>>,
}

impl Names {
    /// Serves what `zone` says about a name. `zone` also gets how often the same question was asked
    /// before.
    pub(crate) fn serve(zone: impl Fn(&str, usize) -> Answer + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<(String, u16)>>> = Arc::default();
        let all = asked.clone();
        std::thread::spawn(move || {
            let mut query = [0; 1500];
            while let Ok((length, from)) = socket.recv_from(&mut query) {
                let Some((name, kind, end)) = question(&query[..length]) else { continue };
                let before = {
                    let mut all = all.lock().unwrap();
                    let question = (name.clone(), kind);
                    let before = all.iter().filter(|asked| **asked == question).count();
                    all.push(question);
                    before
                };
                if let Some(reply) = reply(&query[..end], kind, &zone(&name, before)) {
                    socket.send_to(&reply, from).unwrap();
                }
            }
        });
        Self { address, asked }
    }

    /// The questions so far, sorted.
    pub(crate) fn asked(&self) -> Vec<(String, u16)> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

/// The name and kind of a question, and where it ends.
fn question(query: &[u8]) -> Option<(String, u16, usize)> {
    let (mut name, mut at) = (String::new(), 12);
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        name.push_str(std::str::from_utf8(query.get(at..at + length)?).ok()?);
        name.push('.');
        at += length;
    }
    Some((name, u16::from_be_bytes([*query.get(at)?, *query.get(at + 1)?]), at + 4))
}

fn reply(question: &[u8], kind: u16, answer: &Answer) -> Option<Vec<u8>> {
    // The name of the question, as a pointer to it.
    const ASKED: [u8; 2] = [0xc0, 12];
    let (mut records, mut code) = (Vec::new(), 0);
    match answer {
        Answer::Addresses(addresses) => records.extend(addresses_of(&ASKED, kind, addresses)),
        Answer::Alias(other, addresses) => {
            let other = spell(other);
            records.push(record(&ASKED, CNAME, &other));
            records.extend(addresses_of(&other, kind, addresses));
        }
        Answer::Unknown => code = 3,
        Answer::Failure => code = 2,
        Answer::Silence => return None,
    }
    let mut reply = question.to_vec();
    reply[2..12].copy_from_slice(&[0x81, 0x80 | code, 0, 1, 0, records.len() as u8, 0, 0, 0, 0]);
    reply.extend(records.concat());
    Some(reply)
}

fn addresses_of(owner: &[u8], kind: u16, addresses: &[IpAddr]) -> Vec<Vec<u8>> {
    let record = |address: &IpAddr| match (kind, address) {
        (A, IpAddr::V4(address)) => Some(record(owner, A, &address.octets())),
        (AAAA, IpAddr::V6(address)) => Some(record(owner, AAAA, &address.octets())),
        _ => None,
    };
    addresses.iter().filter_map(record).collect()
}

/// A record that must not be cached: every connection asks anew.
fn record(owner: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let length = data.len() as u16;
    [owner, &kind.to_be_bytes(), &[0, 1, 0, 0, 0, 0], &length.to_be_bytes(), data].concat()
}

fn spell(name: &str) -> Vec<u8> {
    let labels = name.split('.').map(|label| [&[label.len() as u8], label.as_bytes()].concat());
    [labels.collect::<Vec<_>>().concat(), vec![0]].concat()
}
