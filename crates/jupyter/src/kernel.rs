//! A kernel as its callers see it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::JupyterError;
use crate::collected::Collected;
use crate::driver::{Control, Order, Wish};
use crate::output::{KernelEvent, KernelRun, Limits};
use crate::progress::Ended;

/// The longest code that a gateway reads, with room for what is around it in a message.
const LONGEST_CODE: usize = 4 << 20;

/// A running kernel: what one run defines, the next one finds.
///
/// It may be used from several tasks at once. Runs queue, first come, first served. Dropping it ends
/// the kernel, as far as a tokio runtime is left to do that; [`shutdown`](Self::shutdown) waits.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) id: Arc<Mutex<String>>,
    pub(crate) orders: mpsc::UnboundedSender<Order>,
    pub(crate) controls: mpsc::UnboundedSender<Control>,
}

impl Kernel {
    /// The gateway's name for it. It changes if the gateway has given the kernel up, and another one
    /// was started in its place.
    pub fn id(&self) -> String {
        self.id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs code, when its turn has come. Giving up the call interrupts the run.
    pub async fn execute(&self, code: &str, limits: Limits) -> Result<KernelRun, JupyterError> {
        self.execute_with(code, limits, |_| {}).await
    }

    /// Runs code, and tells what it puts out as it comes. The listener is called in the caller's own
    /// task, so the time limit does not wait for a slow one. It hears no more than
    /// [`max_output_bytes`](Limits::max_output_bytes).
    pub async fn execute_with(
        &self,
        code: &str,
        limits: Limits,
        mut listener: impl FnMut(&KernelEvent) + Send,
    ) -> Result<KernelRun, JupyterError> {
        if code.len() > LONGEST_CODE {
            return Err(JupyterError::CodeTooLong { bytes: code.len(), most: LONGEST_CODE });
        }
        let (events, mut coming) = mpsc::unbounded_channel();
        let (end, ending) = oneshot::channel();
        let order = Order { wish: Wish { code: code.to_owned(), limits }, events, end };
        self.orders.send(order).map_err(|_| JupyterError::Closed)?;
        let mut collected = Collected::default();
        while let Some(event) = coming.recv().await {
            listener(&event);
            collected.add(event);
        }
        let Ended { status, execution_count, output_was_cut, kernel_was_restarted } =
            ending.await.map_err(|_| JupyterError::Closed)??;
        let outputs = collected.into_outputs();
        Ok(KernelRun { status, outputs, execution_count, output_was_cut, kernel_was_restarted })
    }

    /// Interrupts the run that is under way, as Ctrl-C does. Whether there was one: those that wait
    /// for their turn are left alone.
    ///
    /// A run may ignore it. Its time limit still holds.
    pub async fn interrupt(&self) -> Result<bool, JupyterError> {
        let (reply, answer) = oneshot::channel();
        self.controls.send(Control::Interrupt(reply)).map_err(|_| JupyterError::Closed)?;
        answer.await.map_err(|_| JupyterError::Closed)?
    }

    /// Ends the kernel, whatever it does. Runs that are not over end with
    /// [`JupyterError::Closed`].
    pub async fn shutdown(&self) -> Result<(), JupyterError> {
        let (reply, answer) = oneshot::channel();
        if self.controls.send(Control::Shutdown(reply)).is_err() {
            return Ok(());
        }
        answer.await.unwrap_or(Ok(()))
    }
}
