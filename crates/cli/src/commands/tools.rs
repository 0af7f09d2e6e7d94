//! `belljar tools`: what a model should know of the functions in Python files.
//!
//! The files are read in a sandbox, and nothing of them runs. What they say about themselves is
//! text from others: on a terminal nothing of it takes effect.

use std::io::{self, IsTerminal};

use anyhow::Context;
use belljar::tools::{DescribeError, Place, Tool, ToolSet};
use belljar::{SandboxConfig, ToolRegistry};
use serde::Serialize;

use crate::args::{SchemaForm, ToolFiles, ToolsCommand};
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::pretty::pretty;
use crate::printer::{Output, Printer};
use crate::settings::runtime_on;
use crate::terminal_text::{quoted, script_text};

pub(super) async fn tools(command: ToolsCommand) -> Result<End, CliError> {
    let files = match &command {
        ToolsCommand::List { files, .. }
        | ToolsCommand::Schema { files, .. }
        | ToolsCommand::Prompt { files }
        | ToolsCommand::Stubs { files } => files,
    };
    let mut interrupts = Interrupts::listen()?;
    let set = tokio::select! {
        set = describe(files) => set?,
        interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
    };
    let printer = Printer::new(Output::Human);
    match command {
        ToolsCommand::List { json: true, .. } => printer.json(&Listed::of(&set))?,
        ToolsCommand::List { .. } if set.is_empty() => {
            printer.note("there are no functions whose names do not begin with an underscore")?;
        }
        ToolsCommand::List { .. } => printer.text(&table(&set))?,
        ToolsCommand::Schema { form, .. } => schemas(&printer, &set, form)?,
        ToolsCommand::Prompt { .. } => theirs(&printer, &set.prompt())?,
        ToolsCommand::Stubs { .. } => theirs(&printer, &set.stubs())?,
    }
    Ok(End::Done)
}

async fn describe(files: &ToolFiles) -> Result<ToolSet, CliError> {
    let mut registry = ToolRegistry::new();
    for path in &files.paths {
        registry = registry.guest(path).map_err(anyhow::Error::from)?;
    }
    let python_version = files.python.as_ref().map(|version| version.parse()).transpose();
    let python_version = python_version.context("--python")?;
    let config = SandboxConfig { python_version, ..SandboxConfig::default() };
    let runtime = runtime_on(files.engine.name).await?;
    let described = runtime.describe(&registry.for_config(config)).await;
    runtime.shutdown().await;
    described.map_err(|error| match error {
        DescribeError::Runtime(error) => CliError::Runtime(error),
        // The author of a file wrote a part of it.
        other => CliError::Input(anyhow::anyhow!("{}", quoted(&other.to_string()))),
    })
}

/// Text that has a file's words in it.
fn theirs(printer: &Printer, text: &str) -> io::Result<()> {
    if io::stdout().is_terminal() { printer.text(&script_text(text)) } else { printer.text(text) }
}

fn schemas(printer: &Printer, set: &ToolSet, form: SchemaForm) -> Result<(), CliError> {
    let forms = match form {
        SchemaForm::Openai => set.openai_forms(),
        SchemaForm::Anthropic => set.anthropic_forms(),
        SchemaForm::Mcp => set.mcp_forms(),
    };
    if !io::stdout().is_terminal() {
        return Ok(printer.json(&forms)?);
    }
    let json = serde_json::to_string(&forms).context("schemas are JSON")?;
    Ok(theirs(printer, &format!("{}\n", pretty(&json)))?)
}

/// A row for each tool: its name, its file, its arguments, the first line of what it does. What it
/// needs is on lines below.
fn table(set: &ToolSet) -> String {
    let mut rows = vec![["TOOL", "FILE", "ARGUMENTS", "WHAT IT DOES"].map(str::to_owned)];
    for tool in set.iter() {
        let what = tool.description.lines().next().unwrap_or_default();
        let row = [&tool.name, file(tool), &arguments(tool), what];
        rows.push(row.map(|cell| quoted(cell).into_owned()));
    }
    let widths: [usize; 4] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    for (title, of) in [("secrets", secrets as fn(&Tool) -> &[String]), ("packages", packages)] {
        let mut needs: Vec<String> = Vec::new();
        for need in
            set.iter().flat_map(|tool| of(tool).iter().map(move |name| format!("{name} ({})", file(tool))))
        {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        if !needs.is_empty() {
            text += &format!("{title}: {}\n", quoted(&needs.join(", ")));
        }
    }
    text
}

fn secrets(tool: &Tool) -> &[String] {
    &tool.secrets
}

fn packages(tool: &Tool) -> &[String] {
    &tool.dependencies
}

fn file(tool: &Tool) -> &str {
    match &tool.place {
        Place::Guest { file_name, .. } => file_name,
        other => other.name(),
    }
}

/// `city, limit=…`: those that can be left out have something behind them.
fn arguments(tool: &Tool) -> String {
    let one = |parameter: &belljar::tools::Parameter| match parameter.is_required() {
        true => parameter.name.clone(),
        false => format!("{}=…", parameter.name),
    };
    tool.parameters.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[derive(Serialize)]
struct Listed<'a> {
    tools: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    file: &'a str,
    description: &'a str,
    parameters: &'a [belljar::tools::Parameter],
    secrets: &'a [String],
    dependencies: &'a [String],
}

impl<'a> Listed<'a> {
    fn of(set: &'a ToolSet) -> Self {
        let row = |tool: &'a Tool| Row {
            name: &tool.name,
            file: file(tool),
            description: &tool.description,
            parameters: &tool.parameters,
            secrets: &tool.secrets,
            dependencies: &tool.dependencies,
        };
        Self { tools: set.iter().map(row).collect() }
    }
}

#[cfg(test)]
mod tests {
    use belljar::tools::{Kind, Parameter};

    use super::*;

    #[test]
    fn a_table_looks_like_this() {
        let mut set = ToolSet::new();
        let city = || Parameter::new("city", Kind::Str);
        let weather = |name: &str, what: &str| {
            Tool::new(name, what)
                .in_guest("weather.py", "x")
                .with_secret("WEATHER_KEY")
                .with_dependency("httpx")
        };
        set.add(
            weather("temperature", "Degrees, now.\nAnd more.")
                .with_parameter(city())
                .with_parameter(Parameter::new("unit", Kind::Str).with_default("C")),
        )
        .unwrap();
        set.add(weather("rain", "\u{1b}[31mred\u{7}").with_parameter(city())).unwrap();
        set.add(Tool::new("add", "").in_guest("sums.py", "y")).unwrap();
        insta::assert_snapshot!(table(&set));
    }
}
