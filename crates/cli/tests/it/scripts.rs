//! `belljar run` runs scripts as `python` does: arguments, stdin, files, exit codes.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::belljar::{belljar, command, finish};

#[test]
fn arguments_and_the_exit_code_are_the_scripts_own() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("tool.py");
    let script = "\u{feff}# -*- coding: utf-8 -*-\r\nimport sys\r\nprint(__file__, sys.argv[1:], 'ü')\r\nsys.exit(7)\r\n";
    fs::write(&path, script).unwrap();
    let outcome = belljar(&["run", path.to_str().unwrap(), "--", "-x", "--json", "a b"], "");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(7), ""), "{outcome:#?}");
    assert_eq!(outcome.stdout, "/workspace/tool.py ['-x', '--json', 'a b'] ü\n");
    let outcome = belljar(&["run", "-c", "import sys; print(sys.argv)", "--", "x"], "");
    assert_eq!(outcome.stdout, "['-c', 'x']\n", "{outcome:#?}");
    let script = "import sys; print(sys.argv, '__file__' in globals(), os.listdir())";
    for arguments in [&["run", "-", "--", "x"][..], &["run", "--", "x"]] {
        let outcome = belljar(arguments, script);
        assert_eq!(outcome.stdout, "['-', 'x'] False []\n", "{outcome:#?}");
    }
    let latin = place.path().join("latin.py");
    fs::write(&latin, b"# coding: latin-1\nprint('\xfc')\n").unwrap();
    assert_eq!(belljar(&["run", latin.to_str().unwrap()], "").stdout, "ü\n");
    for (encoding, expected) in [("cp1252", "ü\n"), ("koi8-r", "Э\n")] {
        fs::write(&latin, [b"# coding: ", encoding.as_bytes(), b"\nprint('\xfc')\n"].concat()).unwrap();
        assert_eq!(belljar(&["run", latin.to_str().unwrap()], "").stdout, expected, "{encoding}");
    }
    for (script, expected) in [
        (&b"# coding: klingon\nprint('\xfc')\n"[..], "encoded as klingon, which is not known here"),
        (b"# coding: gbk\nprint('\xff')\n", "encoded as gbk, and is not"),
        (b"\xef\xbb\xbf# coding: latin-1\nprint(1)\n", "begins with the mark of UTF-8 and says"),
    ] {
        fs::write(&latin, script).unwrap();
        let outcome = belljar(&["run", latin.to_str().unwrap()], "");
        assert_eq!(outcome.code, Some(2));
        assert!(outcome.stderr.contains(expected), "{outcome:#?}");
    }
}

#[test]
fn an_empty_program_succeeds() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("empty.py");
    fs::write(&path, "").unwrap();
    for words in [vec![path.to_str().unwrap()], vec!["-c", ""], vec!["-"]] {
        let outcome = belljar(&[&["run"], words.as_slice()].concat(), "");
        assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "", ""));
    }
}

#[test]
fn two_files_of_one_name_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    for name in ["a", "b", "main.py"] {
        fs::write(at(name), "print(1)").unwrap();
    }
    let (a, b) = (format!("{}:x", at("a")), format!("{}:x", at("b")));
    let outcome = belljar(&["run", "-c", "1", "--file", &a, "--file", &b], "");
    assert!(outcome.stderr.contains("two files are to be at \"x\""), "{outcome:#?}");
    let other = format!("{}:main.py", at("a"));
    let outcome = belljar(&["run", &at("main.py"), "--file", &other], "");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("\"main.py\" is the script's own name"), "{outcome:#?}");
    // The script itself may be among them.
    assert_eq!(belljar(&["run", &at("main.py"), "--file", &at("main.py")], "").stdout, "1\n");
}

#[test]
fn patterns_that_match_nothing_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    for pattern in ["", "../x", "/x", "a/./b", "[a"] {
        let outcome = belljar(&["run", "-c", "1", "--out", out.to_str().unwrap(), "--collect", pattern], "");
        assert_eq!(outcome.code, Some(2), "{pattern}: {outcome:#?}");
        assert!(outcome.stderr.contains("is no pattern for files"), "{outcome:#?}");
    }
}

