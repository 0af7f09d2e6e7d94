//! IPv4 addresses as the C library reads them: `127.1`, `2130706433`, `0x7f.1` and `017700000001`
//! are all 127.0.0.1.
//!
//! A guest's own libraries accept these spellings. So each one must become the address it means
//! before it is compared with anything, or be refused.

use std::net::Ipv4Addr;

/// Reads one to four numbers. The last one fills all the bytes that are left.
pub(super) fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = text.split('.').map(parse_number).collect::<Option<_>>()?;
    let (last, bytes) = numbers.split_last()?;
    if bytes.len() > 3 || bytes.iter().any(|byte| *byte > 255) {
        return None;
    }
    let left = 8 * (4 - bytes.len() as u32);
    if *last >= 1 << left {
        return None;
    }
    let front = bytes.iter().fold(0, |sum, byte| sum << 8 | byte);
    u32::try_from(front << left | last).ok().map(Ipv4Addr::from)
}

/// Reads a number: decimal, octal after `0`, hexadecimal after `0x`. More than 11 digits make no
/// sense. They are refused, not wrapped around.
fn parse_number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if plain { u64::from_str_radix(digits, radix).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_spelling_of_loopback_is_loopback() {
        for text in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0X7F.0.0.0x1",
            "017700000001",
            "0177.0.0.01",
        ] {
            assert_eq!(parse_ipv4(text), Some(Ipv4Addr::LOCALHOST), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_never_wraps_around() {
        for text in [
            "",
            ".",
            "1.",
            "1..2",
            "256.1.1.1",
            "1.1.1.256",
            "1.2.3.4.5",
            "4294967296",
            "0x100000000",
            "08",
            "0x",
            "0xg",
            "+1",
            "-1",
            "1 ",
            "18446744073709551617",
            "127.0.0.0x",
        ] {
            assert_eq!(parse_ipv4(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn an_address_survives_each_way_of_writing_it(bits: u32) {
            let address = Ipv4Addr::from(bits);
            let [a, b, c, d] = address.octets();
            let rest = bits & 0xff_ffff;
            for text in [
                address.to_string(),
                bits.to_string(),
                format!("{bits:#x}"),
                format!("0{bits:o}"),
                format!("{a}.{rest}"),
                format!("{a:#x}.{b}.{}", u16::from(c) << 8 | u16::from(d)),
                format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            ] {
                prop_assert_eq!(parse_ipv4(&text), Some(address), "{}", text);
            }
        }
    }
}
