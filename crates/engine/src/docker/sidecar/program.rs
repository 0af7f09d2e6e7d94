//! Which program the proxy is, and the libraries that it runs with.
//!
//! It is the running program, unless the caller has named another one. The running program will do
//! only if this code is a part of it. In a shared library that somebody else's program has loaded,
//! `/proc/self/exe` is that other program, and knows nothing of a proxy.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belljar_core::environment;

use super::entry::{self, PROXY_NAME};
use super::protocol::{Order, Report, line};
use crate::docker::DockerError;

const THIS_PROGRAM: &str = "/proc/self/exe";

/// How long a program that the caller has named may take to say what it runs with.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A program that can be the proxy.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) libraries: Vec<PathBuf>,
}

impl Program {
    /// The program that the caller named, in code or else in the environment.
    pub(super) fn named(setting: Option<&Path>) -> Option<PathBuf> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        setting.map(Path::to_owned).or_else(|| set(environment::PROXY_PROGRAM).map(PathBuf::from))
    }

    /// The named program, or the running one. Blocks.
    pub(super) fn find(named: Option<&Path>) -> Result<Self, DockerError> {
        match named {
            None => running(entry::entry_address()),
            Some(path) => ask(path),
        }
    }
}

/// The running program, if the code at this address is a part of it.
fn running(address: usize) -> Result<Program, DockerError> {
    let unreadable = |error: io::Error| refused(format!("this program cannot look at itself: {error}"));
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(unreadable)?;
    let program = std::fs::read_link(THIS_PROGRAM).map_err(unreadable)?;
    match file_at(&maps, address) {
        Some(file) if file == program => {
            Ok(Program { path: THIS_PROGRAM.into(), libraries: libraries(&maps) })
        }
        file => Err(refused(format!(
            "Belljar is in {} here, and the running program is {}, which cannot be the proxy",
            file.map_or("memory".into(), |file| file.display().to_string()),
            program.display()
        ))),
    }
}

/// Asks a program for the libraries that it runs with. Only one that links this crate knows what is
/// meant.
fn ask(path: &Path) -> Result<Program, DockerError> {
    let failed = |reason: String| refused(format!("{}: {reason}", path.display()));
    let mut child = Command::new(path)
        .arg0(PROXY_NAME)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(format!("it cannot be started: {error}")))?;
    // It may be a program that reads nothing. Its answer tells.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(line(&Order::Describe).as_bytes()));
    let answered = wait_for(&mut child);
    let mut answer = String::new();
    if answered {
        let _ = child.stdout.take().map(|stdout| stdout.take(1 << 20).read_to_string(&mut answer));
    }
    match serde_json::from_str(&answer) {
        Ok(Report::Description { libraries }) => Ok(Program { path: path.to_owned(), libraries }),
        _ => Err(failed("it does not link Belljar with the docker engine".into())),
    }
}

/// Waits for the end of a program, which is killed if it takes too long.
fn wait_for(child: &mut Child) -> bool {
    const LOOK_EVERY: Duration = Duration::from_millis(2);
    let began = Instant::now();
    while began.elapsed() < ANSWER_WITHIN {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) => std::thread::sleep(LOOK_EVERY),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}

fn refused(reason: String) -> DockerError {
    DockerError::ProxyProgram { reason }
}

/// This process as an answer to that question.
pub(super) fn describe() -> io::Result<Report> {
    Ok(Report::Description { libraries: libraries(&std::fs::read_to_string("/proc/self/maps")?) })
}

/// The file that is mapped at an address.
fn file_at(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (range, _) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let parse = |text| usize::from_str_radix(text, 16).ok();
        let is_there = (parse(start)?..parse(end)?).contains(&address);
        let (_, path) = line.split_once(" /").filter(|_| is_there)?;
        Some(PathBuf::from(format!("/{path}")))
    })
}

/// The shared libraries in a process's map.
fn libraries(maps: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = maps
        .lines()
        .filter_map(|line| line.split_once(" /").map(|(_, path)| PathBuf::from(format!("/{path}"))))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(".so") && !name.ends_with("(deleted)")
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "7f0-7f1 r-xp 0 fe:0 1  /usr/lib/libc.so.6\n7f1-7f2 rw-p 0 fe:0 1  /usr/lib/libc.so.6\n\
                        7f2-7f3 r--p 0 fe:0 2  /usr/bin/program\n7f4-7f5 rw-p 0 0:0 0  [heap]\n7f4-7f5 rw-p 0 0:0 0\n\
                        7f6-7f7 r-xp 0 fe:0 3  /lib64/ld-linux-x86-64.so.2\n";

    #[test]
    fn libraries_are_those_in_the_map_and_each_once() {
        let expected = ["/lib64/ld-linux-x86-64.so.2", "/usr/lib/libc.so.6"];
        assert_eq!(libraries(MAPS), expected.map(PathBuf::from));
    }

    #[test]
    fn an_address_belongs_to_the_file_that_is_mapped_there() {
        assert_eq!(file_at(MAPS, 0x7f2), Some(PathBuf::from("/usr/bin/program")));
        assert_eq!(file_at(MAPS, 0x7f3), None);
        assert_eq!(file_at(MAPS, 0x7f4), None);
    }

    #[test]
    fn the_running_program_is_the_proxy_unless_this_code_is_in_a_library() {
        let program = Program::find(None).unwrap();
        assert_eq!(program.path, Path::new(THIS_PROGRAM));
        // Any address in a shared library stands for ours in one.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.contains("libc.so")).expect("the C library is loaded");
        let address = usize::from_str_radix(line.split_once('-').unwrap().0, 16).unwrap();
        let told = running(address).unwrap_err().to_string();
        for part in ["libc.so", "proxy_program", environment::PROXY_PROGRAM] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn a_named_program_is_asked_whether_it_can_be_the_proxy() {
        let this = std::env::current_exe().unwrap();
        let program = Program::find(Some(&this)).unwrap();
        assert_eq!(program.path, this);
        assert_eq!(program.libraries, Program::find(None).unwrap().libraries);
        for (path, what) in
            [("/bin/cat", "does not link"), ("/bin/true", "does not link"), ("/no/such", "started")]
        {
            let told = Program::find(Some(Path::new(path))).unwrap_err().to_string();
            assert!(told.contains(path) && told.contains(what), "{told}");
        }
    }
}
