//! Plans for blocks of code, carried out with the toolchains that this machine has.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use belljar_workspace::{CodeBlock, PutFile, WorkspaceError, plan_block};

/// Whether a program is on the path of this test.
fn is_found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &Path| path.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&path).any(|directory| is_program(&directory.join(program)))
}

fn run(argv: &[String], directory: &Path) -> Output {
    let (program, arguments) = argv.split_first().expect("a program");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    command.output().unwrap_or_else(|error| panic!("{argv:?}: {error}"))
}

fn write(files: &[PutFile], directory: &Path) {
    for file in files {
        let path = directory.join(&file.path);
        std::fs::create_dir_all(path.parent().expect("it is in the directory")).expect("a directory");
        std::fs::write(&path, &file.content).expect("a file");
        let mode = std::fs::Permissions::from_mode(file.effective_mode());
        std::fs::set_permissions(&path, mode).expect("a mode");
    }
}

/// Runs code that prints `hello`, or says why it cannot.
#[track_caller]
fn says_hello(language: &str, code: &str) {
    let block = CodeBlock { code: code.to_owned(), language: language.to_owned() };
    let plan = match plan_block(7, &block, is_found) {
        Ok(plan) => plan,
        Err(error @ WorkspaceError::Toolchain { .. }) => {
            println!("not tried here: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let directory = tempfile::tempdir().expect("a directory");
    write(&plan.files, directory.path());
    if let Some(compile) = &plan.compile {
        let output = run(compile, directory.path());
        assert!(output.status.success(), "{compile:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let output = run(&plan.run, directory.path());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if stderr.contains("bad option: --experimental-strip-types") {
        println!("not tried here: this Node.js is too old for TypeScript");
        return;
    }
    assert_eq!(stdout.trim_end(), "hello", "{:?}: {stderr}", plan.run);
}

#[test]
fn scripts_run() {
    says_hello("py", "print('hello')\n");
    says_hello("bash", "echo hello");
    says_hello("js", "console.log('hello')");
    says_hello("ruby", "puts 'hello'");
    says_hello("perl", "print \"hello\\n\";");
    says_hello("php", "echo 'hello';");
    says_hello("lua", "print('hello')");
    says_hello("r", "cat('hello\\n')");
}

#[test]
fn typescript_runs() {
    says_hello("ts", "const text: string = 'hello';\nconsole.log(text);\n");
}

#[test]
fn compiled_languages_run() {
    says_hello("c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n");
    says_hello("c++", "#include <iostream>\nint main() { std::cout << \"hello\\n\"; }\n");
    says_hello("go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hello\") }\n");
    says_hello("rust", "fn main() { println!(\"hello\"); }\n");
}

#[test]
fn java_runs_whatever_its_class_is_called() {
    let body = "{ public static void main(String[] a) { System.out.println(\"hello\"); } }";
    says_hello("java", &format!("package deep.down;\npublic class Greeter {body}\n"));
    says_hello("java", &format!("class Helper {{}}\nclass Program {body}\n"));
}
