//! Names of languages, theirs and ours, and what compiles and runs a source.
//!
//! What is known of a language is in the table of code blocks (`Language`). A few that graders name
//! are no languages but tools, such as `pytest`; those are here. One that nothing here can run is
//! still a name that is known: a program in it fails as it would where its tool is not installed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use belljar::config::GuestPath;
use belljar::workspace::{CodeBlock, Language, WorkspaceError, plan_block};

use super::Graders;
use super::job::Job;
use super::program::failed;
use crate::problem::Problem;
use crate::runs::invalid;

/// A language that a job is in.
#[derive(Debug, Clone)]
pub(super) struct Tongue {
    /// Our name for it.
    pub(super) name: &'static str,
    kind: Kind,
    /// Arguments for the compiler that come with the name, such as `-std=c++17` with `c++17`.
    pub(super) flags: Vec<String>,
    /// Arguments for what runs the program, before all others.
    options: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// One of the table.
    Table(&'static Language),
    /// One of ours.
    Own(&'static Own),
    /// A name that nothing here can run.
    Missing,
}

/// A tool that graders call a language.
#[derive(Debug)]
struct Own {
    name: &'static str,
    file: &'static str,
    compile: &'static [&'static str],
    run: &'static [&'static str],
}

const OWN: [Own; 8] = [
    Own { name: "pytest", file: "test_main.py", compile: &[], run: &["python3", "-m", "pytest", "{file}"] },
    Own { name: "go_test", file: "main_test.go", compile: &[], run: &["go", "test", "{file}"] },
    Own { name: "julia", file: "main.jl", compile: &[], run: &["julia", "{file}"] },
    Own { name: "racket", file: "main.rkt", compile: &[], run: &["racket", "{file}"] },
    Own { name: "kotlin_script", file: "main.kts", compile: &[], run: &["kotlin", "{file}"] },
    Own {
        name: "D_ut",
        file: "main.d",
        compile: &["dmd", "{file}", "-unittest", "-of=code_0"],
        run: &["./code_0"],
    },
    Own {
        name: "swift",
        file: "main.swift",
        compile: &["swiftc", "{file}", "-o", "code_0"],
        run: &["./code_0"],
    },
    Own {
        name: "verilog",
        file: "main.sv",
        compile: &[
            "iverilog",
            "-Wall",
            "-Winfloop",
            "-Wno-timescale",
            "-g2012",
            "-s",
            "tb",
            "-o",
            "code_0.vvp",
            "{file}",
        ],
        run: &["vvp", "-n", "code_0.vvp"],
    },
];

/// The names of SandboxFusion that are not our own, and ours.
const FUSION: [(&str, &str); 3] = [("cpp", "c++"), ("nodejs", "javascript"), ("R", "r")];
/// Those that are the same.
const FUSION_SAME: [&str; 10] =
    ["python", "go", "java", "php", "rust", "bash", "typescript", "lua", "perl", "ruby"];
/// Those that nothing here can run.
const FUSION_MISSING: [&str; 8] = ["csharp", "scala", "jest", "junit", "lean", "cuda", "python_gpu", "sql"];

impl Tongue {
    /// The language of that name in SandboxFusion's table.
    pub(super) fn of_fusion(name: &str) -> Option<Self> {
        if let Some(missing) = FUSION_MISSING.into_iter().find(|known| *known == name) {
            return Some(Self { name: missing, kind: Kind::Missing, flags: Vec::new(), options: &[] });
        }
        if let Some(own) = OWN.iter().find(|own| own.name == name) {
            return Some(Self { name: own.name, kind: Kind::Own(own), flags: Vec::new(), options: &[] });
        }
        let renamed = FUSION.into_iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| ours);
        let ours = renamed.or_else(|| FUSION_SAME.into_iter().find(|known| *known == name))?;
        let mut tongue = Self::named(ours)?;
        match ours {
            "c++" => tongue.flags = vec!["-std=c++17".to_owned()],
            // Its assertions are on there.
            "java" => tongue.options = &["-ea"],
            _ => {}
        }
        Some(tongue)
    }

    /// All names of SandboxFusion's table.
    pub(super) fn fusion_names() -> impl Iterator<Item = &'static str> {
        let renamed = FUSION.into_iter().map(|(theirs, _)| theirs);
        FUSION_SAME.into_iter().chain(renamed).chain(OWN.iter().map(|own| own.name)).chain(FUSION_MISSING)
    }

    /// The language of that name in our own table. The name may tell the standard: `c++17`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (plain, standard) = match name.to_ascii_lowercase() {
            name if name.strip_prefix("c++").or(name.strip_prefix("cpp")).is_some_and(is_year) => {
                ("c++", format!("-std=c++{}", &name[3..]))
            }
            name if name.strip_prefix('c').is_some_and(is_year) => ("c", format!("-std={name}")),
            _ => (name, String::new()),
        };
        let language = Language::named(plain)?;
        let flags = if standard.is_empty() { Vec::new() } else { vec![standard] };
        Some(Self { name: language.name(), kind: Kind::Table(language), flags, options: &[] })
    }

    pub(super) fn is_python(&self) -> bool {
        matches!(self.kind, Kind::Table(language) if language.name() == "python")
    }
}

