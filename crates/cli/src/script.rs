//! Reads a script from a file or stdin.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, bail};
use belljar::ExecutionRequest;
use belljar::config::ExecutionMode;

use crate::error::CliError;

/// Longer than any script that a person wrote. Longer input is not a script, and may have no end.
pub(crate) const LONGEST: u64 = 64 << 20;

/// A request for the script in `file`, to be run in this mode. Without a file, or with `-`, the
/// script is read from stdin.
pub(crate) fn read(file: Option<&Path>, mode: Option<ExecutionMode>) -> Result<ExecutionRequest, CliError> {
    let request = match file {
        Some(path) if path != Path::new("-") => {
            let place = || format!("script {}", path.display());
            let bytes = read_all(open(path).with_context(place)?)?;
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            parse(bytes, mode).with_context(place).map(|request| match name {
                Some(name) => request.with_name(name),
                None => request,
            })
        }
        _ => parse(read_all(io::stdin().lock())?, mode)
            .context("script from stdin")
            .map(|request| request.with_name(ExecutionRequest::FROM_STDIN)),
    };
    Ok(request?)
}

/// A request for code from the command line.
pub(crate) fn given(code: &str, mode: Option<ExecutionMode>) -> Result<ExecutionRequest, CliError> {
    Ok(parse(code.as_bytes().to_vec(), mode).context("the code after -c")?)
}

/// A request to run a module, as `python -m` does.
pub(crate) fn module(name: &str, mode: Option<ExecutionMode>) -> Result<ExecutionRequest, CliError> {
    let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !name.split('.').all(is_part) {
        return Err(CliError::Input(anyhow::anyhow!("-m {name:?}: this is no name of a module")));
    }
    let code = format!("import runpy; runpy.run_module({name:?}, run_name='__main__', alter_sys=True)");
    Ok(parse(code.into_bytes(), mode)?)
}

/// Whether reading would wait for a person to type.
pub(crate) fn is_typed(file: Option<&Path>) -> bool {
    file.is_none_or(|path| path == Path::new("-")) && io::stdin().is_terminal()
}

fn open(path: &Path) -> anyhow::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        bail!("it is a directory; name the file to run");
    }
    Ok(file)
}

fn read_all(source: impl Read) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    // The script exists. If it cannot be read, that is not the user's mistake.
    source.take(LONGEST + 1).read_to_end(&mut bytes).map_err(CliError::system("read the script"))?;
    Ok(bytes)
}

fn parse(bytes: Vec<u8>, mode: Option<ExecutionMode>) -> anyhow::Result<ExecutionRequest> {
    if bytes.len() as u64 > LONGEST {
        bail!("it is longer than {} MiB, which is no script", LONGEST >> 20);
    }
    let mut request = ExecutionRequest::from_bytes(bytes)?;
    request.mode = mode;
    request.check()?;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read_to_the_end() {
        let error = parse(read_all(io::repeat(b'#')).unwrap(), None).unwrap_err();
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
            let text = read(Some(&path), None).unwrap_err().explain();
            assert!(text.contains("bad.py") && text.contains(expected), "{text}");
        }
    }
}
