//! Points in time, as the record of a workspace writes them: RFC 3339 with nanoseconds.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, to the nanosecond. It is written in UTC, and read with any offset.
///
/// The default is the first second of the year 1: the time that a record has where nobody set one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970, negative before.
    seconds: i64,
    /// Nanoseconds after that second.
    nanoseconds: u32,
}

/// A text that is no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time such as `2026-01-31T12:30:00.5Z`")]
pub struct TimestampError(String);

const SECONDS_A_DAY: i64 = 86_400;
/// The first second of the year 1.
const UNSET: i64 = -62_135_596_800;
/// The last second of the year 9999.
const LAST: i64 = 253_402_300_799;

impl Default for Timestamp {
    fn default() -> Self {
        Self { seconds: UNSET, nanoseconds: 0 }
    }
}

impl Timestamp {
    /// This moment, by the system's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Whether somebody has set it.
    pub fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// Seconds since 1970, negative before, and nanoseconds after that second.
    pub fn since_1970(&self) -> (i64, u32) {
        (self.seconds, self.nanoseconds)
    }
}

impl From<SystemTime> for Timestamp {
    /// A time outside of the years 1 to 9999 becomes the nearest that can be written.
    fn from(time: SystemTime) -> Self {
        let (seconds, nanoseconds) = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(LAST), after.subsec_nanos()),
            Err(error) => before_1970(error.duration()),
        };
        match seconds {
            ..UNSET => Self::default(),
            UNSET..=LAST => Self { seconds, nanoseconds },
            _ => Self { seconds: LAST, nanoseconds: 999_999_999 },
        }
    }
}

fn before_1970(before: Duration) -> (i64, u32) {
    let seconds = i64::try_from(before.as_secs()).map_or(UNSET, |seconds| -seconds);
    match before.subsec_nanos() {
        0 => (seconds, 0),
        nanoseconds => (seconds.saturating_sub(1), 1_000_000_000 - nanoseconds),
    }
}

/// Days since 1970 of a day of the Gregorian calendar. Years begin in March here, so that the day
/// that some years have more is the last one.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_since_1970`]: year, month and day.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn days_in(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_since_1970(next_year, next_month, 1) - days_since_1970(year, month, 1)
}

impl fmt::Display for Timestamp {
    /// Zeros at the end of the fraction are left out, and so is a fraction of nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.seconds.div_euclid(SECONDS_A_DAY));
        let second = self.seconds.rem_euclid(SECONDS_A_DAY);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.nanoseconds > 0 {
            let fraction = format!("{:09}", self.nanoseconds);
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        parse(text.as_bytes()).ok_or_else(|| TimestampError(text.to_owned()))
    }
}

/// Reads `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`.
fn parse(text: &[u8]) -> Option<Timestamp> {
    let (fixed, rest) = text.split_at_checked(19)?;
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if separators.iter().any(|&(at, sign)| fixed[at] != sign) || !matches!(fixed[10], b'T' | b't' | b' ') {
        return None;
    }
    let (year, month, day) = (number(&fixed[..4])?, number(&fixed[5..7])?, number(&fixed[8..10])?);
    let (hour, minute, second) = (number(&fixed[11..13])?, number(&fixed[14..16])?, number(&fixed[17..])?);
    let is_date = year >= 1 && (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    // The last minute of a day may have a leap second, which counts as the next one here.
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (nanoseconds, rest) = fraction(rest)?;
    let seconds = days_since_1970(year, month, day) * SECONDS_A_DAY + hour * 3600 + minute * 60 + second
        - offset(rest)?;
    (UNSET..=LAST).contains(&seconds).then_some(Timestamp { seconds, nanoseconds })
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
}

/// Nanoseconds, and what follows them. Digits after the ninth do not count.
fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let Some(digits) = text.strip_prefix(b".") else { return Some((0, text)) };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(length);
    if digits.is_empty() {
        return None;
    }
    let padded = digits.iter().chain(std::iter::repeat(&b'0')).take(9);
    Some((padded.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')), rest))
}

/// Seconds that the local time is ahead of UTC.
fn offset(text: &[u8]) -> Option<i64> {
    match text {
        b"Z" | b"z" => Some(0),
        [sign @ (b'+' | b'-'), hours @ .., b':', _, _] if hours.len() == 2 => {
            let (hours, minutes) = (number(hours)?, number(&text[4..])?);
            let seconds = hours * 3600 + minutes * 60;
            let is_offset = hours <= 23 && minutes <= 59;
            is_offset.then_some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(i64, u32)> {
        text.parse::<Timestamp>().ok().map(|time| time.since_1970())
    }

    #[test]
    fn known_moments_are_read_and_written() {
        for (text, seconds, nanoseconds) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("2000-02-29T23:59:59.5Z", 951_868_799, 500_000_000),
            ("1969-12-31T23:59:59.000000001Z", -1, 1),
            ("2026-04-07T10:11:12.123456789Z", 1_775_556_672, 123_456_789),
            ("0001-01-01T00:00:00Z", UNSET, 0),
            ("9999-12-31T23:59:59.999999999Z", LAST, 999_999_999),
        ] {
            assert_eq!(read(text), Some((seconds, nanoseconds)), "{text}");
            assert_eq!(Timestamp { seconds, nanoseconds }.to_string(), text);
        }
        assert!(!Timestamp::default().is_set() && Timestamp::now().is_set());
    }

    #[test]
    fn offsets_and_odd_spellings_are_understood() {
        assert_eq!(read("1970-01-01T02:00:00+02:00"), Some((0, 0)));
        assert_eq!(read("1969-12-31t18:30:00.25-05:30"), Some((0, 250_000_000)));
        assert_eq!(read("2016-12-31T23:59:60Z"), read("2017-01-01T00:00:00Z"));
        assert_eq!(read("1970-01-01T00:00:00.1234567899Z"), Some((0, 123_456_789)));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "now",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-13-01T00:00:00Z",
            "1970-02-29T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00+0200",
            "+970-01-01T00:00:00Z",
            "1970-01-01T00:00:00+2:000",
            "1970-01-01T00:00:00Zé",
            "0000-12-31T00:00:00Z",
            "0001-01-01T00:00:00+00:01",
            "1970-01-0éT00:00:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_again(seconds in UNSET..=LAST, nanoseconds in 0_u32..1_000_000_000) {
            let time = Timestamp { seconds, nanoseconds };
            proptest::prop_assert_eq!(time.to_string().parse(), Ok(time));
        }

        #[test]
        fn no_text_is_too_odd_to_be_refused(text in "[0-9TZ:.+ -]{0,40}|.{0,30}") {
            drop(text.parse::<Timestamp>());
        }
    }
}