/// The two digits of a standard's year.
fn is_year(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What to write, and what to run, in the program's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) source: String,
    pub(super) content: Vec<u8>,
    pub(super) compile: Option<Vec<String>>,
    pub(super) run: Vec<String>,
}

/// Why there is no plan.
pub(super) enum NoPlan {
    /// What runs it is not installed. The program fails; the text says what is missing.
    Missing { why: String, is_compiled: bool },
    /// The request cannot be used, or the server failed.
    Problem(Problem),
}

impl Graders {
    /// What to do for a job, with the tools that cells have.
    pub(super) async fn plan(&self, job: &Job) -> Result<Plan, NoPlan> {
        let mut plan = match job.tongue.kind {
            Kind::Missing => {
                let why = format!("this server runs no {}", job.tongue.name);
                return Err(NoPlan::Missing { why, is_compiled: false });
            }
            Kind::Own(own) => of_tool(own, job),
            Kind::Table(language) => {
                let found = self.toolchains.found(self, language).await.map_err(NoPlan::Problem)?;
                of_table(language, job, |program| found.get(program).copied().unwrap_or_default())?
            }
        };
        match &mut plan.compile {
            None if !job.flags.is_empty() => {
                let detail =
                    format!("{} is not compiled, so there is nobody to give flags to", job.tongue.name);
                return Err(NoPlan::Problem(invalid(detail).at("compile.flags")));
            }
            None => {}
            Some(compile) => {
                if job.compiles_all {
                    compile.extend(others(job, &plan.source));
                }
                // `go build` takes what comes after a file for a file.
                let at = if job.tongue.name == "go" { 2 } else { compile.len() };
                compile.splice(at..at, job.tongue.flags.iter().chain(&job.flags).cloned());
            }
        }
        let options = job.tongue.options.iter().map(|&option| option.to_owned());
        plan.run.splice(1..1, options);
        Ok(plan)
    }
}

fn of_tool(own: &Own, job: &Job) -> Plan {
    let source = job.name.as_ref().map_or(own.file, GuestPath::as_str).to_owned();
    let filled = |argv: &[&str]| argv.iter().map(|part| part.replace("{file}", &source)).collect::<Vec<_>>();
    Plan {
        compile: (!own.compile.is_empty()).then(|| filled(own.compile)),
        run: filled(own.run),
        content: job.source.clone().into_bytes(),
        source,
    }
}

fn of_table(language: &'static Language, job: &Job, is_found: impl Fn(&str) -> bool) -> Result<Plan, NoPlan> {
    let block = CodeBlock { code: job.source.clone(), language: language.name().to_owned() };
    let planned = plan_block(0, &block, is_found).map_err(|error| match error.original() {
        WorkspaceError::Toolchain { .. } => {
            let is_compiled = matches!(language.name(), "c" | "c++" | "go" | "java" | "rust");
            NoPlan::Missing { why: error.to_string(), is_compiled }
        }
        _ => NoPlan::Problem(failed(error)),
    })?;
    let usual = format!("code_0.{}", language.extension());
    let own = own_name(job, language.extension());
    let renamed = |word: String| if word == usual { own.clone() } else { word };
    let all = |words: Vec<String>| words.into_iter().map(&renamed).collect();
    let file = planned.files.into_iter().next();
    let (path, content) = file.map(|file| (file.path, file.content)).unwrap_or_default();
    Ok(Plan { source: renamed(path), content, compile: planned.compile.map(&all), run: all(planned.run) })
}

/// What the source is called: as its sender says, with an extension that the compiler knows; or
/// else like no file that comes with it.
pub(super) fn own_name(job: &Job, extension: &str) -> String {
    if let Some(name) = &job.name {
        let is_known =
            extensions(job.tongue.name, extension).any(|known| has_extension(name.as_str(), known));
        let name = name.as_str();
        // An argument that begins with a dash would be an option.
        let safe = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
        return if is_known { safe } else { format!("{safe}.{extension}") };
    }
    let is_taken = |name: &str| job.files.iter().any(|file| file.place.seen() == Some(name));
    let names = std::iter::once(format!("main.{extension}"))
        .chain((0..).map(|number| format!("main_{number}.{extension}")));
    names.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
}

/// Other files that are compiled with the source.
fn others(job: &Job, source: &str) -> Vec<String> {
    let known: Vec<&str> = match job.tongue.name {
        name @ ("c" | "c++" | "go" | "java") => extensions(name, name).collect(),
        _ => Vec::new(),
    };
    let names = job.files.iter().filter_map(|file| file.place.seen());
    let names = names.filter(|name| *name != source && known.iter().any(|known| has_extension(name, known)));
    names.map(|name| format!("./{name}")).collect()
}

