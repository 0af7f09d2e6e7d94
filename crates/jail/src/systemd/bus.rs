//! A connection to a bus, or to systemd itself, over which calls are made one at a time.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::message::{self, Body, Call, PREFIX, Received, Writer};

/// Why a call was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum BusError {
    /// Nobody listens there, or the connection broke.
    #[error("{0}")]
    Connection(#[from] io::Error),
    /// Who is called says no.
    #[error("{text} ({name})")]
    Refused { name: String, text: String },
}

impl BusError {
    fn broken(what: &str) -> Self {
        Self::Connection(io::Error::new(io::ErrorKind::InvalidData, what))
    }
}

/// Who is at the other end of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// A bus, which has to be greeted.
    Bus,
    /// The service itself.
    Service,
}

/// An open connection. All that happens on it must be over by its deadline.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    serial: u32,
    until: Instant,
}

impl Connection {
    /// Connects and says who we are. The kernel vouches for it.
    pub(super) fn open(socket: &Path, peer: Peer, within: Duration) -> Result<Self, BusError> {
        let mut connection =
            Self { stream: UnixStream::connect(socket)?, serial: 0, until: Instant::now() + within };
        connection.authenticate()?;
        if peer == Peer::Bus {
            connection.call(&Call { signature: "", method: "Hello", ..BUS }, &Writer::default())?;
        }
        Ok(connection)
    }

    /// Greets, and begins at once. So whoever answers has read all of the greeting. A systemd that
    /// finds a call behind it does not look at that call until something else arrives.
    fn authenticate(&mut self) -> Result<(), BusError> {
        use std::fmt::Write as _;
        let id = rustix::process::geteuid().as_raw().to_string();
        let hex = id.bytes().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        self.send(format!("\0AUTH EXTERNAL {hex}\r\nBEGIN\r\n").as_bytes())?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n") {
            let mut byte = [0];
            self.receive(&mut byte)?;
            answer.push(byte[0]);
            if answer.len() > 1024 {
                return Err(BusError::broken("the answer to a greeting does not end"));
            }
        }
        match answer.starts_with(b"OK ") {
            true => Ok(()),
            false => Err(BusError::Refused {
                name: "authentication".into(),
                text: String::from_utf8_lossy(&answer).trim().to_owned(),
            }),
        }
    }

    /// Has the bus send these signals of a service from now on.
    pub(super) fn listen_for(&mut self, rule: &str) -> Result<(), BusError> {
        let mut arguments = Writer::default();
        arguments.text(rule);
        self.call(&Call { signature: "s", method: "AddMatch", ..BUS }, &arguments).map(drop)
    }

    /// Makes a call and waits for its answer. What else arrives meanwhile is dropped.
    pub(super) fn call(&mut self, call: &Call<'_>, arguments: &Writer) -> Result<Body, BusError> {
        self.call_hearing(call, arguments, &mut Vec::new())
    }

    /// The same, and keeps the signals that arrive meanwhile.
    pub(super) fn call_hearing(
        &mut self,
        call: &Call<'_>,
        arguments: &Writer,
        signals: &mut Vec<(String, Body)>,
    ) -> Result<Body, BusError> {
        self.serial += 1;
        let serial = self.serial;
        self.send(&call.encode(serial, arguments))?;
        loop {
            match self.next()? {
                Received::Answer { to, body } if to == serial => return Ok(body),
                Received::Refusal { to, name, text } if to == serial => {
                    return Err(BusError::Refused { name, text });
                }
                Received::Signal { name, body } => signals.push((name, body)),
                _ => {}
            }
        }
    }

    /// Waits for a signal.
    pub(super) fn next_signal(&mut self) -> Result<(String, Body), BusError> {
        loop {
            if let Received::Signal { name, body } = self.next()? {
                return Ok((name, body));
            }
        }
    }

    fn next(&mut self) -> Result<Received, BusError> {
        let mut prefix = [0; PREFIX];
        self.receive(&mut prefix)?;
        let length = message::length_of(&prefix).ok_or_else(|| BusError::broken("it is no message"))?;
        let mut whole = vec![0; length];
        whole[..PREFIX].copy_from_slice(&prefix);
        self.receive(&mut whole[PREFIX..])?;
        message::decode(&whole).ok_or_else(|| BusError::broken("a message cannot be read"))
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write_all(bytes).map_err(late)
    }

    fn receive(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => buffer = &mut buffer[read..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(late(error)),
            }
        }
        Ok(())
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// The bus itself. Its answers come from the same connection as those of everybody else.
const BUS: Call<'static> = Call {
    destination: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
    method: "",
    signature: "",
};

/// The kernel says of a socket that is too slow that it would block.
fn late(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    /// A peer that does as told, in a thread of its own.
    fn peer(act: impl FnOnce(UnixStream) + Send + 'static) -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bus");
        let listener = UnixListener::bind(&path).unwrap();
        thread::spawn(move || act(listener.accept().unwrap().0));
        (directory, path)
    }

    #[test]
    fn who_says_nothing_is_not_waited_for_for_ever() {
        let (_directory, path) = peer(|mut stream| drop(stream.read_to_end(&mut Vec::new())));
        let refused = Connection::open(&path, Peer::Bus, SOON).unwrap_err();
        assert!(matches!(&refused, BusError::Connection(error) if error.kind() == io::ErrorKind::TimedOut));
    }

    #[test]
    fn whoever_answers_has_read_the_whole_greeting() {
        let (_directory, path) = peer(|mut stream| {
            let mut greeting = Vec::new();
            while !greeting.ends_with(b"BEGIN\r\n") {
                let mut bytes = [0; 64];
                let read = stream.read(&mut bytes).unwrap();
                assert_ne!(read, 0, "it left after {greeting:?}");
                greeting.extend_from_slice(&bytes[..read]);
            }
            stream.write_all(b"OK 00\r\n").unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        Connection::open(&path, Peer::Service, Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn who_does_not_know_us_says_so() {
        let (_directory, path) = peer(|mut stream| {
            stream.write_all(b"REJECTED EXTERNAL\r\n").unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let refused = Connection::open(&path, Peer::Bus, Duration::from_secs(30)).unwrap_err();
        assert_eq!(refused.to_string(), "REJECTED EXTERNAL (authentication)");
    }

    #[test]
    fn who_speaks_something_else_is_not_listened_to() {
        let (_directory, path) = peer(|mut stream| {
            stream.write_all(b"OK 00\r\nHTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let refused = Connection::open(&path, Peer::Bus, Duration::from_secs(30)).unwrap_err();
        assert_eq!(refused.to_string(), "it is no message");
    }
}
