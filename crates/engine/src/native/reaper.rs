//! The one place where cells and helpers end.
//!
//! A cell that is no longer wanted is handed over to this thread. The thread kills it, waits until
//! the kernel has taken it apart, removes its control group and gives its user id back. No caller
//! ever waits for that. It also happens when the async runtime is already gone. A helper whose
//! zygote was ended is handed over too, so that it does not stay a zombie.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use belljar_jail::cgroup::CellCgroup;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::lingering::{Lingering, Lingers};
use crate::blocking::named;

/// What is left of a cell: a handle on its PID 1, and what to tidy up once that is gone.
pub(super) struct Remains {
    pub(super) process: OwnedFd,
    pub(super) cgroup: CellCgroup,
    /// Handles on what goes away with the last process. Dropped as soon as every process is gone.
    pub(super) handles: Box<dyn Send>,
    /// Where the cell is counted while its memory is not free.
    pub(super) lingering: Lingering,
    /// Descriptors, the user id and the network namespace. Dropped when everything else is gone. If
    /// the cell does not go away, they are never dropped: losing them is better than giving them to
    /// two cells.
    pub(super) belongings: Box<dyn Send>,
}

#[expect(clippy::large_enum_variant, reason = "almost all who arrive are cells")]
enum Arrival {
    Cell(Remains),
    Helper(Child),
}

/// A handle on the reaper's thread.
#[derive(Clone)]
pub(super) struct Reaper {
    queue: Sender<Arrival>,
    outstanding: Arc<Outstanding>,
}

#[derive(Default)]
struct Outstanding {
    count: Mutex<usize>,
    none: Condvar,
}

/// How long a killed cell may take to vanish before its control group is left to the next sweep.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the memory of a dead cell may take to be freed. The kernel needs about ten milliseconds
/// for each of a thousand descriptors.
const PATIENCE_WITH_MEMORY: Duration = Duration::from_secs(60);

/// How long a helper may take to end by itself once its zygote is dead. It ends at once, unless
/// somebody has stopped it.
const HELPER_ENDS_WITHIN: Duration = Duration::from_secs(1);

/// How often a helper is checked while it ends.
const HELPER_LOOK: Duration = Duration::from_millis(1);

/// How often lingering memory is checked.
const LOOK: Duration = Duration::from_millis(20);

impl Reaper {
    /// Starts the thread. It ends when the last handle is gone and nothing is left to reap.
    pub(super) fn start() -> io::Result<Self> {
        let (queue, arrivals) = channel();
        let outstanding = Arc::new(Outstanding::default());
        let mut work = Work {
            arrivals,
            pending: Vec::new(),
            lingering: Vec::new(),
            helpers: Vec::new(),
            outstanding: Arc::clone(&outstanding),
        };
        named("belljar-reaper").spawn(move || work.run())?;
        Ok(Self { queue, outstanding })
    }

    /// Kills what is left of a cell and tidies up after it.
    pub(super) fn reap(&self, remains: Remains) {
        self.hand_over(Arrival::Cell(remains));
    }

    /// Waits for a helper whose zygote was ended, so that it does not stay a zombie.
    pub(super) fn collect(&self, helper: Child) {
        self.hand_over(Arrival::Helper(helper));
    }

    /// The same, but comes back when the helper is gone. Blocks.
    pub(super) fn collect_now(mut helper: Child) {
        let since = Instant::now();
        while !is_collected(&mut helper, since) {
            thread::sleep(HELPER_LOOK / 4);
        }
    }

    fn hand_over(&self, arrival: Arrival) {
        *self.outstanding.count.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += 1;
        if let Err(refused) = self.queue.send(arrival) {
            // The thread is gone. Only a panic in it can have caused that.
            match refused.0 {
                Arrival::Cell(remains) => kill(&remains.process),
                Arrival::Helper(mut helper) => drop(helper.kill()),
            }
            self.outstanding.one_less();
        }
    }

    /// Waits until everything handed over so far is gone.
    pub(super) fn wait_until_idle(&self) {
        let count = self.outstanding.count.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        drop(self.outstanding.none.wait_while(count, |count| *count > 0));
    }
}

impl Outstanding {
    fn one_less(&self) {
        let mut count = self.count.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *count -= 1;
        if *count == 0 {
            self.none.notify_all();
        }
    }
}

/// Kills PID 1 of a cell's pid namespace. The kernel kills the rest with it.
pub(super) fn kill(process: &OwnedFd) {
    // Fails only when it is dead already.
    let _ = rustix::process::pidfd_send_signal(process, rustix::process::Signal::KILL);
}

