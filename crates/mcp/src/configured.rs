//! The file in which other programs list their servers.

use std::collections::BTreeMap;
use std::path::Path;

use belljar_core::Secret;
use serde::Deserialize;

use crate::{McpServer, ServerTextError};

#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers", alias = "servers")]
    servers: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// Reads such a file.
pub(crate) fn servers_in(path: &Path) -> Result<Vec<McpServer>, ServerTextError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ServerTextError::Unreadable { path: path.to_owned(), source })?;
    let malformed = |reason: String| ServerTextError::Malformed { path: path.to_owned(), reason };
    let file: File = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    let mut servers = Vec::new();
    for (name, entry) in file.servers.into_iter().filter(|(_, entry)| !entry.disabled) {
        let expand = |text: &str| {
            expanded(text).map_err(|variable| ServerTextError::Variable {
                path: path.to_owned(),
                server: name.clone(),
                variable,
            })
        };
        let server = match (&entry.command, &entry.url) {
            (Some(command), None) => {
                let arguments = entry.args.iter().map(|word| expand(word)).collect::<Result<Vec<_>, _>>()?;
                let mut server = McpServer::command(expand(command)?, arguments);
                if let Some(directory) = &entry.cwd {
                    server = server.directory(expand(directory)?);
                }
                for (variable, value) in &entry.env {
                    server = server.env(variable, Secret::new(expand(value)?));
                }
                server
            }
            (None, Some(url)) => {
                let mut server = McpServer::url(expand(url)?);
                for (header, value) in &entry.headers {
                    server = server.header(header, Secret::new(expand(value)?));
                }
                server
            }
            _ => return Err(malformed(format!("`{name}` must have one of \"command\" and \"url\""))),
        };
        servers.push(server.named(name));
    }
    Ok(servers)
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

    fn read(text: &str) -> Result<Vec<McpServer>, ServerTextError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        servers_in(file.path())
    }

    #[test]
    fn servers_are_read_as_other_programs_write_them() {
        let servers = read(
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
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("[]", "lists no MCP servers"),
            ("{\"mcpServers\": {\"a\": {}}}", "`a` must have one of"),
            ("{\"mcpServers\": {\"a\": {\"url\": \"${NOT_THERE_AT_ALL}\"}}}", "NOT_THERE_AT_ALL"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(matches!(servers_in(Path::new("/not/there")), Err(ServerTextError::Unreadable { .. })));
    }
}
