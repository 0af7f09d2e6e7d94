//! Which versions of languages there are, for those who ask for one.

use std::collections::BTreeMap;

use belljar::workspace::Language;
use tokio::sync::OnceCell;

use super::Graders;
use crate::problem::Problem;

/// The versions of programs, by their names. They are asked once.
#[derive(Default)]
pub(super) struct Versions(OnceCell<BTreeMap<String, Version>>);

/// A version of three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) [u64; 3]);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self([major, minor, patch]) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// A language that cells have.
pub(super) struct Runtime {
    pub(super) language: &'static Language,
    pub(super) version: Version,
    /// The program that compiles or interprets it.
    pub(super) program: String,
}

/// Asks each of its arguments for its version, in the way that it understands.
const ASK: &str = r#"
for name; do
    command -v "$name" >/dev/null 2>&1 || continue
    case $name in
        go) said=$(go version 2>&1 </dev/null);;
        lua*) said=$("$name" -v 2>&1 </dev/null);;
        java|javac) said=$("$name" -version 2>&1 </dev/null);;
        gcc|g++|clang|clang++|cc) said=$("$name" -dumpfullversion -dumpversion 2>&1 </dev/null);;
        sh) said=0.0.0;;
        *) said=$("$name" --version 2>&1 </dev/null);;
    esac
    printf '%s %s\n' "$name" "$(printf %s "$said" | head -c 400 | tr '\n' ' ')"
done
:"#;

impl Graders {
    /// All languages that cells have.
    pub(super) async fn runtimes(&self) -> Result<Vec<Runtime>, Problem> {
        let found = self.versions.0.get_or_try_init(async || {
            let mut programs: Vec<&str> = Language::all().iter().flat_map(Language::programs).collect();
            programs.sort_unstable();
            programs.dedup();
            let said = self.ask("sh", ["-c", ASK, "sh"].into_iter().chain(programs)).await?;
            Ok::<_, Problem>(said.lines().filter_map(read).collect())
        });
        let found = found.await?;
        let runtime = |language: &'static Language| {
            let program = language.programs().find(|program| found.contains_key(*program))?;
            let version = *found.get(program)?;
            // Before that it cannot run the language by itself.
            let is_old =
                language.name() == "typescript" && program == "node" && version < Version([22, 6, 0]);
            if is_old {
                return None;
            }
            Some(Runtime { language, version, program: program.to_owned() })
        };
        Ok(Language::all().iter().filter_map(runtime).collect())
    }
}

/// The name and the first number with a dot in a line.
fn read(line: &str) -> Option<(String, Version)> {
    let (name, said) = line.split_once(' ')?;
    let is_number = |text: &&str| text.starts_with(|first: char| first.is_ascii_digit());
    let mut numbers = said.split(|next: char| !(next.is_ascii_digit() || next == '.')).filter(is_number);
    let number = numbers.clone().find(|text| text.contains('.')).or_else(|| numbers.next())?;
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or_default());
    let mut next = || parts.next().unwrap_or_default();
    Some((name.to_owned(), Version([next(), next(), next()])))
}

impl Version {
    /// Whether it is one of a range: `3.12.0`, `3.x`, `3`, `*`, `^3.1`, `~3.1`, `>=3 <4`, `2 || 3`.
    /// `None` if that is no range.
    pub(super) fn is_in(self, range: &str) -> Option<bool> {
        let mut is_in = false;
        for part in range.split("||") {
            let mut all = true;
            for condition in part.split_whitespace() {
                all &= self.meets(condition)?;
            }
            is_in |= all;
        }
        Some(is_in)
    }

    fn meets(self, condition: &str) -> Option<bool> {
        let split = condition.find(|next: char| !matches!(next, '<' | '>' | '=' | '^' | '~'));
        let (sign, number) = condition.split_at(split?);
        let (first, given) = numbers(number)?;
        // The first version that is too high, if the rest after so many numbers is free.
        let beyond = |fixed: usize| {
            let mut next = [0; 3];
            next[..fixed].copy_from_slice(&first[..fixed]);
            match fixed {
                0 => [u64::MAX; 3],
                _ => {
                    next[fixed - 1] += 1;
                    next
                }
            }
        };
        let fixed = match sign {
            "^" => (first.iter().position(|number| *number > 0).unwrap_or(2) + 1).min(given.max(1)),
            "~" => given.min(2),
            _ => given,
        };
        Some(match sign {
            "" | "=" | "^" | "~" => self.0 >= first && self.0 < beyond(fixed),
            ">=" => self.0 >= first,
            ">" => self.0 >= beyond(given),
            "<=" => self.0 < beyond(given),
            "<" => self.0 < first,
            _ => return None,
        })
    }
}

/// The numbers of a version, and how many of them were given.
fn numbers(text: &str) -> Option<([u64; 3], usize)> {
    let mut numbers = [0; 3];
    let text = text.trim_start_matches('v');
    for (at, part) in text.split('.').enumerate() {
        if matches!(part, "*" | "x" | "X") {
            return Some((numbers, at));
        }
        *numbers.get_mut(at)? = part.parse().ok()?;
    }
    Some((numbers, text.split('.').count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_whatever_a_tool_says() {
        for (line, expected) in [
            ("python3 Python 3.11.7", [3, 11, 7]),
            ("gcc 12.2.0", [12, 2, 0]),
            ("node v18.19.0", [18, 19, 0]),
            ("perl  This is perl 5, version 36, subversion 0 (v5.36.0) built for", [5, 36, 0]),
            ("java openjdk version \"17.0.9\" 2023-10-17", [17, 0, 9]),
            ("rustc rustc 1.95.0 (abc 2026-01-01)", [1, 95, 0]),
            ("bash GNU bash, version 5.2.15(1)-release", [5, 2, 15]),
            ("gcc 9", [9, 0, 0]),
        ] {
            assert_eq!(read(line).unwrap().1, Version(expected), "{line}");
        }
        assert!(read("tsx nothing").is_none());
    }

    #[test]
    fn a_range_means_what_it_means_to_npm() {
        let version = Version([3, 12, 4]);
        for range in
            ["*", "", "3", "3.x", "3.12", "3.12.x", "3.12.4", "^3.1.0", "~3.12.1", ">=3 <4", "1 || 3"]
        {
            assert_eq!(version.is_in(range), Some(true), "{range}");
        }
        for range in ["2", "3.12.0", "3.11.x", "^2", "~3.11.0", ">3", "<3.12.4", "1 || 2"] {
            assert_eq!(version.is_in(range), Some(false), "{range}");
        }
        assert_eq!(Version([0, 2, 5]).is_in("^0.2.3"), Some(true));
        assert_eq!(Version([0, 3, 0]).is_in("^0.2.3"), Some(false));
        for bad in ["latest", "3.a", "1.2.3.4", "!3"] {
            assert_eq!(version.is_in(bad), None, "{bad}");
        }
    }
}
