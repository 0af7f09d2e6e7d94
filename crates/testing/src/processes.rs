//! Processes and control groups of the test that asks. Under nextest each test is a process of its
//! own, so whatever is below it is its own doing.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

/// Processes below one of ours, whatever namespace they are in.
///
/// Processes come and go while `/proc` is read, so it is read until a reading finds nothing more.
pub fn processes_below(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    loop {
        let known = found.len();
        let parents = all_parents();
        let mut grew = true;
        while grew {
            let more = parents.iter().filter(|(pid, parent)| found.contains(parent) && !found.contains(pid));
            let more: Vec<u32> = more.map(|(pid, _)| *pid).collect();
            grew = !more.is_empty();
            found.extend(more);
        }
        if found.len() == known {
            break;
        }
    }
    found.retain(|pid| *pid != root);
    found
}

/// The children of one of ours. `/proc` is read once, so it can be asked for often.
pub fn children_of(parent: u32) -> Vec<u32> {
    all_parents().into_iter().filter(|(_, above)| *above == parent).map(|(pid, _)| pid).collect()
}

/// Every process there is, and its parent.
fn all_parents() -> Vec<(u32, u32)> {
    let entries = std::fs::read_dir("/proc").expect("/proc can be listed").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect()
}

/// Processes below this one that have a name, whatever namespace they are in.
pub fn processes_called(name: &str) -> Vec<u32> {
    processes_below(std::process::id()).into_iter().filter(|pid| name_of(*pid) == name).collect()
}

/// The parent of a process, or `None` when the process is gone.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// The name the kernel has for a process.
pub fn name_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// Kills a process of ours.
pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Sends a signal to a process of ours.
pub fn signal(pid: u32, signal: Signal) {
    let process = Pid::from_raw(pid.cast_signed()).expect("no process has the number 0");
    kill_process(process, signal).expect("a process of ours can be signalled");
}

/// The directories in which a process keeps the control groups of its cells.
pub fn control_groups_of(host: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search(Path::new("/sys/fs/cgroup"), &format!("belljar-{host}-"), &mut found);
    found
}

/// The groups of scopes that systemd has made for a process.
pub fn scopes_of(host: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search(Path::new("/sys/fs/cgroup"), &format!("belljar-cells-{host}-"), &mut found);
    found
}

fn search(directory: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
    for directory in directories_in(directory) {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        match name.starts_with(prefix) {
            true => found.push(directory),
            false => search(&directory, prefix, found),
        }
    }
}

/// The directories in a directory. In a control group each of them is a group too.
pub fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// A process that scripts start and that is known by its command line, whatever started it and
/// whatever namespace it is in.
pub(crate) struct Marked(String);

impl Marked {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        // `sleep` takes any number of numbers: this is both a long time and a name.
        Self(format!("9{:07}{number:03}", std::process::id()))
    }

    /// Python that starts such a process, with more arguments for `Popen`, and waits until it has
    /// its command line.
    pub(crate) fn start(&self, arguments: &str) -> String {
        let name = &self.0;
        format!(
            "import subprocess\nmarked = subprocess.Popen(['sleep', '{name}'], {arguments})\n\
             while b'{name}' not in open(f'/proc/{{marked.pid}}/cmdline', 'rb').read(): time.sleep(0.01)"
        )
    }

    /// Whether there is such a process. One that has died and is not reaped has no command line.
    pub(crate) fn is_seen(&self) -> bool {
        let wanted = format!("sleep\0{}\0", self.0);
        let entries = std::fs::read_dir("/proc").expect("/proc can be listed").flatten();
        entries
            .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
            .any(|line| line == wanted.as_bytes())
    }
}
