//! Asks how much of what was sent on a socket its host has not acknowledged.
//!
//! The question goes to the kernel over `NETLINK_SOCK_DIAG`, as in `ss`: one message out, one back,
//! about one socket. Any user may ask.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use tokio::net::TcpStream;

const HEADER: usize = 16;
const REQUEST: usize = HEADER + 8 + 48;

/// `SOCK_DIAG_BY_FAMILY`: the type of the request, and of an answer that knows the socket.
const BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const TCP: u8 = 6;

/// `idiag_wqueue` of `struct inet_diag_msg`. It comes after the state, the addresses, a timer and
/// `idiag_rqueue`.
const WRITE_QUEUE: usize = HEADER + 4 + 48 + 4 + 4;

/// Bytes that are sent or waiting to be sent, and not acknowledged. 0 for a connection that is
/// over.
pub(super) fn unacknowledged(stream: &TcpStream) -> io::Result<u32> {
    let question = question(stream.local_addr()?, stream.peer_addr()?);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
    rustix::net::send(&socket, &question, SendFlags::empty())?;
    // The answer is there as soon as the question was sent.
    let mut answer = [0; 4096];
    let (_, length) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    read(&answer[..length.min(answer.len())])
}

fn question(ours: SocketAddr, theirs: SocketAddr) -> [u8; REQUEST] {
    const FAMILY: usize = HEADER;
    const OUR_PORT: usize = HEADER + 8;
    const THEIR_PORT: usize = OUR_PORT + 2;
    const OUR_ADDRESS: usize = THEIR_PORT + 2;
    const THEIR_ADDRESS: usize = OUR_ADDRESS + 16;
    const ANY_COOKIE: usize = REQUEST - 8;
    let mut question = [0; REQUEST];
    question[..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    question[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    question[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    let family = if ours.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    question[FAMILY] = family.as_raw() as u8;
    question[FAMILY + 1] = TCP;
    // In any state.
    question[FAMILY + 4..OUR_PORT].fill(0xff);
    question[OUR_PORT..THEIR_PORT].copy_from_slice(&ours.port().to_be_bytes());
    question[THEIR_PORT..OUR_ADDRESS].copy_from_slice(&theirs.port().to_be_bytes());
    for (at, address) in [(OUR_ADDRESS, ours.ip()), (THEIR_ADDRESS, theirs.ip())] {
        match address {
            IpAddr::V4(address) => question[at..at + 4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => question[at..at + 16].copy_from_slice(&address.octets()),
        }
    }
    question[ANY_COOKIE..].fill(0xff);
    question
}

fn read(answer: &[u8]) -> io::Result<u32> {
    let number =
        |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    match (kind, number(HEADER), number(WRITE_QUEUE)) {
        (Some(BY_FAMILY), _, Some(bytes)) => Ok(bytes),
        (Some(NLMSG_ERROR), Some(error), _) => {
            let error = io::Error::from_raw_os_error(error.wrapping_neg() as i32);
            if error.kind() == io::ErrorKind::NotFound { Ok(0) } else { Err(error) }
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_a_host_does_not_take_is_not_acknowledged() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address).await else { continue };
            let address = listener.local_addr().unwrap();
            let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
            let (ours, mut theirs) = (ours.unwrap(), theirs.unwrap().0);
            assert_eq!(unacknowledged(&ours).unwrap(), 0);
            let mut sent = 0;
            ours.writable().await.unwrap();
            while let Ok(count) = ours.try_write(&[b'x'; 100_000]) {
                sent += count;
            }
            assert!(unacknowledged(&ours).unwrap() > 0, "of {sent}");
            theirs.read_exact(&mut vec![0; sent]).await.unwrap();
            while unacknowledged(&ours).unwrap() > 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    #[test]
    fn an_answer_that_is_none_is_an_error() {
        for answer in [&[][..], &[0; 8], &[0; 200]] {
            assert!(read(answer).is_err());
        }
    }
}
