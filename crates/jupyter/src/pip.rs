//! Installations that do not fill a result with what they did.

/// Inserts `-qqq` into lines that install packages: those that begin with `!pip install` or
/// `! pip install` in Python, and with `pip install` in shells. A line that has it already, and code
/// in any other language, stays as it is.
///
/// ```
/// use belljar_jupyter::silence_pip;
///
/// assert_eq!(silence_pip("python", "!pip install numpy\nimport numpy"), "!pip install -qqq numpy\nimport numpy");
/// ```
pub fn silence_pip(language: &str, code: &str) -> String {
    let prefixes: &[&str] = match language.trim().to_ascii_lowercase().as_str() {
        "python" | "python3" | "py" | "ipython" => &["!pip install", "! pip install"],
        "bash" | "sh" | "shell" | "zsh" | "pwsh" | "powershell" | "ps1" => &["pip install"],
        _ => return code.to_owned(),
    };
    code.split_inclusive('\n').map(|line| silenced(line, prefixes)).collect()
}

fn silenced(line: &str, prefixes: &[&str]) -> String {
    let rests = prefixes.iter().filter_map(|prefix| Some((prefix, line.strip_prefix(prefix)?)));
    // `pip installed` is another word.
    let found = rests.into_iter().find(|(_, rest)| rest.is_empty() || rest.starts_with(char::is_whitespace));
    match found {
        Some((prefix, rest)) if !rest.split_whitespace().any(|word| word == "-qqq") => {
            format!("{prefix} -qqq{rest}")
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installations_become_quiet_and_nothing_else_changes() {
        for (language, code, expected) in [
            ("python", "!pip install numpy", "!pip install -qqq numpy"),
            ("python", "! pip install numpy", "! pip install -qqq numpy"),
            ("Python", "!pip install numpy\r\nprint(1)\r\n", "!pip install -qqq numpy\r\nprint(1)\r\n"),
            ("python", "a\n!pip install x\n!pip install y", "a\n!pip install -qqq x\n!pip install -qqq y"),
            ("python", "!pip install -qqq numpy", "!pip install -qqq numpy"),
            ("python", "pip install numpy", "pip install numpy"),
            ("python", "x = 1 # !pip install numpy", "x = 1 # !pip install numpy"),
            ("python", "print('hello')\n", "print('hello')\n"),
            ("bash", "pip install numpy", "pip install -qqq numpy"),
            ("sh", "pip install numpy -qqq", "pip install numpy -qqq"),
            ("shell", "pip install a\nls\npip install b\n", "pip install -qqq a\nls\npip install -qqq b\n"),
            ("bash", "!pip install numpy", "!pip install numpy"),
            ("java", "pip install numpy", "pip install numpy"),
            ("python", "!pip installed", "!pip installed"),
            ("bash", "pip install", "pip install -qqq"),
            ("bash", "", ""),
        ] {
            assert_eq!(silence_pip(language, code), expected, "{language}: {code}");
        }
    }
}
