//! Code blocks in a real Jupyter kernel: a client of the Jupyter kernel gateway, and its life.
//!
//! ```text
//!  Gateway ──start_kernel──► Kernel ──execute──► KernelRun: outputs in order, status, count
//!     │                        │
//!     │ REST                   │ one websocket, one driver task; runs queue, first come, first served
//!     ▼                        ▼
//!  Transport: a Unix socket in a shared directory, or TCP
//!     ▼
//!  guest/gateway.py ──loopback──► kernel gateway ──zmq──► ipykernel
//! ```
//!
//! * `transport` makes streams. It follows no symbolic link to a socket, because whoever shares the
//!   directory could point it at a socket of the host.
//! * `rest` and `websocket` speak over such a stream. `message` is the form of messages there.
//! * `gateway` knows kernels' names, and starts, interrupts, restarts and ends kernels.
//! * `kernel` is what callers hold. `driver` is the task behind it, which alone talks to the kernel;
//!   `run` is one run of it, `progress` decides when that is over.
//! * `output` is what a run gives, `content` reads it from messages, `collected` puts it in order.
//! * `said` reads what the gateway's program says. `local` is a gateway that is a process of ours,
//!   unconfined. `pip` makes installations quiet.
//!
//! The kernel runs code that a model wrote, so nothing that comes from it is believed further than
//! that: messages are bounded, data that is not what its MIME type says is refused, and memory does
//! not grow with what a kernel sends. This crate confines nothing. Whoever starts the gateway in a
//! cell does that.
//!
//! Everything here needs a tokio runtime.
//!
//! ```no_run
//! # async fn example() -> Result<(), belljar_jupyter::JupyterError> {
//! use belljar_jupyter::{Gateway, Limits, Transport};
//!
//! let gateway = Gateway::connect(Transport::unix("/shared/gateway.sock"), "token").await?;
//! let kernel = gateway.start_kernel("python3").await?;
//! let run = kernel.execute("6 * 7", Limits::default()).await?;
//! assert_eq!(run.result().and_then(|display| display.text()), Some("42"));
//! # Ok(())
//! # }
//! ```

mod collected;
mod content;
mod driver;
mod error;
mod gateway;
mod kernel;
mod local;
mod message;
mod output;
mod pip;
mod progress;
mod rest;
mod run;
mod said;
mod transport;
mod websocket;

pub use error::JupyterError;
pub use gateway::{Gateway, KernelSpec};
pub use kernel::Kernel;
pub use local::LocalGateway;
pub use output::{KernelError, KernelEvent, KernelOutput, KernelRun, KernelStatus, Limits};
pub use pip::silence_pip;
pub use said::gateway_token;
pub use transport::Transport;

/// The program that runs a gateway behind a Unix socket: see its first lines. It needs Python 3.9 or
/// newer, and `jupyter-kernel-gateway` and `ipykernel`, which that Python must find.
pub const GATEWAY_PROGRAM: &str = include_str!("../guest/gateway.py");

/// The variable from which [`GATEWAY_PROGRAM`] takes its token. Without it the program makes one,
/// and says it when it is ready.
pub const GATEWAY_TOKEN_VARIABLE: &str = "BELLJAR_JUPYTER_TOKEN";
