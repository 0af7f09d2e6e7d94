//! Runs a script and prints its events. Running and printing each have their own pace.
//!
//! ```text
//!  cell ──► run (this task) ──queue of 64──► printer (a thread that may block)
//! ```
//!
//! If the reader of stdout is slow, events wait for it, and none is lost. Neither the script's
//! deadline nor Ctrl-C waits. If the reader is gone, the script is ended.

use std::io;
use std::pin::Pin;
use std::thread;

use belljar::{Event, EventSink, Execution, ExecutionResult, RuntimeError};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Sender};
use tokio::sync::oneshot;

use crate::error::CliError;
use crate::printer::Printer;

/// Passes events to the printer's thread.
pub(crate) struct Queue(Sender<Event>);

impl EventSink for Queue {
    fn on_event(&mut self, event: Event) -> Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> {
        match self.0.try_send(event) {
            Err(TrySendError::Full(event)) => Some(Box::pin(async { drop(self.0.send(event).await) })),
            _ => None,
        }
    }
}

/// Hands on all events of a run, at the printer's pace, and gives its result. The run itself is not
/// held up beyond its limits, and no event is lost, however slow the reader of stdout is.
pub(crate) async fn hand_on(
    mut execution: Execution,
    mut queue: Queue,
) -> Result<ExecutionResult, RuntimeError> {
    while let Some(event) = execution.next().await {
        if let Some(taken) = queue.on_event(event) {
            taken.await;
        }
    }
    execution.result().await
}

/// Does `work` and prints the events that it puts into the queue. Returns once all are printed.
/// Dropping the future drops the work.
pub(crate) async fn follow<T>(printer: &Printer, work: impl AsyncFnOnce(Queue) -> T) -> Result<T, CliError> {
    let printer = printer.clone();
    let (sender, printing) = Printing::start(move |event: &Event| printer.event(event))?;
    printing.beside(work(Queue(sender))).await
}

/// A thread that prints, and may block.
pub(crate) struct Printing(oneshot::Receiver<io::Result<()>>);

impl Printing {
    /// Starts the thread. It prints what is sent, and ends when nobody can send any more.
    pub(crate) fn start<E: Send + 'static>(
        mut print: impl FnMut(&E) -> io::Result<()> + Send + 'static,
    ) -> Result<(Sender<E>, Self), CliError> {
        const EVENTS: usize = 64;
        let (sender, mut events) = mpsc::channel(EVENTS);
        let (done, printed) = oneshot::channel();
        let print = move || {
            let mut print_all = || -> io::Result<()> {
                while let Some(event) = events.blocking_recv() {
                    print(&event)?;
                }
                Ok(())
            };
            // The task that waits for this may be gone.
            let _ = done.send(print_all());
        };
        thread::Builder::new()
            .name("printer".into())
            .spawn(print)
            .map_err(CliError::system("start a thread that prints"))?;
        Ok((sender, Self(printed)))
    }

    /// Does work that sends events. Returns once all are printed. If the reader of stdout is gone,
    /// the work is dropped.
    pub(crate) async fn beside<T>(self, work: impl Future<Output = T>) -> Result<T, CliError> {
        let (mut printed, mut work) = (self.0, std::pin::pin!(work));
        let finish = |printed: Result<io::Result<()>, oneshot::error::RecvError>| {
            let gone = io::Error::other("the thread that prints is gone");
            printed.map_err(|_| CliError::system("print events")(gone))?.map_err(CliError::Output)
        };
        tokio::select! {
            done = &mut work => {
                finish(printed.await)?;
                Ok(done)
            }
            printed = &mut printed => {
                finish(printed)?;
                Ok(work.await)
            }
        }
    }
}
