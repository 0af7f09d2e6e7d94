//! How a cell is interrupted and how it ends.

use super::NativeCell;
use crate::cell::{Autopsy, CellLife, CellView, End, Signal};
use crate::engine::BoxFuture;
use crate::native::reaper;

impl CellLife for NativeCell {
    fn signal(&mut self, signal: Signal) {
        // PID 1 forwards the signal to the guest. If PID 1 is gone, so is the guest.
        let parts = self.parts_mut();
        let number = match signal {
            Signal::Interrupt if !parts.status.expect_interrupt() => return,
            // A program has made itself the leader of a group, and PID 1 tells that.
            Signal::Interrupt | Signal::InterruptAll => rustix::process::Signal::INT,
            Signal::Terminate => rustix::process::Signal::TERM,
        };
        let _ = rustix::process::pidfd_send_signal(parts.process.get_ref(), number);
    }

    fn kill(&mut self) {
        reaper::kill(self.parts().process.get_ref());
    }

    fn autopsy(&mut self) -> BoxFuture<'_, Autopsy> {
        Box::pin(async move {
            let end = self.end_of_life().await;
            Autopsy { end, usage: self.usage() }
        })
    }

    fn uses_left(&self) -> u32 {
        0
    }

    fn reset(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }
}

impl NativeCell {
    /// What PID 1 wrote to the status socket about the end of the cell. Waits until the cell is
    /// dead.
    pub(super) async fn read_status(&mut self) -> Option<Vec<u8>> {
        let parts = self.parts.as_mut()?;
        // PID 1 writes before it exits.
        let _ = parts.process.readable().await;
        parts.status.take_end()
    }

    pub(super) async fn end_of_life(&mut self) -> End {
        if let Some(end) = self.end {
            return end;
        }
        let end = match self.read_status().await {
            Some(record) if record.first() == Some(&b'E') && record.len() >= 5 => {
                End::of_wait_status(i32::from_le_bytes([record[1], record[2], record[3], record[4]]))
            }
            _ => End::Killed,
        };
        self.end = Some(end);
        end
    }
}
