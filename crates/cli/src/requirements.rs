//! Reads requirements files: `-r requirements.txt`.
//!
//! Such a file is written for pip, and may hold more than requirements. What only names packages is
//! taken: names, versions, markers, hashes, comments, continued lines, and further files. What
//! would decide where packages come from, or run code on this machine, is refused with its place.
//! The rule for a requirement itself is [`Requirement`].

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use belljar::config::{Requirement, RequirementFault};

/// Longer than any such file. A longer one is something else, or has no end.
const LONGEST: u64 = 4 << 20;

/// Options of a file that only repeat what is done anyway.
const NEEDLESS: [&str; 3] = ["--only-binary :all:", "--only-binary=:all:", "--prefer-binary"];

/// Options that are refused, and the reason.
const REFUSED: [(&[&str], &str); 5] = [
    (
        &["-i", "--index-url", "--extra-index-url", "--no-index", "--trusted-host"],
        "a file does not decide where packages come from: set PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_NO_INDEX \
         or PIP_TRUSTED_HOST in the environment",
    ),
    (
        &["-f", "--find-links"],
        "a file does not decide where packages come from: set PIP_FIND_LINKS in the environment",
    ),
    (&["-c", "--constraint"], "constraints are not read from a file: set PIP_CONSTRAINT in the environment"),
    (&["-e", "--editable"], "an editable install runs the project's own code on this machine"),
    (&["--no-binary"], "building from source runs the package's code on this machine"),
];

/// The requirements of all files, in order.
pub(crate) fn read_all(files: &[PathBuf], allow_source_builds: bool) -> Result<Vec<String>> {
    let mut reader = Reader { found: Vec::new(), open: Vec::new(), allow_source_builds };
    for file in files {
        reader.read(file).with_context(|| format!("-r {}", file.display()))?;
    }
    Ok(reader.found)
}

struct Reader {
    found: Vec<String>,
    /// The files that are being read, each included by the one before.
    open: Vec<PathBuf>,
    allow_source_builds: bool,
}

impl Reader {
    fn read(&mut self, path: &Path) -> Result<()> {
        let real = fs::canonicalize(path).context("it cannot be read")?;
        if self.open.contains(&real) {
            bail!("it includes itself");
        }
        let text = read_text(&real).context("it cannot be read")?;
        self.open.push(real);
        for (number, line) in logical_lines(&text) {
            let place = || format!("{}:{number}", path.display());
            self.line(path, &line).with_context(place)?;
        }
        self.open.pop();
        Ok(())
    }

    fn line(&mut self, file: &Path, line: &str) -> Result<()> {
        if let Some(included) = included(line) {
            if included.contains("://") {
                bail!("{line:?} is refused: only files are included, not URLs");
            }
            let path = file.parent().unwrap_or(Path::new("")).join(included);
            return self.read(&path).with_context(|| format!("-r {included}"));
        }
        if line.starts_with('-') {
            if NEEDLESS.contains(&line) && !self.allow_source_builds {
                return Ok(());
            }
            bail!("{line:?} is refused: {}", reason_against(line));
        }
        let refused = |reason: RequirementFault| anyhow::anyhow!("{line:?} is refused: it {reason}");
        match Requirement::parse(line).map_err(refused)? {
            Requirement::Package => {}
            _ if self.allow_source_builds => {}
            _ => return Err(refused(RequirementFault::Source)),
        }
        self.found.push(line.to_owned());
        Ok(())
    }
}

fn reason_against(line: &str) -> &'static str {
    let option = line.split(['=', ' ', '\t']).next().unwrap_or_default();
    let is_it = |name: &&str| match name.starts_with("--") {
        true => *name == option,
        // Its value may follow at once.
        false => option.starts_with(*name) && !option.starts_with("--"),
    };
    let known = REFUSED.iter().find(|(names, _)| names.iter().any(is_it));
    known.map_or("a file can name packages and include other files, but set no options", |(_, reason)| reason)
}

/// The file that a line includes: `-r x`, `-rx`, `--requirement x` or `--requirement=x`.
fn included(line: &str) -> Option<&str> {
    let long = line.strip_prefix("--requirement").and_then(|rest| rest.strip_prefix(['=', ' ', '\t']));
    let name = long.or_else(|| line.strip_prefix("-r"))?.trim();
    let quoted = ['"', '\''].iter().find_map(|mark| name.strip_prefix(*mark)?.strip_suffix(*mark));
    Some(quoted.unwrap_or(name)).filter(|name| !name.is_empty())
}

/// The lines as pip reads them, each with the number of its first line: continued lines are one,
/// and comments are gone.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut begun: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let is_comment = line.trim_start().starts_with('#');
        let (first, mut whole) = begun.take().unwrap_or((number + 1, String::new()));
        match line.strip_suffix('\\').filter(|_| !is_comment) {
            Some(front) => {
                whole.push_str(front);
                begun = Some((first, whole));
            }
            None => {
                // A comment ends a continued line, and is no part of its last word.
                whole.push_str(if is_comment { " " } else { "" });
                whole.push_str(line);
                lines.push((first, whole));
            }
        }
    }
    lines.extend(begun);
    let bare = lines.into_iter().map(|(number, line)| (number, spaced(without_comment(&line))));
    bare.filter(|(_, line)| !line.is_empty()).collect()
}

