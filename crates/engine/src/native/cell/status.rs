//! What a cell's PID 1 reports on its status socket, one record after the other.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

use super::super::zygote::SOCKETS_WERE_MADE;

/// PID 1 has handed the host's SIGINT on to the guest.
const INTERRUPT_WAS_HANDED_ON: u8 = b'I';

/// The status socket of a cell, and what has been read from it.
pub(super) struct Status {
    socket: AsyncFd<OwnedFd>,
    /// Whether no socket made in the cell was reported so far.
    network_is_untouched: bool,
    /// Whether PID 1 was asked to interrupt the guest, and has not said that it did.
    interrupt_is_on_its_way: bool,
    /// What was said about the cell's end.
    end: Option<Vec<u8>>,
}

impl Status {
    pub(super) fn new(socket: AsyncFd<OwnedFd>, network_is_untouched: bool) -> Self {
        Self { socket, network_is_untouched, interrupt_is_on_its_way: false, end: None }
    }

    /// The socket, and whether no socket made in the cell was reported so far.
    pub(super) fn into_parts(self) -> (OwnedFd, bool) {
        (self.socket.into_inner(), self.network_is_untouched)
    }

    /// Takes what was said about the cell's end. Once PID 1 is dead, everything it wrote can be
    /// read without waiting.
    pub(super) fn take_end(&mut self) -> Option<Vec<u8>> {
        self.read_until(|status| status.end.is_some());
        self.end.take()
    }

    /// Notes that PID 1 is to be sent an interrupt; `false` if one is on its way, which is as good.
    pub(super) fn expect_interrupt(&mut self) -> bool {
        self.read_until(|status| !status.interrupt_is_on_its_way);
        !std::mem::replace(&mut self.interrupt_is_on_its_way, true)
    }

    /// Waits until no interrupt is on its way to the guest.
    pub(super) async fn interrupt_has_arrived(&mut self) -> io::Result<()> {
        while self.interrupt_is_on_its_way {
            let mut readable = self.socket.readable().await?;
            let Ok(record) = readable.try_io(|socket| receive(socket.get_ref())) else { continue };
            self.note(record?);
        }
        Ok(())
    }

    /// Takes in what has been said, until that is enough or nothing is left.
    fn read_until(&mut self, is_enough: impl Fn(&Self) -> bool) {
        while !is_enough(self)
            && let Ok(record) = receive(self.socket.get_ref())
        {
            self.note(record);
        }
    }

    fn note(&mut self, record: Vec<u8>) {
        match *record {
            [SOCKETS_WERE_MADE] => self.network_is_untouched = false,
            [INTERRUPT_WAS_HANDED_ON] => self.interrupt_is_on_its_way = false,
            // Nothing more will come: PID 1 is gone, and so is the guest.
            [] => {
                self.interrupt_is_on_its_way = false;
                self.end.get_or_insert_default();
            }
            _ => self.end = Some(record),
        }
    }
}

/// The next record. It is empty when there will be none.
fn receive(socket: &OwnedFd) -> io::Result<Vec<u8>> {
    const LONGEST: usize = 4096;
    let mut record = vec![0; LONGEST];
    let length = rustix::io::retry_on_intr(|| rustix::io::read(socket, &mut record[..]))?;
    record.truncate(length);
    Ok(record)
}
