//! Names of the files that a record is written to before it takes the record's place.
//!
//! `.metadata.<process>.<nanoseconds>.<count>.<16 hexadecimal digits>.tmp`: unlike any other, also
//! where several processes write to one directory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The name that was used before each had its own.
const OLD: &[u8] = b".metadata.tmp";
/// Stands in for random digits where there are none.
const NOT_RANDOM: &str = "norand";

/// A name that no other call returns.
pub(super) fn name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let process = std::process::id();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = since.map_or(1, |since| since.as_nanos().max(1));
    let count = COUNT.fetch_add(1, Ordering::Relaxed).max(1);
    let mut random = [0; 8];
    let random = match rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::NONBLOCK) {
        Ok(8) => format!("{:016x}", u64::from_le_bytes(random)),
        _ => NOT_RANDOM.to_owned(),
    };
    format!(".metadata.{process}.{nanoseconds}.{count}.{random}.tmp")
}

/// Whether a name at the root of a workspace is that of a record that is being written. Such files
/// are not collected. The same name deeper in the workspace is the user's.
pub fn is_metadata_temporary(name: &[u8]) -> bool {
    if name == OLD {
        return true;
    }
    let inner = name.strip_prefix(b".metadata.").and_then(|rest| rest.strip_suffix(b".tmp"));
    let Some(inner) = inner else { return false };
    let parts: Vec<_> = inner.split(|byte| *byte == b'.').collect();
    let [process, nanoseconds, count, random] = parts.as_slice() else { return false };
    let is_random = *random == NOT_RANDOM.as_bytes()
        || (random.len() == 16 && random.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    is_random && [process, nanoseconds, count].into_iter().all(|part| is_positive(part))
}

/// Whether it is a decimal number that is not zero.
fn is_positive(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_digit) && digits.iter().any(|digit| *digit != b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_44_names_of_records_being_written_are_known() {
        for name in [name(), name(), ".metadata.tmp".to_owned(), ".metadata.1.2.3.norand.tmp".to_owned()] {
            assert!(is_metadata_temporary(name.as_bytes()), "{name}");
        }
        assert_ne!(name(), name());
    }

    #[test]
    fn case_44_names_of_users_are_not() {
        for name in [
            "",
            "metadata.json",
            ".metadata.user.tmp",
            ".metadata..tmp",
            ".metadata.0.2.3.norand.tmp",
            ".metadata.1.2.3.0123456789ABCDEF.tmp",
            ".metadata.1.2.3.0123456789abcde.tmp",
            ".metadata.1.2.3.4.norand.tmp",
            ".metadata.1.x.3.norand.tmp",
            ".metadata.1..3.norand.tmp",
            "sub/.metadata.tmp",
        ] {
            assert!(!is_metadata_temporary(name.as_bytes()), "{name}");
        }
    }
}