/// The words of a line, with one space between them.
fn spaced(line: &str) -> String {
    let words = line.split([' ', '\t', '\r']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// A comment begins at the start of a line, or after white space.
fn without_comment(line: &str) -> &str {
    let starts = line.match_indices('#').map(|(at, _)| at);
    let begins = |at: &usize| line[..*at].chars().next_back().is_none_or(char::is_whitespace);
    starts.into_iter().find(begins).map_or(line, |at| &line[..at])
}

fn read_text(path: &Path) -> Result<String> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        bail!("it is a directory");
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        bail!("it is longer than {} MiB, which is no list of packages", LONGEST >> 20);
    }
    let text = String::from_utf8(bytes).context("it is not UTF-8")?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `main.txt` among these files.
    fn read(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let place = directory.path().to_str().unwrap();
        read_all(&[directory.path().join("main.txt")], false)
            .map_err(|error| format!("{error:#}").replace(place, "."))
    }

    const HASH: &str = "4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274";

    #[test]
    fn a_file_as_people_write_it_is_read() {
        let text = "\u{feff}# ours\r\n\r\npandas>=2,<3  # for tables\r\n\
             requests[socks] ; \\\r\n    python_version < '4'\n\
             a#b-is-no-comment # but this is\n";
        let error = read(&[("main.txt", text)]).unwrap_err();
        assert!(
            error.starts_with("-r ./main.txt: ./main.txt:6: \"a#b-is-no-comment\" is refused"),
            "{error}"
        );
        let text = text.replace("a#b-is-no-comment", "b");
        let found = read(&[("main.txt", &text)]).unwrap();
        assert_eq!(found, ["pandas>=2,<3", "requests[socks] ; python_version < '4'", "b"]);
    }

    #[test]
    fn hashes_stay_with_their_requirement() {
        let text =
            format!("six==1.17.0 \\\n    --hash=sha256:{HASH} \\\n    --hash=sha256:{HASH}\n    # via x\n");
        let found = read(&[("main.txt", &text)]).unwrap();
        assert_eq!(found, [format!("six==1.17.0 --hash=sha256:{HASH} --hash=sha256:{HASH}")]);
    }

    #[test]
    fn files_include_others_beside_them() {
        let found = read(&[
            ("main.txt", "-r sub/a.txt\n--requirement=b.txt\n-rb.txt\n--only-binary :all:\nlast\n"),
            ("sub/a.txt", "a\n-r \"c d.txt\"\n"),
            ("sub/c d.txt", "c\n"),
            ("b.txt", "b"),
        ]);
        assert_eq!(found.unwrap(), ["a", "c", "b", "b", "last"]);
    }

    #[test]
    fn the_rest_is_refused_with_its_place_and_the_reason() {
        for (line, reason) in [
            ("--index-url https://x.org", "set PIP_INDEX_URL"),
            ("-ihttps://x.org", "set PIP_INDEX_URL"),
            ("--extra-index-url=https://x.org", "set PIP_INDEX_URL"),
            ("-f /wheels", "set PIP_FIND_LINKS"),
            ("-c constraints.txt", "set PIP_CONSTRAINT"),
            ("-e .", "runs the project's own code"),
            ("--no-binary :all:", "building from source"),
            ("--pre", "set no options"),
            ("./local", "unless allow_source_builds"),
            ("git+https://example.org/x", "unless allow_source_builds"),
            ("six @ https://x.org/six.whl", "unless allow_source_builds"),
            ("six==${VERSION}", "without `$`"),
            ("six --global-option=x", "begins with `-`"),
            ("six==1 --hash=sha256:short", "begins with `-`"),
            ("-r https://x.org/requirements.txt", "not URLs"),
            ("-r missing.txt", "it cannot be read: No such file"),
            ("-r main.txt", "it includes itself"),
            ("-r .", "it is a directory"),
        ] {
            let error = read(&[("main.txt", &format!("# first\nsix\n{line}\n"))]).unwrap_err();
            assert!(error.starts_with("-r ./main.txt: ./main.txt:3: ") && error.contains(reason), "{error}");
        }
        let nested = read(&[("main.txt", "-r a.txt"), ("a.txt", "\n\n-r b.txt"), ("b.txt", "\n-e .")]);
        assert_eq!(
            nested.unwrap_err(),
            "-r ./main.txt: ./main.txt:1: -r a.txt: ./a.txt:3: -r b.txt: ./b.txt:2: \"-e .\" is refused: \
             an editable install runs the project's own code on this machine"
        );
    }
}
