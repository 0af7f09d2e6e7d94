//! Names and tokens that nobody else has.

use std::fmt::Write as _;

use rustix::io::retry_on_intr;
use rustix::rand::{GetRandomFlags, getrandom};

/// 128 random bits, as 32 hexadecimal digits.
///
/// ```
/// assert_ne!(belljar_core::random_hex(), belljar_core::random_hex());
/// ```
pub fn random_hex() -> String {
    let mut bytes = [0u8; 16];
    let filled = retry_on_intr(|| getrandom(&mut bytes, GetRandomFlags::empty()));
    assert_eq!(filled, Ok(bytes.len()), "the kernel has randomness once it is up");
    bytes.iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
