//! Languages, with whatever toolchains the engine has.

use belljar_workspace::CodeExecutionResult;

use super::{World, blocks, execute, world};

async fn says_hello(world: &World, language: &str, code: &str) {
    let executor = world.executor();
    let CodeExecutionResult { output, blocks, .. } =
        execute(&executor, blocks(&[(language, code)], "")).await;
    let block = &blocks[0];
    if let Some(error) = &block.error
        && error.starts_with(&format!("cannot run {language}: it needs "))
    {
        assert!(error.contains("; install the "), "{error}");
        assert_eq!((block.exit_code, block.is_success()), (-1, false));
        assert_eq!(output, format!("Error executing code block 0: {error}\n"));
        println!("{language}: skipped ({error})");
        return;
    }
    if block.stderr.contains("bad option: --experimental-strip-types") {
        println!("{language}: skipped (this Node.js is too old)");
        return;
    }
    // A cell does not see the settings of a Java, and without control groups it has not the address
    // space that a Java reserves.
    let unready = ["Error loading java.security file", "Could not allocate compressed class space"];
    if unready.iter().any(|why| block.stderr.contains(why)) {
        println!("{language}: skipped (this Java does not start in a cell)");
        return;
    }
    assert!(block.is_success(), "{language}: {block:?}");
    assert_eq!(output.trim_end(), "hello", "{language}: {block:?}");
}

#[tokio::test]
async fn scripts_run_where_their_interpreter_is() {
    let Some(world) = world().await else { return };
    for (language, code) in [
        ("python", "print('hello')\n"),
        ("bash", "echo hello"),
        ("javascript", "console.log('hello')"),
        ("typescript", "const text: string = 'hello';\nconsole.log(text);\n"),
        ("ruby", "puts 'hello'"),
        ("perl", "print \"hello\\n\";"),
        ("php", "echo 'hello';"),
        ("lua", "print('hello')"),
        ("r", "cat('hello\\n')"),
    ] {
        says_hello(&world, language, code).await;
    }
}

#[tokio::test]
async fn programs_are_compiled_and_run_where_their_compiler_is() {
    let Some(world) = world().await else { return };
    let java = "class Greeter { public static void main(String[] a) { System.out.println(\"hello\"); } }";
    // Without headers: not every engine that has a compiler has those.
    for (language, code) in [
        ("c", "int puts(const char *);\nint main(void) { puts(\"hello\"); }\n"),
        ("c++", "extern \"C\" int puts(const char *);\nint main() { puts(\"hello\"); }\n"),
        ("go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hello\") }\n"),
        ("rust", "fn main() { println!(\"hello\"); }\n"),
        ("java", java),
    ] {
        says_hello(&world, language, code).await;
    }
}

#[tokio::test]
async fn what_a_compiler_says_is_kept_apart_from_what_the_program_says() {
    let Some(world) = world().await else { return };
    let executor = world.executor();
    let input = [
        ("c", "int main(void) { return nothing; }\n"),
        ("c", "#warning careful\nint puts(const char *);\nint main(void) { puts(\"out\"); return 3; }\n"),
        ("bash", "echo next"),
    ];
    let result = execute(&executor, blocks(&input, "")).await;
    let [broken, warned, next] = &result.blocks[..] else { panic!("{result:?}") };
    if broken.error.as_ref().is_some_and(|error| error.starts_with("cannot run c")) {
        println!("c: skipped (no compiler)");
        return;
    }
    assert!(broken.stderr.starts_with("compile: ") && broken.stderr.contains("nothing"), "{broken:?}");
    assert_eq!(broken.error.as_deref(), Some("compiling failed: exit code 1"));
    assert_eq!((broken.exit_code, broken.stdout.as_str()), (1, ""));
    assert_eq!((warned.stdout.as_str(), warned.stderr.as_str(), warned.exit_code), ("out\n", "", 3));
    let compiler = warned.compile.as_ref().unwrap();
    assert!(compiler.stderr_text().contains("careful") && compiler.exit_code == 0, "{compiler:?}");
    assert_eq!((next.stdout.as_str(), &next.compile), ("next\n", &None));
    assert!(result.output.ends_with("out\nError executing code block 1: exit code 3\nnext\n"), "{result:?}");
    assert!(!result.output.contains("careful"), "{result:?}");
}
