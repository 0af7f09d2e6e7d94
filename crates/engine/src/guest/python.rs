//! Python as a guest: CPython 3.9 and later.

use belljar_core::layout;

use super::descriptor::{Guest, GuestFile, Provision, Spawn};

/// One module of the package. A macro, because names of files must be known when it is compiled.
macro_rules! part {
    ($name:literal) => {
        GuestFile {
            path: concat!("belljar_harness/", $name, ".py"),
            text: include_str!(concat!("python/", $name, ".py")),
        }
    };
}

/// Python.
pub static PYTHON: Guest = Guest {
    name: "python",
    provision: Provision {
        program: "python3",
        version: "3.11",
        image: |version| format!("python:{version}-slim"),
        layer: layout::LAYER,
        install: |layer, requirements, allow_source_builds| {
            let wheels = if allow_source_builds { "" } else { " --only-binary :all:" };
            format!(
                "python3 -m pip install{wheels} --no-input --no-compile --target {layer} -r {requirements}"
            )
        },
    },
    files: FILES,
    entry: layout::HARNESS,
    // Isolated, without `site`, writing no bytecode.
    arguments: &["-I", "-S", "-B"],
    spawn: Spawn::Fork,
    variables: &[("PYTHONPATH", layout::LAYER), ("PYTHONDONTWRITEBYTECODE", "1")],
};

/// The harness: one file to start, and the package beside it.
static FILES: &[GuestFile] = &[
    GuestFile { path: layout::HARNESS, text: include_str!("harness.py") },
    part!("__init__"),
    part!("alarm"),
    part!("attachments"),
    part!("calls"),
    part!("cell"),
    part!("channel"),
    part!("commands"),
    part!("conversions"),
    part!("displays"),
    part!("docstrings"),
    part!("execution"),
    part!("figures"),
    part!("forks"),
    part!("hints"),
    part!("hosted"),
    part!("inquiry"),
    part!("interrupts"),
    part!("keys"),
    part!("late_tools"),
    part!("library"),
    part!("loading"),
    part!("namespace"),
    part!("output"),
    part!("parts"),
    part!("preload"),
    part!("program"),
    part!("rich"),
    part!("scripts"),
    part!("signatures"),
    part!("spawned"),
    part!("strays"),
    part!("tables"),
    part!("template"),
    part!("terminals"),
    part!("tool_files"),
    part!("tool_loop"),
    part!("tools"),
    part!("traces"),
    part!("trial"),
    part!("values"),
    part!("watch"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that is not carried would be missing in the guest and nowhere else.
    #[test]
    fn every_module_of_the_package_is_carried() {
        let home = concat!(env!("CARGO_MANIFEST_DIR"), "/src/guest/python");
        let mut there: Vec<String> = std::fs::read_dir(home)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".py"))
            .map(|name| format!("{}/{name}", layout::HARNESS_PACKAGE))
            .collect();
        there.sort();
        let mut carried: Vec<&str> = FILES.iter().map(|file| file.path).collect();
        carried.retain(|path| *path != layout::HARNESS);
        carried.sort();
        assert_eq!(carried, there);
    }

    #[test]
    fn modules_are_short_and_say_what_they_are() {
        for file in FILES {
            assert!(file.text.starts_with("\"\"\""), "{} begins with a docstring", file.path);
            assert!(file.text.lines().count() < 250, "{} is too long", file.path);
        }
    }
}
