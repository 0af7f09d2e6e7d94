//! Addresses of artifacts: `belljar://artifacts/NAME?version=N`.

use std::fmt::Write as _;

use belljar::artifacts::ArtifactRef;
use belljar::engine::layout;

const PREFIX: &str = "belljar://artifacts/";

/// How such addresses are made, for clients that make their own.
pub(super) const TEMPLATE: &str = "belljar://artifacts/{+name}{?version}";

/// The address of an artifact.
pub(super) fn of(artifact: &ArtifactRef) -> String {
    let name = escaped(&artifact.name);
    match artifact.version {
        Some(version) => format!("{PREFIX}{name}?version={version}"),
        None => format!("{PREFIX}{name}"),
    }
}

/// The address of a file, as whoever is in its sandbox knows it.
pub(super) fn of_file(path: &str) -> String {
    format!("file://{}/{}", layout::WORKSPACE, escaped(path))
}

fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                text.push(byte.into());
            }
            _ => drop(write!(text, "%{byte:02X}")),
        }
    }
    text
}

/// The artifact at an address. `None` if it is none of ours.
pub(super) fn read(uri: &str) -> Option<ArtifactRef> {
    let rest = uri.strip_prefix(PREFIX)?;
    let (name, version) = match rest.split_once('?') {
        None => (rest, None),
        Some((name, query)) => (name, Some(query.strip_prefix("version=")?.parse().ok()?)),
    };
    let mut bytes = Vec::with_capacity(name.len());
    let mut left = name.as_bytes();
    while let [first, rest @ ..] = left {
        left = rest;
        if *first == b'%' {
            let digits = std::str::from_utf8(left.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            left = &left[2..];
        } else {
            bytes.push(*first);
        }
    }
    let name = String::from_utf8(bytes).ok().filter(|name| !name.is_empty())?;
    Some(ArtifactRef { name, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_an_address_that_is_read_back() {
        for name in ["a.txt", "user:plots/a b.png", "50%.csv", "a?version=3", "ä@2", "#"] {
            for version in [None, Some(7)] {
                let artifact = ArtifactRef { name: name.to_owned(), version };
                let uri = of(&artifact);
                assert!(!uri.contains([' ', '#']), "{uri}");
                assert_eq!(read(&uri), Some(artifact), "{uri}");
            }
        }
        for wrong in ["file:///etc/passwd", "belljar://artifacts/", "belljar://artifacts/a%f", PREFIX] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read("belljar://artifacts/a?v=1"), None);
    }
}
