//! The proxy's own side: what our executable does in the container that has a network.
//!
//! It knows one policy. Cells come to its socket with a token that was announced on stdin and a listener that they made on their own loopback;
//! from then on it accepts there, and nobody else can.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belljar_core::{Decision, Secret};
use belljar_proxy::{
    CellEgress, Egress, EgressOptions, Resolve, ResolveError, Resolving, Roots, SystemResolver,
};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::sync::Semaphore;

use super::words::{Order, Report, line};
use crate::docker::container::WAY_OUT;

/// How long somebody who has connected may take to say who they are: guests can connect too.
const INTRODUCE_WITHIN: Duration = Duration::from_secs(5);
/// How many may be at it at once.
const INTRODUCING: usize = 64;

/// Serves until stdin ends, which it does with whoever started us.
#[expect(clippy::exit, reason = "it runs in place of main")]
pub(crate) fn run() -> ! {
    let failed = match serve() {
        Ok(()) => std::process::exit(0),
        Err(error) => error,
    };
    tell(&Report::Failed { reason: failed.to_string() });
    std::process::exit(1)
}

fn serve() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut orders = io::stdin().lock().lines();
    let first = orders.next().ok_or_else(|| io::Error::other("nobody said what to do"))??;
    let Order::Start { policy, secrets, known_hosts, roots_pem } = serde_json::from_str(&first)? else {
        return Err(io::Error::other("the first order must be to start"));
    };
    let mut options = EgressOptions::new(Known { hosts: known_hosts, others: SystemResolver::new().ok() });
    options.secrets = secrets.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
    options.roots =
        roots_pem.as_deref().map(Roots::from_pem).transpose().map_err(io::Error::other)?.map(Into::into);
    let _inside = runtime.enter();
    let egress = Egress::new(policy, options).map_err(io::Error::other)?;
    let proxy = Arc::new(Proxy { egress, state: Mutex::default() });
    let socket = Path::new(WAY_OUT).join("proxy.sock");
    // Left by one that was killed.
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket)?;
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o666))?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::UnixListener::from_std(listener)?;
    runtime.spawn(admit(Arc::clone(&proxy), listener));
    tell(&Report::Ready { authority: proxy.egress.ca_pem() });
    for order in orders {
        proxy.obey(serde_json::from_str(&order?)?);
    }
    Ok(())
}

/// Lines are whole, whoever writes them.
fn tell(report: &Report) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(line(report).as_bytes()).and_then(|()| stdout.flush());
}

struct Proxy {
    egress: Egress,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    expected: HashMap<String, u64>,
    cells: HashMap<u64, CellEgress>,
}

impl Proxy {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn obey(&self, order: Order) {
        let mut state = self.lock();
        match order {
            Order::Start { .. } => {}
            Order::Expect { cell, token, answer } => {
                state.expected.insert(token, cell);
                tell(&Report::Expected { answer });
            }
            Order::Tell { cell, answer } => {
                let decisions = state.cells.get(&cell).map_or_else(Vec::new, |egress| {
                    let decisions = egress.take_decisions();
                    egress.begin_run();
                    decisions
                });
                tell(&Report::Decisions { answer, decisions });
            }
            Order::Forget { cell } => {
                state.expected.retain(|_, expected| *expected != cell);
                drop(state.cells.remove(&cell));
            }
        }
    }

    /// Lets a cell in that knows a token, which is then worth nothing any more.
    fn introduce(&self, token: &str, listener: TcpListener) -> Result<(), String> {
        let mut state = self.lock();
        let cell = state.expected.remove(token).ok_or("nobody is expected by that token")?;
        let on_denial = move |decision: &Decision| tell(&Report::Denial { cell, decision: decision.clone() });
        let egress = self.egress.serve_telling(listener, on_denial).map_err(|error| error.to_string())?;
        state.cells.insert(cell, egress);
        Ok(())
    }
}

async fn admit(proxy: Arc<Proxy>, listener: tokio::net::UnixListener) {
    let places = Arc::new(Semaphore::new(INTRODUCING));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let proxy = Arc::clone(&proxy);
        let handle = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            let _inside = handle.enter();
            let _place = place;
            if let Ok(stream) = stream.into_std() {
                let _ = meet(&proxy, stream);
            }
        });
    }
}

fn meet(proxy: &Proxy, mut stream: UnixStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(INTRODUCE_WITHIN))?;
    stream.set_write_timeout(Some(INTRODUCE_WITHIN))?;
    let (words, listener) = receive(&stream)?;
    let answer = match (words.strip_suffix(b"\n").map(std::str::from_utf8), listener) {
        (Some(Ok(token)), Some(listener)) => match proxy.introduce(token, TcpListener::from(listener)) {
            Ok(()) => "ok\n".to_owned(),
            Err(reason) => format!("{reason}\n"),
        },
        _ => "say a token and hand over a listener\n".to_owned(),
    };
    stream.write_all(answer.as_bytes())
}

/// One message and the descriptor that came with it.
fn receive(stream: &UnixStream) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let mut words = [0u8; 256];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(stream, &mut [IoSliceMut::new(&mut words)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut listener = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            listener = descriptors.next();
        }
    }
    Ok((words[..received.bytes].to_vec(), listener))
}

/// Names that are known without asking, and a resolver for the others.
struct Known {
    hosts: BTreeMap<String, IpAddr>,
    others: Option<SystemResolver>,
}

impl Resolve for Known {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        match (self.hosts.get(name), &self.others) {
            (Some(address), _) => Box::pin(std::future::ready(Ok(vec![*address]))),
            (None, Some(others)) => others.resolve(name),
            (None, None) => Box::pin(std::future::ready(Err(ResolveError::NotFound))),
        }
    }
}
