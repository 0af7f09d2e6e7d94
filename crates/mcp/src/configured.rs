//! The file in which other programs list their servers.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use belljar_core::Secret;
use belljar_engine::read_file;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{McpServer, ServerTextError};

/// Bytes of such a file.
const LONGEST_FILE: u64 = 1 << 20;

#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "mcpServers", alias = "servers")]
    servers: BTreeMap<String, Value>,
}

/// Reads such a file.
pub(crate) fn servers_in(path: &Path) -> Result<Vec<McpServer>, ServerTextError> {
    let unreadable = |source| ServerTextError::Unreadable { path: path.to_owned(), source };
    let text = read(path).map_err(unreadable)?;
    let malformed = |error: serde_json::Error| ServerTextError::Malformed {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let listed: Listed = serde_json::from_str(&text).map_err(malformed)?;
    let mut servers = Vec::new();
    for (name, entry) in listed.servers {
        let wrong = |reason| ServerTextError::Entry { path: path.to_owned(), server: name.clone(), reason };
        let Value::Object(entry) = entry else {
            return Err(wrong("must be an object with \"command\" or \"url\"".into()));
        };
        if field(&entry, "disabled").map_err(wrong)? {
            continue;
        }
        let expand = |text: String| {
            expanded(&text).map_err(|variable| ServerTextError::Variable {
                path: path.to_owned(),
                server: name.clone(),
                variable,
            })
        };
        let command: Option<String> = field(&entry, "command").map_err(wrong)?;
        let url: Option<String> = field(&entry, "url").map_err(wrong)?;
        let server = match (command, url) {
            (Some(command), None) => {
                let words: Vec<String> = field(&entry, "args").map_err(wrong)?;
                let arguments = words.into_iter().map(expand).collect::<Result<Vec<_>, _>>()?;
                let mut server = McpServer::command(expand(command)?, arguments);
                if let Some(directory) = field::<Option<String>>(&entry, "cwd").map_err(wrong)? {
                    server = server.directory(expand(directory)?);
                }
                for (variable, value) in field::<BTreeMap<String, String>>(&entry, "env").map_err(wrong)? {
                    server = server.env(variable, Secret::new(expand(value)?));
                }
                server
            }
            (None, Some(url)) => {
                let mut server = McpServer::url(expand(url)?);
                for (header, value) in field::<BTreeMap<String, String>>(&entry, "headers").map_err(wrong)? {
                    server = server.header(header, Secret::new(expand(value)?));
                }
                server
            }
            _ => return Err(wrong("must have one of \"command\" and \"url\"".into())),
        };
        servers.push(server.named(name));
    }
    Ok(servers)
}

/// The text of a file. Only of a file: a pipe or a device may never end, or never begin.
fn read(path: &Path) -> io::Result<String> {
    String::from_utf8(read_file(path, LONGEST_FILE)?).map_err(|_| io::Error::other("it is not UTF-8"))
}

/// A field of a server's, or what is wrong with it. One that is not there is empty.
fn field<T: DeserializeOwned + Default>(entry: &Map<String, Value>, name: &str) -> Result<T, String> {
    match entry.get(name) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => T::deserialize(value).map_err(|error| format!("has a wrong \"{name}\": {error}")),
    }
}

/// The text with variables in their place, or the name of one that is not there.
fn expanded(text: &str) -> Result<String, String> {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        // Some programs write `${env:NAME}`, and some `${NAME:-default}`.
        let (name, default) = match name.strip_prefix("env:").unwrap_or(name).split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name.strip_prefix("env:").unwrap_or(name), None),
        };
        let value = std::env::var(name).ok().or_else(|| default.map(str::to_owned));
        done.push_str(before);
        done.push_str(&value.ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    done.push_str(rest);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Place;

    fn written(text: &str) -> Result<Vec<McpServer>, ServerTextError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        servers_in(file.path())
    }

    #[test]
    fn servers_are_read_as_other_programs_write_them() {
        let servers = written(
            r#"{"mcpServers": {
                "time": {"command": "uvx", "args": ["x", "${PATH}"], "env": {"A": "${NOT_THERE_AT_ALL:-b}"}},
                "docs": {"type": "http", "url": "https://example.com", "headers": {"X-Key": "${env:PATH}"}},
                "off": {"command": "no", "disabled": true}}}"#,
        )
        .unwrap();
        let path = std::env::var("PATH").unwrap();
        let [docs, time] = servers.as_slice() else { panic!("{servers:?}") };
        assert!(matches!(&docs.place, Place::Address { headers, .. } if headers["X-Key"].expose() == path));
        let Place::Process { arguments, environment, .. } = &time.place else { panic!("it is a process") };
        assert_eq!((arguments[1].to_str().unwrap(), environment["A"].expose()), (path.as_str(), "b"));
    }

    #[test]
    fn only_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for path in [&pipe, directory.path(), Path::new("/dev/zero")] {
            let error = servers_in(path).unwrap_err().to_string();
            assert!(error.contains("it is not a regular file"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("[]", "is no list of MCP servers"),
            ("{\"mcpServers\": {\"a\": {}}}", ": server `a` must have one of"),
            ("{\"mcpServers\": {\"a\": 5}}", ": server `a` must be an object"),
            (
                "{\"mcpServers\": {\"a\": {\"command\": 5}}}",
                "`a` has a wrong \"command\": invalid type: integer",
            ),
            ("{\"mcpServers\": {\"a\": {\"url\": \"x\", \"headers\": []}}}", "`a` has a wrong \"headers\""),
            (&" ".repeat(2 << 20), "longer than 1048576 bytes"),
            ("{\"mcpServers\": {\"a\": {\"url\": \"${NOT_THERE_AT_ALL}\"}}}", "NOT_THERE_AT_ALL"),
        ] {
            let error = written(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(matches!(servers_in(Path::new("/not/there")), Err(ServerTextError::Unreadable { .. })));
    }
}
