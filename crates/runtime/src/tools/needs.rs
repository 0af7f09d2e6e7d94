//! What guest tools need besides their text: packages and secrets, as their files say.

use belljar_core::ScriptMetadata;
use belljar_core::config::SandboxConfig;
use belljar_engine::ToolSource;

use crate::RuntimeError;

/// Who needs which secrets: the config, and tool files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needs {
    files: Vec<(String, Vec<String>)>,
}

impl Needs {
    /// Adds to a config what its tool files need. Refuses a file whose block cannot be read, or
    /// that runs on no such Python.
    pub(crate) fn add(config: &mut SandboxConfig, tools: &[ToolSource]) -> Result<Self, RuntimeError> {
        let mut needs = Self::default();
        let mut reasons = Vec::new();
        for tool in tools {
            let added = tool.needs().and_then(|found| match found {
                Some(metadata) => Ok(Some((metadata.add_to(config)?, metadata))),
                None => Ok(None),
            });
            match added {
                Ok(None) => {}
                Ok(Some((with_packages, ScriptMetadata { secrets, .. }))) => {
                    *config = with_packages;
                    for name in &secrets {
                        if !config.secrets.contains(name) {
                            config.secrets.push(name.clone());
                        }
                    }
                    needs.files.push((tool.file_name.clone(), secrets));
                }
                Err(error) => reasons.push(format!("tool file {}: {error}", tool.file_name)),
            }
        }
        if let Err(error) = config.validate()
            && !needs.files.is_empty()
        {
            let files: Vec<_> = needs.files.iter().map(|(file, _)| file.as_str()).collect();
            reasons.push(format!("with what tool files need ({}), {error}", files.join(", ")));
        }
        if reasons.is_empty() { Ok(needs) } else { Err(RuntimeError::Tools { reasons }) }
    }

    /// The tool files that need a secret.
    pub(crate) fn of(&self, secret: &str) -> Vec<String> {
        let needs = |(_, secrets): &&(String, Vec<String>)| secrets.iter().any(|name| name == secret);
        self.files.iter().filter(needs).map(|(file, _)| format!("tool file {file}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, block: &str) -> ToolSource {
        let source = format!("# /// script\n{block}# ///\n");
        ToolSource { file_name: name.into(), source }
    }

    #[test]
    fn a_config_gets_what_its_tool_files_need() {
        let mut config = SandboxConfig { secrets: vec!["A".into()], ..SandboxConfig::default() };
        let tools = [
            file("a.py", "# dependencies = ['numpy']\n# [tool.belljar]\n# secrets = ['A', 'B']\n"),
            file("b.py", "# [tool.belljar]\n# secrets = ['B']\n"),
            ToolSource { file_name: "c.py".into(), source: "x = 1\n".into() },
        ];
        let needs = Needs::add(&mut config, &tools).unwrap();
        assert_eq!(
            (config.secrets, config.dependencies),
            (vec!["A".into(), "B".into()], vec!["numpy".into()])
        );
        assert_eq!(needs.of("B"), ["tool file a.py", "tool file b.py"]);
        assert_eq!(needs.of("A"), ["tool file a.py"]);
    }

    #[test]
    fn what_a_file_may_not_need_is_refused_by_its_name() {
        let refusal = |tools: &[ToolSource]| {
            let env = [("TAKEN".to_owned(), "x".to_owned())].into();
            let mut config = SandboxConfig { env, ..SandboxConfig::default() };
            Needs::add(&mut config, tools).unwrap_err().to_string()
        };
        let text = refusal(&[file("a.py", "# dependencies = ['-r x']\n"), file("b.py", "# x\n")]);
        assert!(text.contains("tool file a.py: line 2: dependency \"-r x\" is refused"), "{text}");
        assert!(text.contains("tool file b.py: line 2: the block"), "{text}");
        let text = refusal(&[file("a.py", "# [tool.belljar]\n# secrets = ['TAKEN']\n")]);
        assert!(text.starts_with("with what tool files need (a.py), secrets[0] = \"TAKEN\""), "{text}");
    }
}
