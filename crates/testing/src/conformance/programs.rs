//! Scripts that run as programs: what they read, the files they are given, and those they leave.

use belljar_runtime::{ExecutionMode, ExecutionRequest, Verdict};

use super::claim::claims;
use super::subject::Subject;
use crate::waiting::in_time;

claims! {
    a_program_has_arguments_stdin_and_an_exit_code,
    input_is_passed_on_as_it_is_read,
    files_go_in_and_come_out,
    files_come_out_of_a_run_that_was_killed,
    a_session_takes_and_gives_files_between_its_steps,
}

fn program(script: &str) -> ExecutionRequest {
    ExecutionRequest::new(script).with_mode(ExecutionMode::Script)
}

async fn a_program_has_arguments_stdin_and_an_exit_code(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let script = "import sys\nprint(sys.argv[1:], input(), os.environ['COLOUR'])\nsys.exit(3)";
    let request = program(script).with_args(["a", "b c"]).with_stdin("line\n").with_env("COLOUR", "red");
    let result = in_time(sandbox.run(request)).await.expect("it runs");
    assert_eq!(result.stdout, "['a', 'b c'] line red\n", "{result:#?}");
    assert_eq!(result.verdict, Verdict::Exited { code: 3 });
}

async fn input_is_passed_on_as_it_is_read(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let bytes = vec![b'x'; 3 << 20];
    let result =
        in_time(sandbox.run(program("import sys\nprint(len(sys.stdin.read()))").with_stdin(bytes.clone())));
    assert_eq!(result.await.expect("it runs").stdout, "3145728\n");
    let unread = in_time(sandbox.run(program("print('done')").with_stdin(bytes))).await.expect("it runs");
    assert_eq!((unread.stdout.as_str(), unread.verdict), ("done\n", Verdict::Ok));
}

async fn files_go_in_and_come_out(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let script = "data = open('in/a.bin', 'rb').read()\nopen('b.bin', 'wb').write(data[::-1])\n\
                  os.symlink('/etc/passwd', 'link')\nos.mkfifo('fifo')";
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
    let request = program(script).with_file("in/a.bin", bytes.clone()).collecting(["*"]);
    let result = in_time(sandbox.run(request)).await.expect("it runs");
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    let names: Vec<&str> = result.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["b.bin"]);
    assert!(result.files[0].bytes().is_some_and(|found| found.iter().rev().eq(&bytes)));
    let warned = result.warnings.join("\n");
    assert!(warned.contains("link (") && warned.contains("fifo ("), "{warned}");
    let next = in_time(sandbox.run(program("print(os.listdir())"))).await.expect("it runs");
    assert_eq!(next.stdout, "[]\n");
}

async fn files_come_out_of_a_run_that_was_killed(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let script = "open('half', 'w').write('half')\nimport signal\n\
                  signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: time.sleep(1)";
    let request = program(script).collecting(["*"]).with_timeout(std::time::Duration::from_millis(700));
    let result = in_time(sandbox.run(request)).await.expect("it runs");
    assert_eq!((result.files.len(), result.verdict), (1, Verdict::TimeoutWall));
}

async fn a_session_takes_and_gives_files_between_its_steps(subject: &Subject) {
    let mut session = subject.session().await;
    in_time(session.files().put("a.txt", "one")).await.expect("it is put there");
    let step = "x = open('a.txt').read()\nopen('b.txt', 'w').write(x + ' two')";
    in_time(session.step(step)).await.expect("it runs");
    let listed = in_time(session.files().list()).await.expect("they are listed");
    assert_eq!(listed.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["a.txt", "b.txt"]);
    let read = in_time(session.files().read("b.txt", 100)).await.expect("it is read");
    assert_eq!(read, "one two");
    assert!(in_time(session.files().read("gone", 100)).await.is_err());
    assert_eq!(in_time(session.step("x")).await.expect("it goes on").stdout, "'one'\n");
}
