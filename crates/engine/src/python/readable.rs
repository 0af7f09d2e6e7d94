//! Whether a cell's unprivileged user could run an interpreter.
//!
//! The jail binds the prefix itself. So a closed directory above it (`/root`) does not matter, but
//! one below it does.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::PythonError;
use super::interpreter::Interpreter;

const READ: u32 = 0o4;
const ENTER: u32 = 0o1;
const SYSTEM_TREES: [&str; 3] = ["/", "/usr", "/usr/local"];

/// Checks the permission bits for others on the files that Python needs first, from the prefix
/// downward.
pub fn readable_by_others(interpreter: &Interpreter) -> Result<(), PythonError> {
    let library = &interpreter.stdlib;
    let parts = [
        (interpreter.executable.clone(), READ | ENTER),
        (library.clone(), READ | ENTER),
        (library.join("os.py"), READ),
        (library.join("encodings"), READ | ENTER),
        (interpreter.platstdlib.join("lib-dynload"), READ | ENTER),
    ];
    let shared = interpreter.shared_library.iter().map(|path| (path.clone(), READ));
    for (part, bits) in parts.into_iter().chain(shared) {
        check(interpreter, &part, bits)?;
    }
    Ok(())
}

fn check(interpreter: &Interpreter, part: &Path, bits: u32) -> Result<(), PythonError> {
    let tree =
        [&interpreter.prefix, &interpreter.exec_prefix].into_iter().find(|tree| part.starts_with(tree));
    let within = |path: &&Path| tree.is_some_and(|tree| path.starts_with(tree));
    let mut above: Vec<&Path> = part.ancestors().skip(1).take_while(within).collect();
    above.reverse();
    let steps = above.into_iter().map(|directory| (directory, ENTER)).chain([(part, bits)]);
    for (path, needed) in steps {
        let mode = match fs::metadata(path) {
            Ok(meta) => meta.permissions().mode() & 0o7777,
            // Some builds link everything in, or keep the library in a zip.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(source) => {
                return Err(PythonError::Examine { path: path.to_owned(), source });
            }
        };
        if mode & needed != needed {
            // Never suggest to change everything that the system has installed.
            let own_tree =
                tree.filter(|tree| !SYSTEM_TREES.iter().any(|system| tree.as_path() == Path::new(system)));
            let tree = own_tree.cloned().unwrap_or_else(|| PathBuf::from(path));
            return Err(PythonError::NotReadable { path: path.to_owned(), mode, tree });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_tree(prefix: &Path) -> Interpreter {
        let stdlib = prefix.join("lib/python3.11");
        fs::create_dir_all(stdlib.join("lib-dynload")).unwrap();
        fs::create_dir_all(stdlib.join("encodings")).unwrap();
        fs::create_dir_all(prefix.join("bin")).unwrap();
        let executable = prefix.join("bin/python3.11");
        fs::write(&executable, "").unwrap();
        fs::write(stdlib.join("os.py"), "").unwrap();
        for (path, mode) in [
            (prefix.to_owned(), 0o755),
            (prefix.join("bin"), 0o755),
            (prefix.join("lib"), 0o755),
            (executable.clone(), 0o755),
            (stdlib.clone(), 0o755),
            (stdlib.join("lib-dynload"), 0o755),
            (stdlib.join("encodings"), 0o755),
            (stdlib.join("os.py"), 0o644),
        ] {
            set_mode(&path, mode);
        }
        Interpreter {
            executable,
            version: (3, 11, 7),
            prefix: prefix.to_owned(),
            exec_prefix: prefix.to_owned(),
            stdlib: stdlib.clone(),
            platstdlib: stdlib,
            shared_library: None,
            abi: "cpython-311-x86_64-linux-gnu".into(),
            libc: "glibc 2.36".into(),
        }
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_closed_directory_above_the_prefix_is_no_obstacle() {
        let home = tempfile::tempdir().unwrap();
        let interpreter = open_tree(&home.path().join("3.11.7"));
        set_mode(home.path(), 0o700);
        readable_by_others(&interpreter).unwrap();
    }

    #[test]
    fn every_closed_part_is_named_with_its_remedy() {
        let home = tempfile::tempdir().unwrap();
        let prefix = home.path().join("3.11.7");
        let parts = ["", "bin", "bin/python3.11", "lib", "lib/python3.11", "lib/python3.11/os.py"];
        for (part, mode) in parts.into_iter().zip([0o700, 0o750, 0o744, 0o700, 0o751, 0o640]) {
            let interpreter = open_tree(&prefix);
            let closed = if part.is_empty() { prefix.clone() } else { prefix.join(part) };
            set_mode(&closed, mode);
            let error = readable_by_others(&interpreter).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{} (mode {mode:03o})", closed.display())), "{error}");
            assert!(error.ends_with(&format!("chmod -R o+rX {}", prefix.display())), "{error}");
        }
    }

    #[test]
    fn parts_a_build_does_not_have_are_not_missed() {
        let home = tempfile::tempdir().unwrap();
        let interpreter = open_tree(&home.path().join("3.11.7"));
        fs::remove_dir(interpreter.platstdlib.join("lib-dynload")).unwrap();
        readable_by_others(&interpreter).unwrap();
    }
}
