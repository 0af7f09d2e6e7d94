//! Reads a script from where the user says it is.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use belljar::ExecutionRequest;

/// Longer than any script somebody wrote; what is longer is not a script, and may have no end.
const LONGEST: u64 = 64 << 20;

/// A request for the script in `file`, or on stdin for `-` and nothing.
pub(crate) fn read(file: Option<&Path>) -> Result<ExecutionRequest> {
    match file {
        Some(path) if path != Path::new("-") => read_file(path),
        _ => from(io::stdin().lock()).context("script from stdin"),
    }
}

/// Whether reading would wait for somebody to type.
pub(crate) fn is_typed(file: Option<&Path>) -> bool {
    file.is_none_or(|path| path == Path::new("-")) && io::stdin().is_terminal()
}

fn read_file(path: &Path) -> Result<ExecutionRequest> {
    let place = || format!("script {}", path.display());
    let file = File::open(path).with_context(place)?;
    if file.metadata().with_context(place)?.is_dir() {
        return Err(anyhow!("it is a directory; name the file to run")).with_context(place);
    }
    from(file).with_context(place)
}

fn from(source: impl Read) -> Result<ExecutionRequest> {
    let mut bytes = Vec::new();
    source.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        bail!("it is longer than {} MiB, which is no script", LONGEST >> 20);
    }
    let request = ExecutionRequest::from_bytes(bytes)?;
    request.check()?;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read_to_the_end() {
        let error = from(io::repeat(b'#')).unwrap_err();
        assert!(error.to_string().contains("longer than 64 MiB"), "{error}");
    }

    #[test]
    fn a_bad_script_is_refused_with_its_file_and_the_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bad.py");
        for (bytes, expected) in [
            (&b"x = 1\n\xff"[..], "not UTF-8: byte 0xff at offset 6 (line 2)"),
            (b"x\n\0", "NUL byte at line 2"),
            (b" \n", "the script is empty"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let text = format!("{:#}", read(Some(&path)).unwrap_err());
            assert!(text.contains("bad.py") && text.contains(expected), "{text}");
        }
    }
}