#[test]
fn stdin_goes_to_the_script_unless_it_is_the_script() {
    let script = "import sys; print(repr(sys.stdin.read()))";
    assert_eq!(belljar(&["run", "-c", script], "some\ninput").stdout, "'some\\ninput'\n");
    assert_eq!(belljar(&["run", "--no-stdin", "-c", script], "some").stdout, "''\n");
    assert_eq!(belljar(&["run", "-"], script).stdout, "''\n");
    let mut nothing = command(&["run", "-c", script]);
    nothing.stdin(Stdio::null());
    let output = nothing.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "''\n");
    assert_eq!(belljar(&["run", "-m", "json.tool", "--", "--compact"], "{ \"a\": 1 }").stdout, "{\"a\":1}\n");
    let outcome = belljar(&["run", "-m", "no such"], "");
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    let outcome = belljar(&["run", "-m", "nosuchmodule"], "");
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
}

/// A script that answers before its input has ended gets the rest later.
#[test]
fn stdin_is_passed_on_as_it_comes() {
    use std::io::{BufRead, BufReader};
    let mut child = command(&["run", "-c", "while True: print('got', input(), flush=True)"]).spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(stdout).lines();
    for word in ["one", "two"] {
        writeln!(stdin, "{word}").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), format!("got {word}"));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(1), "EOFError");
}

#[test]
fn files_go_in_and_come_out() {
    let place = tempfile::tempdir().unwrap();
    let here = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir_all(here("lib/pkg")).unwrap();
    fs::write(here("lib/pkg/__init__.py"), "X = 1").unwrap();
    fs::write(here("lib/side.py"), "Y = 2").unwrap();
    fs::write(here("a:b.txt"), "colon").unwrap();
    let script = "import side, pkg\nprint(side.Y, pkg.X, open('a:b.txt').read(), open('in/c').read())\n\
                  open('new.txt', 'w').write('n')\nos.makedirs('p'); open('p/x.png', 'w').write('x')";
    let (lib, colon, renamed) =
        (format!("{}:.", here("lib")), here("a:b.txt"), format!("{}:in/c", here("a:b.txt")));
    let base = ["run", "-c", script, "--file", &lib, "--file", &colon, "--file", &renamed];
    let out = here("out");
    let outcome = belljar(&[&base[..], &["--out", &out]].concat(), "");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "2 1 colon colon\n"), "{outcome:#?}");
    assert_eq!(outcome.stderr.matches("saved ").count(), 2, "{outcome:#?}");
    assert_eq!(fs::read_to_string(here("out/p/x.png")).unwrap(), "x");
    let out = here("some");
    let outcome = belljar(&[&base[..], &["--out", &out, "--collect", "*.png", "--json"]].concat(), "");
    let result = outcome.json();
    assert_eq!(result["files"][0]["path"], format!("{out}/p/x.png"), "{result:#}");
    assert_eq!(result["files"].as_array().unwrap().len(), 1);
    assert!(!fs::exists(here("some/new.txt")).unwrap());
    for (options, said) in [
        (&["--collect", "*"][..], "--out"),
        (&["--file", "/no/such"], "/no/such"),
        (&["--file", &format!("{}:../x", here("a:b.txt"))], ".."),
        (&["--out", &here("a:b.txt")], "a:b.txt"),
        (&["--out", "x", "--collect", "["], "no pattern"),
    ] {
        let outcome = belljar(&[&["run", "-c", "1"], options].concat(), "");
        assert_eq!(outcome.code, Some(2), "{options:?}: {outcome:#?}");
        assert!(outcome.stderr.contains(said), "{options:?}: {outcome:#?}");
    }
}

#[test]
fn sizes_and_times_have_units() {
    let script = "import resource; print(os.statvfs('.').f_blocks * os.statvfs('.').f_frsize >> 20)";
    let outcome =
        belljar(&["run", "--disk", "0.125g", "--timeout", "1m", "--memory", "256MiB", "-c", script], "");
    assert_eq!(outcome.stdout, "128\n", "{outcome:#?}");
    let outcome = belljar(&["run", "--timeout", "300ms", "-c", "while True: pass"], "");
    assert_eq!(outcome.code, Some(124), "{outcome:#?}");
    let outcome = belljar(&["run", "--timeout", "soon", "-c", "1"], "");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("2m30s"), "{outcome:#?}");
    let help = finish(command(&["run", "--help"]), "").stdout;
    // Lines are broken where the terminal ends.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let config = ::belljar::SandboxConfig::default();
    let limits = &config.resource_limits;
    for default in [
        format!("[default: {}s]", limits.execution_timeout_sec),
        format!("[default: {}m]", limits.memory_mb),
        format!("[default: {}m]", config.scratch_size_mb),
        format!("[default: {}]", limits.pids_limit),
        format!("[default: {}]", limits.cpu_quota),
    ] {
        assert!(help.contains(&default), "{default}: {help}");
    }
}

