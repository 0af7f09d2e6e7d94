//! What the processes of a run know of a secret, as somebody on the host would look at them.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use belljar_runtime::{Execution, Sandbox};
use belljar_testing::{name_of, only_on, processes_below};

use crate::{NAME, assert_absent, granted};

/// Not a literal that the test's own executable holds, which is the helper's too.
fn fresh_value() -> String {
    let mut random = [0u8; 12];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).unwrap();
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Whether a value is in the writable memory of a process; `None` where we may not look.
fn remembers(pid: u32, value: &str) -> Option<bool> {
    const LARGEST: u64 = 512 << 20;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    for line in maps.lines() {
        let (span, rest) = line.split_once(' ')?;
        let (from, to) = span.split_once('-')?;
        let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        if !rest.starts_with("rw") || to - from > LARGEST {
            continue;
        }
        let mut bytes = vec![0; (to - from) as usize];
        if memory.read_exact_at(&mut bytes, from).is_ok()
            && bytes.windows(value.len()).any(|window| window == value.as_bytes())
        {
            return Some(true);
        }
    }
    Some(false)
}

fn core_limit(pid: u32) -> String {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap_or_default();
    line.split_whitespace().skip(4).take(2).collect::<Vec<_>>().join(" ")
}

/// Processes on this machine that are a container's supervisor, or its fork; none where the daemon
/// is somewhere else.
fn in_containers() -> Vec<u32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let told = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    pids.filter(|pid| told(pid).contains("/opt/belljar/supervisor.py")).collect()
}

/// A script that has the value and does not end by itself.
async fn running_with_the_value(sandbox: &Sandbox) -> Execution {
    let script =
        format!("key = os.environ['{NAME}']\nemit_intermediate('has it', 1)\nwhile True: time.sleep(1)");
    let mut execution = sandbox.stream(script);
    assert!(execution.next().await.is_some(), "the script does not run");
    execution
}

#[tokio::test]
async fn of_a_containers_processes_only_the_guest_has_the_value() {
    if !only_on("docker", "a native cell's processes are looked at one by one below") {
        return;
    }
    let value = fresh_value();
    let Some((runtime, sandbox)) = granted(&value).await else { return };
    let execution = running_with_the_value(&sandbox).await;
    let all = in_containers();
    let Some(guest) = all.iter().copied().find(|pid| remembers(*pid, &value) == Some(true)) else {
        let out_of_reach = all.iter().all(|pid| remembers(*pid, &value).is_none());
        assert!(out_of_reach, "the search does not find what is there");
        println!("docker: skipped (its processes are out of reach)");
        return;
    };
    assert_eq!(
        core_limit(guest),
        NO_CORE_FILES,
        "a crash of the guest would leave the secret in a core file"
    );
    let supervisor = parent_of(guest).unwrap();
    assert!(all.contains(&supervisor), "{} is no supervisor", name_of(supervisor));
    assert!(is_not_dumpable(supervisor));
    for pid in all {
        for file in ["cmdline", "environ", "status", "comm"] {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let place = format!("{file} of {} ({pid})", name_of(pid));
            assert_absent(&value, &place, &String::from_utf8_lossy(&text));
        }
        assert!(pid == guest || remembers(pid, &value) != Some(true), "{pid} has the secret in its memory");
    }
    drop(execution);
    drop(sandbox);
    runtime.shutdown().await;
}

#[tokio::test]
async fn only_the_process_that_runs_the_script_has_the_value() {
    if !only_on("native", "a container's processes are the daemon's, and looked at above") {
        return;
    }
    let value = fresh_value();
    let Some((runtime, sandbox)) = granted(&value).await else { return };
    let execution = running_with_the_value(&sandbox).await;
    let below = processes_below(std::process::id());
    let helper = *below.iter().find(|pid| parent_of(**pid) == Some(std::process::id())).unwrap();
    let zygote = *below.iter().find(|pid| parent_of(**pid) == Some(helper)).unwrap();
    let init = *below.iter().find(|pid| parent_of(**pid) == Some(zygote)).unwrap();
    let guest = *below.iter().find(|pid| parent_of(**pid) == Some(init)).unwrap();
    for pid in [helper, zygote, init, guest] {
        for file in ["cmdline", "environ", "status", "comm"] {
            // What we may not read, others may not either.
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let place = format!("{file} of {} ({pid})", name_of(pid));
            assert_absent(&value, &place, &String::from_utf8_lossy(&text));
        }
    }
    for (who, pid) in [("the helper", helper), ("the zygote", zygote), ("the cell's init", init)] {
        assert_ne!(remembers(pid, &value), Some(true), "{who} has the secret in its memory");
    }
    // That looking works: where it must be, it is found. To an ordinary user the guest may be out
    // of reach.
    assert_ne!(remembers(guest, &value), Some(false), "the search does not find what is there");
    assert_eq!(remembers(std::process::id(), &value), Some(true));
    assert_eq!(
        core_limit(guest),
        NO_CORE_FILES,
        "a crash of the guest would leave the secret in a core file"
    );
    drop(execution);
    drop(sandbox);
    runtime.shutdown().await;
}

/// One byte: too little for a core file, and the value at which the kernel starts no crash handler
/// either.
const NO_CORE_FILES: &str = "1 1";

/// Whether the kernel writes no core file of a process, whatever its limit: the files in its
/// `/proc` directory are then root's and not its own.
fn is_not_dumpable(pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let runs_as_root = ids.split_whitespace().nth(1) == Some("0");
    fs::metadata(format!("/proc/{pid}/environ")).is_ok_and(|metadata| metadata.uid() == 0 && !runs_as_root)
}

#[tokio::test]
async fn neither_the_helper_nor_the_zygote_leaves_a_core_file() {
    if !only_on("native", "there is no helper and no zygote; the supervisor is looked at above") {
        return;
    }
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // As on a host that wants core files of its services.
    let most = getrlimit(Resource::Core).maximum;
    setrlimit(Resource::Core, Rlimit { current: most, maximum: most }).unwrap();
    let Some((runtime, sandbox)) = granted(&fresh_value()).await else { return };
    let below = processes_below(std::process::id());
    assert!(below.len() >= 2, "helper and zygote, at least: {below:?}");
    for pid in below {
        assert!(
            core_limit(pid) == NO_CORE_FILES || is_not_dumpable(pid),
            "{} ({pid}) may leave a core file: its limit is {:?}",
            name_of(pid),
            core_limit(pid)
        );
    }
    drop(sandbox);
    runtime.shutdown().await;
}
