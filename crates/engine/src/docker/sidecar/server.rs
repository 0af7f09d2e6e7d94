//! The proxy's own side: what our executable does in the container that has a network.
//!
//! The proxy knows one policy. A cell is announced on stdin, and comes to its [`Door`] with a
//! listener that it made on its own loopback. From then on the proxy accepts connections there, and
//! nobody else can. The same cell is announced again for each use. What the last use left is ended
//! first, so nothing of it is sent, decided or reported any more.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Write};
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar_core::{Decision, Secret};
use belljar_proxy::{
    CellEgress, Egress, EgressOptions, Resolve, ResolveError, Resolving, Roots, SystemResolver,
};
use tokio::runtime::{Handle, Runtime};
use tokio::task::AbortHandle;

use super::door::{self, Door};
use super::program;
use super::protocol::{Order, Report, line};

/// Serves until stdin ends. It ends when the program that started this one does.
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
    let mut orders = io::stdin().lock().lines();
    let first = orders.next().ok_or_else(|| io::Error::other("nobody said what to do"))??;
    let first = serde_json::from_str(&first)?;
    if matches!(first, Order::Describe) {
        tell(&program::describe()?);
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let proxy = Arc::new(Proxy::new(first, &runtime)?);
    door::close_the_directory()?;
    tell(&Report::Ready { authority: proxy.egress.ca_pem() });
    for order in orders {
        proxy.obey(serde_json::from_str(&order?)?);
    }
    Ok(())
}

/// Writes one report. The lock keeps lines whole when several tasks write.
fn tell(report: &Report) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(line(report).as_bytes()).and_then(|()| stdout.flush());
}

struct Proxy {
    egress: Egress,
    handle: Handle,
    cells: Mutex<HashMap<u64, Member>>,
}

/// How far a cell has come.
enum Member {
    /// It was announced by the order with this answer number. The task waits for it at its door.
    Expected(u64, AbortHandle),
    Served(CellEgress),
}

impl Proxy {
    fn new(first: Order, runtime: &Runtime) -> io::Result<Self> {
        let Order::Start { policy, secrets, known_hosts, roots_pem, processor_cores } = first else {
            return Err(io::Error::other("the first order must be to start"));
        };
        let _inside = runtime.enter();
        let others = SystemResolver::new().ok();
        let mut options = EgressOptions::new(Known { hosts: known_hosts, others });
        options.limits.processor_cores = processor_cores;
        options.secrets = secrets.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
        let roots = roots_pem.as_deref().map(Roots::from_pem).transpose();
        options.roots = roots.map_err(io::Error::other)?.map(Into::into);
        let egress = Egress::new(policy, options).map_err(io::Error::other)?;
        Ok(Self { egress, handle: runtime.handle().clone(), cells: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Member>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn obey(self: &Arc<Self>, order: Order) {
        let mut cells = self.lock();
        match order {
            Order::Describe | Order::Start { .. } => {}
            Order::Expect { cell, token, answer } => {
                let before = cells.remove(&cell);
                let expecting = Arc::clone(self).expect(Expected { cell, token, answer }, before);
                let expecting = self.handle.spawn(expecting);
                cells.insert(cell, Member::Expected(answer, expecting.abort_handle()));
            }
            Order::Tell { cell, is_last: true, answer } => match cells.remove(&cell) {
                // Closed first, so that the report is complete.
                Some(Member::Served(egress)) => {
                    self.handle.spawn(async move {
                        let decisions = egress.close().await;
                        tell(&Report::Decisions { answer, decisions });
                    });
                }
                _ => tell(&Report::Decisions { answer, decisions: Vec::new() }),
            },
            Order::Tell { cell, is_last: false, answer } => {
                let decisions = match cells.get(&cell) {
                    Some(Member::Served(egress)) => {
                        let decisions = egress.take_decisions();
                        egress.begin_run();
                        decisions
                    }
                    _ => Vec::new(),
                };
                tell(&Report::Decisions { answer, decisions });
            }
            Order::Forget { cell } => {
                if let Some(Member::Expected(_, expecting)) = cells.remove(&cell) {
                    expecting.abort();
                }
            }
        }
    }

    /// Ends what the cell's last use left, opens the door, and serves the cell when it connects.
    async fn expect(self: Arc<Self>, expected: Expected, before: Option<Member>) {
        let Expected { cell, token, answer } = expected;
        match before {
            Some(Member::Served(egress)) => drop(egress.close().await),
            Some(Member::Expected(_, expecting)) => expecting.abort(),
            None => {}
        }
        let door = match Door::open(&token) {
            Ok(door) => door,
            Err(error) => return tell(&Report::Failed { reason: format!("no door for a cell: {error}") }),
        };
        // Reported after everything that belongs to the last use.
        tell(&Report::Expected { answer });
        let met = door.meet(|listener| self.introduce(cell, answer, listener)).await;
        if let Err(error) = met {
            tracing::debug!(%error, "a cell did not come");
        }
    }

    fn introduce(&self, cell: u64, announced: u64, listener: TcpListener) -> Result<(), String> {
        let on_denial = move |decision: &Decision| tell(&Report::Denial { cell, decision: decision.clone() });
        let mut cells = self.lock();
        // It may have been forgotten in the meantime, or announced again.
        let member = cells.get_mut(&cell);
        let is_this_one =
            |member: &&mut Member| matches!(member, Member::Expected(number, _) if *number == announced);
        let member = member.filter(is_this_one).ok_or("nobody expects this cell any more")?;
        let egress = self.egress.serve_reporting(listener, on_denial).map_err(|error| error.to_string())?;
        *member = Member::Served(egress);
        Ok(())
    }
}

/// A cell that was announced.
struct Expected {
    cell: u64,
    token: String,
    answer: u64,
}

/// Known host names, and a resolver for the others.
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
