//! What a server is called when nobody named it.

/// Programs that only start others, and words that mean nothing without the next one.
const STARTERS: &[&str] = &["npx", "bunx", "uvx", "pipx", "uv", "run", "exec", "tool", "node", "env", "sh"];
/// What many servers have in their names besides what they are.
const AROUND: &[&str] = &["mcp", "server", "main", "index", "dist", "build"];

/// Whether a text can be the name of a server: letters, digits, `-` and `_`.
pub(crate) fn is_name(text: &str) -> bool {
    let text = text.trim_end();
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// The first word that tells something: `time` for `uvx mcp-server-time --local-timezone UTC`.
pub(crate) fn of_command<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    for word in words {
        let word = word.as_ref();
        let last = word.rsplit('/').next().unwrap_or(word);
        let is_starter = STARTERS.contains(&last) || last.starts_with("python");
        if word.starts_with('-') || is_starter {
            continue;
        }
        // `package@1.2`, `server.py`
        let stem = last.split('@').next().unwrap_or(last);
        let name = told(stem.strip_suffix(".py").or(stem.strip_suffix(".js")).unwrap_or(stem));
        if !name.is_empty() {
            return name;
        }
    }
    "mcp".to_owned()
}

/// `example` for `https://mcp.example.com/`.
pub(crate) fn of_url(url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?', ':']).next().unwrap_or(host);
    let told = host.split('.').find(|label| !matches!(*label, "www" | "api" | "mcp")).unwrap_or(host);
    if told.chars().all(|c| c.is_ascii_digit()) || told.is_empty() {
        "mcp".to_owned()
    } else {
        told.to_owned()
    }
}

fn told(stem: &str) -> String {
    let words: Vec<_> =
        stem.split(['-', '_', '.']).filter(|word| !word.is_empty() && !AROUND.contains(word)).collect();
    words.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_called_what_it_serves() {
        for (command, name) in [
            ("npx -y @modelcontextprotocol/server-everything", "everything"),
            ("npx -y some-server", "some"),
            ("uvx mcp-server-time --local-timezone UTC", "time"),
            ("python3 -m mcp_server_git", "git"),
            ("/usr/bin/node /opt/weather/dist/index.js", "mcp"),
            ("./weather.py", "weather"),
            ("github-mcp-server@1.2 stdio", "github"),
            ("", "mcp"),
        ] {
            assert_eq!(of_command(command.split(' ')), name, "{command}");
        }
    }

    #[test]
    fn an_address_is_called_by_its_host() {
        for (url, name) in [
            ("https://mcp.example.com/v1", "example"),
            ("https://example.com:8443", "example"),
            ("http://127.0.0.1:8000/mcp", "mcp"),
            ("http://localhost:8000/mcp", "localhost"),
        ] {
            assert_eq!(of_url(url), name, "{url}");
        }
    }
}