/// The extensions of sources.
fn extensions<'a>(name: &str, own: &'a str) -> impl Iterator<Item = &'a str> {
    let known: &'static [&'static str] = if name == "c++" { &["cpp", "cc", "cxx", "C"] } else { &[] };
    known.iter().copied().chain(std::iter::once(own))
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit('/').next().and_then(|name| name.rsplit_once('.')).is_some_and(|(_, own)| own == extension)
}

/// Programs that were looked for in a cell, and whether they are there.
#[derive(Debug, Default)]
pub(super) struct Toolchains(Mutex<BTreeMap<String, bool>>);

impl Toolchains {
    /// Which programs of a language there are. They are looked for once.
    async fn found(&self, graders: &Graders, language: &Language) -> Result<BTreeMap<String, bool>, Problem> {
        /// Prints those of its arguments that can be run by their name.
        const LOOK: &str = r#"for name; do command -v "$name" >/dev/null 2>&1 && echo "$name"; done; :"#;
        let known = |all: &BTreeMap<String, bool>| {
            let found = language.programs().map(|program| Some((program.to_owned(), *all.get(program)?)));
            found.collect::<Option<BTreeMap<_, _>>>()
        };
        if let Some(found) = known(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(found);
        }
        let args = ["-c", LOOK, "sh"].into_iter().chain(language.programs());
        let looked = graders.ask("sh", args).await?;
        let found: Vec<&str> = looked.lines().collect();
        let found: BTreeMap<_, _> =
            language.programs().map(|program| (program.to_owned(), found.contains(&program))).collect();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(found.clone());
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::job::{Given, Limits, Place};
    use super::*;

    fn job(tongue: Tongue, name: Option<&str>, files: &[&str]) -> Job {
        let given = |name: &&str| Given {
            place: Place::read(name).unwrap(),
            content: bytes::Bytes::new(),
            is_executable: false,
        };
        Job {
            tongue,
            source: "x".to_owned(),
            name: name.map(|name| GuestPath::new(name).unwrap()),
            files: files.iter().map(given).collect(),
            compiles_all: true,
            flags: Vec::new(),
            compile_limits: Limits::of(Duration::from_secs(1)),
        }
    }

    #[test]
    fn every_name_of_sandbox_fusion_is_known_once_and_no_other() {
        let mut names: Vec<_> = Tongue::fusion_names().collect();
        assert!(names.iter().all(|name| Tongue::of_fusion(name).is_some()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 29);
        for unknown in ["js", "ts", "c++", "Python", "r", ""] {
            assert!(Tongue::of_fusion(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn a_name_may_tell_the_standard() {
        for (name, language, flag) in [
            ("c++17", "c++", Some("-std=c++17")),
            ("CPP20", "c++", Some("-std=c++20")),
            ("c11", "c", Some("-std=c11")),
            ("c++", "c++", None),
            ("py", "python", None),
        ] {
            let tongue = Tongue::named(name).unwrap();
            assert_eq!((tongue.name, tongue.flags.first().map(String::as_str)), (language, flag), "{name}");
        }
        assert!(Tongue::named("c++1").is_none() && Tongue::named("c99x").is_none());
    }

    #[test]
    fn a_source_is_called_as_it_was_sent_and_like_no_other_file() {
        let cpp = || Tongue::named("c++").unwrap();
        assert_eq!(own_name(&job(cpp(), Some("a/graph.cc"), &[]), "cpp"), "a/graph.cc");
        assert_eq!(own_name(&job(cpp(), Some("file0.code"), &[]), "cpp"), "file0.code.cpp");
        assert_eq!(own_name(&job(cpp(), Some("-o"), &[]), "cpp"), "./-o.cpp");
        assert_eq!(own_name(&job(cpp(), None, &["main.cpp", "main_0.cpp"]), "cpp"), "main_1.cpp");
        let many = job(cpp(), Some("main.cpp"), &["main.cpp", "b.cpp", "b.h", "-x.cc", "input.txt"]);
        assert_eq!(others(&many, "main.cpp"), ["./b.cpp", "./-x.cc"]);
    }

    #[test]
    fn flags_come_where_the_compiler_reads_them() {
        let Ok(plan) =
            of_table(Language::named("go").unwrap(), &job(Tongue::named("go").unwrap(), None, &[]), |_| true)
        else {
            panic!("there is a plan")
        };
        assert_eq!(plan.compile.unwrap(), ["go", "build", "-o", "code_0", "main.go"]);
        assert_eq!((plan.source.as_str(), &plan.run[..]), ("main.go", &["./code_0".to_owned()][..]));
    }
}
