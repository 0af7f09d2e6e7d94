//! Values from files: one for each file, or a list of `NAME=value`.
//!
//! Files that everybody can change are refused: somebody else would choose the value. Those that
//! everybody can read are used, with a warning. Orchestrators mount secrets like that, and whether
//! there is anybody else is not known here.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use belljar_core::Secret;

use super::{SecretSourceError, Secrets};

/// How long a file may be. Longer values reach no script.
const LONGEST: u64 = 1 << 20;

/// The value that is all there is in a file.
pub(super) fn value(name: &str, path: &Path) -> Result<Secret, SecretSourceError> {
    let (name, path) = (name.to_owned(), path.to_owned());
    let bytes = match read(&path) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(problem)) => return Err(SecretSourceError::File { name, path, problem }),
        Err(source) => return Err(SecretSourceError::Unreadable { name, path, source }),
    };
    single(bytes).map_err(|problem| SecretSourceError::File { name, path, problem })
}

/// Bytes as a value, without the line break that editors and programs end a text with.
pub(super) fn single(bytes: Vec<u8>) -> Result<Secret, String> {
    // The error would have the bytes in it.
    let text = String::from_utf8(bytes).map_err(|_| "has a value that is not UTF-8".to_owned())?;
    let text = text.strip_suffix('\n').map_or(&*text, |text| text.strip_suffix('\r').unwrap_or(text));
    if text.is_empty() { Err("has no value: it is empty".to_owned()) } else { Ok(Secret::new(text)) }
}

/// The values of a list.
pub(super) fn list(path: &Path) -> Result<Secrets, SecretSourceError> {
    let failed = |problem: String| SecretSourceError::List { path: path.to_owned(), problem };
    let bytes = read(path)
        .map_err(|source| SecretSourceError::UnreadableList { path: path.to_owned(), source })?
        .map_err(|problem| failed(format!("it {problem}")))?;
    let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".into()))?;
    super::list::read(&text).map_err(|error| failed(error.to_string()))
}

/// What the owner of a file should know.
pub(super) fn warning(path: &Path) -> Option<String> {
    let mode = regular(&path.metadata().ok()?)?.permissions().mode();
    let path = path.display();
    (mode & 0o004 != 0).then(|| {
        let mode = mode & 0o777;
        format!("every user of this machine can read {path} (mode {mode:o}), which has secrets: chmod 600 it")
    })
}

/// All of a file, or the rule it breaks.
fn read(path: &Path) -> io::Result<Result<Vec<u8>, String>> {
    let file = File::open(path)?;
    // Of the file that is read, and not of another that is there by then.
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Ok(Err("is a directory".to_owned()));
    }
    if let Some(metadata) = regular(&metadata)
        && metadata.mode() & 0o002 != 0
    {
        let mode = metadata.mode() & 0o777;
        return Ok(Err(format!(
            "can be changed by every user of this machine (mode {mode:o}): chmod 600 it"
        )));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LONGEST {
        true => Ok(Err(format!("is longer than {LONGEST} bytes"))),
        false => Ok(Ok(bytes)),
    }
}

/// A pipe has no permissions that mean anything.
fn regular(metadata: &Metadata) -> Option<&Metadata> {
    metadata.is_file().then_some(metadata)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn file(&self, content: impl AsRef<[u8]>, mode: u32) -> std::path::PathBuf {
            let path = self.0.path().join("key");
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    #[test]
    fn the_last_line_break_is_not_part_of_a_value() {
        let place = Place::new();
        for (content, expected) in [
            ("hunter2", "hunter2"),
            ("hunter2\n", "hunter2"),
            ("hunter2\r\n", "hunter2"),
            (" hunter2 \n\n", " hunter2 \n"),
            ("a\nb\n", "a\nb"),
        ] {
            assert_eq!(value("KEY", &place.file(content, 0o600)).unwrap().expose(), expected);
        }
    }

    #[test]
    fn what_is_no_value_is_refused_by_name_and_file_and_never_shown() {
        let place = Place::new();
        let long = vec![b'x'; (1 << 20) + 1];
        let table: [(&[u8], u32, &str); 5] = [
            (b"", 0o600, "has no value: it is empty"),
            (b"\n", 0o600, "has no value: it is empty"),
            (b"hunter2\xff", 0o600, "has a value that is not UTF-8"),
            (&long, 0o600, "is longer than 1048576 bytes"),
            (b"hunter2", 0o602, "can be changed by every user of this machine (mode 602): chmod 600 it"),
        ];
        for (content, mode, problem) in table {
            let path = place.file(content, mode);
            let error = value("KEY", &path).unwrap_err();
            assert_eq!(error.to_string(), format!("secret KEY: {} {problem}", path.display()));
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
        let gone = value("KEY", &place.0.path().join("gone")).unwrap_err();
        assert!(matches!(&gone, SecretSourceError::Unreadable { name, .. } if name == "KEY"), "{gone}");
        let directory = value("KEY", place.0.path()).unwrap_err();
        assert!(directory.to_string().ends_with("is a directory"), "{directory}");
    }

    #[test]
    fn a_file_that_everybody_can_read_is_worth_a_warning() {
        let place = Place::new();
        assert_eq!(warning(&place.file("hunter2", 0o640)), None);
        let text = warning(&place.file("hunter2", 0o644)).unwrap();
        assert!(text.contains("(mode 644)") && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_list_is_refused_by_file_and_line() {
        let place = Place::new();
        let path = place.file("A=hunter2\nB hunter3\n", 0o600);
        let error = list(&path).unwrap_err();
        let expected = format!("secrets file {}: line 2: must be NAME=value", path.display());
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("hunter"), "{error:?}");
        let secrets = list(&place.file("A=hunter2\n", 0o600)).unwrap();
        assert_eq!(secrets.get("A").map(Secret::expose), Some("hunter2"));
        let error = list(&place.file("A=hunter2\n", 0o666)).unwrap_err().to_string();
        assert!(error.contains("it can be changed by every user"), "{error}");
    }
}