struct Work {
    arrivals: Receiver<Arrival>,
    /// Killed, and perhaps not dead yet.
    pending: Vec<(Remains, Instant)>,
    /// Dead, with memory that is not free yet. Nobody waits for these, because they need nothing
    /// more from this thread.
    lingering: Vec<(Remains, Lingers, Instant)>,
    /// Told to end.
    helpers: Vec<(Child, Instant)>,
    outstanding: Arc<Outstanding>,
}

impl Work {
    fn run(&mut self) {
        loop {
            if self.pending.is_empty() && !self.wait_for_arrivals() {
                return;
            }
            while let Ok(arrival) = self.arrivals.try_recv() {
                self.begin(arrival);
            }
            if !self.pending.is_empty() {
                self.wait_for_a_death();
                self.bury_the_dead();
            }
            self.look_at_the_lingering();
            self.collect_helpers();
        }
    }

    /// Waits for something to do. Returns whether to go on.
    fn wait_for_arrivals(&mut self) -> bool {
        let arrival = match (self.helpers.is_empty(), self.lingering.is_empty()) {
            (true, true) => self.arrivals.recv().map_err(|_| RecvTimeoutError::Disconnected),
            (false, _) => self.arrivals.recv_timeout(HELPER_LOOK),
            (true, false) => self.arrivals.recv_timeout(LOOK),
        };
        match arrival {
            Ok(arrival) => self.begin(arrival),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if !self.helpers.is_empty() => thread::sleep(HELPER_LOOK),
            Err(RecvTimeoutError::Disconnected) => {
                for (mut remains, _, _) in self.lingering.drain(..) {
                    let _ = remains.cgroup.remove();
                }
                return false;
            }
        }
        true
    }

    fn begin(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Cell(remains) => {
                kill(&remains.process);
                self.pending.push((remains, Instant::now()));
            }
            Arrival::Helper(helper) => self.helpers.push((helper, Instant::now())),
        }
    }

    fn wait_for_a_death(&mut self) {
        let mut handles: Vec<PollFd<'_>> = self
            .pending
            .iter()
            .map(|(remains, _)| PollFd::from_borrowed_fd(remains.process.as_fd(), PollFlags::IN))
            .collect();
        // Short, so that new arrivals join the poll soon. They have been killed already.
        let pause = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        let _ = rustix::event::poll(&mut handles, Some(&pause));
    }

    fn bury_the_dead(&mut self) {
        for (mut remains, since) in std::mem::take(&mut self.pending) {
            if is_dead(&remains) {
                remains.handles = Box::new(());
                if remains.cgroup.files_in_memory() > 0 {
                    let lingers = remains.lingering.one_more();
                    self.lingering.push((remains, lingers, Instant::now()));
                    self.outstanding.one_less();
                    continue;
                }
                // PID 1 goes only after everything in its namespace is gone. The group empties a
                // moment later.
                if remains.cgroup.remove().is_ok() {
                    drop(remains);
                    self.outstanding.one_less();
                    continue;
                }
            }
            if since.elapsed() > PATIENCE {
                give_up(remains);
                self.outstanding.one_less();
                continue;
            }
            self.pending.push((remains, since));
        }
        // Without this pause, the loop would spin while a group is busy though its PID 1 is dead.
        if !self.pending.is_empty() {
            match self.arrivals.recv_timeout(Duration::from_micros(200)) {
                Ok(arrival) => self.begin(arrival),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn collect_helpers(&mut self) {
        self.helpers.retain_mut(|(helper, since)| {
            let is_collected = is_collected(helper, *since);
            if is_collected {
                self.outstanding.one_less();
            }
            !is_collected
        });
    }

    fn look_at_the_lingering(&mut self) {
        for (mut remains, lingers, since) in std::mem::take(&mut self.lingering) {
            if remains.cgroup.files_in_memory() == 0 && remains.cgroup.remove().is_ok() {
                drop((remains, lingers));
            } else if since.elapsed() > PATIENCE_WITH_MEMORY {
                give_up(remains);
            } else {
                self.lingering.push((remains, lingers, since));
            }
        }
    }
}

/// Whether a helper that was told to end is gone. One that takes too long is killed.
fn is_collected(helper: &mut Child, since: Instant) -> bool {
    if since.elapsed() > HELPER_ENDS_WITHIN {
        let _ = helper.kill();
    }
    !matches!(helper.try_wait(), Ok(None))
}

fn is_dead(remains: &Remains) -> bool {
    let mut handle = [PollFd::from_borrowed_fd(remains.process.as_fd(), PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut handle, Some(&now))).is_ok_and(|ready| ready > 0)
}

fn give_up(remains: Remains) {
    tracing::warn!("a killed cell has not gone away; its control group is left to the next start");
    std::mem::forget(remains.belongings);
}
