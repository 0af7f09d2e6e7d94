//! Sizes and times as people write them.

/// A time in seconds: `90`, `1.5`, `250ms`, `2m30s`, `1h`.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    if let Ok(plain) = text.parse() {
        return Ok(plain);
    }
    let refused = || "must be seconds, or a time with units, such as 1.5, 250ms or 2m30s".to_owned();
    let (mut rest, mut total) = (text.trim(), 0.0);
    while !rest.is_empty() {
        let (number, unit, after) = part(rest).ok_or_else(refused)?;
        total += number
            * match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                _ => return Err(refused()),
            };
        rest = after;
    }
    if text.trim().is_empty() { Err(refused()) } else { Ok(total) }
}

/// A size in whole MiB: `512`, `512m`, `1.5g`, `64MiB`.
pub(crate) fn mebibytes(text: &str) -> Result<u64, String> {
    let refused =
        || "must be a whole number of MiB, or a size with a unit, such as 512, 512m or 1.5g".to_owned();
    if let Ok(plain) = text.parse() {
        return Ok(plain);
    }
    let (number, unit, rest) = part(text.trim()).ok_or_else(refused)?;
    let in_mebibytes = match unit.to_ascii_lowercase().as_str() {
        "k" | "kb" | "kib" => 1.0 / 1024.0,
        "m" | "mb" | "mib" => 1.0,
        "g" | "gb" | "gib" => 1024.0,
        "t" | "tb" | "tib" => 1024.0 * 1024.0,
        _ => return Err(refused()),
    };
    let size = number * in_mebibytes;
    let fits = rest.is_empty() && size.fract() == 0.0 && (0.0..9e15).contains(&size);
    if fits { Ok(size as u64) } else { Err(refused()) }
}

/// A size for people.
pub(crate) fn shown(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// A number and the letters behind it, and what follows.
fn part(text: &str) -> Option<(f64, &str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = text.split_at(digits);
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(letters);
    Some((number.parse().ok()?, unit, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, expected) in
            [("90", 90.0), ("1.5", 1.5), ("250ms", 0.25), ("2m30s", 150.0), ("1h", 3600.0), ("-1", -1.0)]
        {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "s", "5x", "2m30", "1..5s", "5 s"] {
            assert!(seconds(text).unwrap_err().contains("2m30s"), "{text}");
        }
    }

    #[test]
    fn sizes_have_units_or_are_mebibytes() {
        for (text, expected) in
            [("512", 512), ("512m", 512), ("1.5g", 1536), ("64MiB", 64), ("2G", 2048), ("1024k", 1)]
        {
            assert_eq!(mebibytes(text), Ok(expected), "{text}");
        }
        for text in ["", "m", "1.5", "1.3m", "-1m", "5mm", "1g1m", "1.5k"] {
            assert!(mebibytes(text).unwrap_err().contains("1.5g"), "{text}");
        }
    }
}