/// A script must not be able to take its result away from whoever asked for it.
#[test]
fn displays_are_saved_beside_the_scripts_own_files() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let shows = "class P:\n    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'\n";
    let own = format!("{shows}open('display-1.png', 'w').write('mine')\ndisplay(P())");
    let outcome = belljar(&["run", "--json", "--out", out.to_str().unwrap(), "-c", &own], "");
    assert_eq!(outcome.json()["files"][0]["size"], 4, "{outcome:#?}");
    assert_eq!(fs::read(out.join("display-1.png")).unwrap(), b"mine");
    assert_eq!(fs::read(out.join("2-display-1.png")).unwrap(), b"\x89PNG\r\n\x1a\n");
    fs::create_dir_all(out.join("display-2.png/x")).unwrap();
    let two = format!("{shows}display(P())\ndisplay(P())\nimport sys\nsys.exit(7)");
    let outcome = belljar(&["run", "--json", "--out", out.to_str().unwrap(), "-c", &two], "");
    assert_eq!((outcome.code, &outcome.json()["verdict"]), (Some(7), &"exited".into()), "{outcome:#?}");
    assert!(outcome.stderr.contains("display-2.png is not saved"), "{outcome:#?}");
}

#[test]
fn nothing_is_replaced_in_the_directory_one_works_in() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("Makefile"), "mine").unwrap();
    let script =
        "open('Makefile', 'w').write('theirs')\nopen('new', 'w').close()\nopen('.envrc', 'w').close()";
    let mut here = command(&["run", "--out", ".", "-c", script]);
    here.current_dir(place.path());
    let outcome = finish(here, "");
    assert_eq!(fs::read_to_string(place.path().join("Makefile")).unwrap(), "mine");
    assert!(place.path().join("new").exists() && !place.path().join(".envrc").exists());
    assert!(outcome.stderr.contains("Makefile (there is one where it should go)"), "{outcome:#?}");
    // The same goes for what a script shows.
    fs::write(place.path().join("display-1.html"), "mine").unwrap();
    let script = "class Page:\n    def _repr_html_(self): return 'theirs'\nPage()";
    let mut here = command(&["run", "--out", ".", "-c", script]);
    here.current_dir(place.path());
    let outcome = finish(here, "");
    assert_eq!(fs::read_to_string(place.path().join("display-1.html")).unwrap(), "mine");
    assert!(outcome.stderr.contains("display-1.html is not saved: there is one"), "{outcome:#?}");
}

/// A script may have left them in a directory that it may write to.
#[test]
fn links_that_a_script_could_have_left_are_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir_all(at("place/deep")).unwrap();
    fs::create_dir(at("secret")).unwrap();
    fs::write(at("secret/key"), "the key").unwrap();
    std::os::unix::fs::symlink(at("secret"), at("place/cache")).unwrap();
    std::os::unix::fs::symlink(at("secret/key"), at("place/deep/data.csv")).unwrap();
    let look = "import os\nfor path, _, names in os.walk('/'):\n    if 'key' in names or 'data.csv' in names: print('found', path)";
    for options in [
        ["--mount", &format!("{}:/c:rw", at("place/cache"))],
        ["--mount", &format!("{}:/c", at("place/cache/key"))],
        ["--mount", &format!("{}:/c", at("place/deep/data.csv"))],
        ["--file", &format!("{}:.", at("place"))],
        ["--file", &format!("{}:.", at("place/deep"))],
        ["--file", &at("place/deep")],
        ["--file", &at("place/cache")],
        ["--file", &at("place/cache/key")],
        ["--file", &at("place/deep/data.csv")],
        ["--out", &at("place/cache")],
        ["--out", &at("place/cache/more")],
    ] {
        let outcome = belljar(&["run", "-c", look, options[0], options[1]], "");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{options:?}: {outcome:#?}");
        assert!(outcome.stderr.contains("symbolic link"), "{options:?}: {outcome:#?}");
    }
    assert_eq!(fs::read_dir(at("secret")).unwrap().count(), 1);
    // From the directory one is in, dots and all.
    let mut run = command(&["run", "-c", "print(open('/c/key').read())", "--mount", "./../secret:/c:rw"]);
    run.current_dir(at("place"));
    let outcome = finish(run, "");
    assert_eq!(outcome.stdout, "the key\n", "{outcome:#?}");
}
