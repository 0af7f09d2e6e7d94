//! Files into a cell and out of it, and whatever a script may do about them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use belljar_runtime::{
    CollectLimits, Collected, ExecutionMode, ExecutionRequest, ExecutionResult, Fault, FileResource,
    FilesError, RuntimeError, Sandbox, SandboxConfig, Verdict,
};
use belljar_testing::{HANG, config, data, engine, needs_isolation, runtime, sandbox_with};

fn program(script: &str) -> ExecutionRequest {
    ExecutionRequest::new(script).with_mode(ExecutionMode::Script)
}

async fn run(sandbox: &Sandbox, request: ExecutionRequest) -> ExecutionResult {
    tokio::time::timeout(HANG, sandbox.run(request)).await.expect("the run hangs").unwrap()
}

fn names(result: &ExecutionResult) -> Vec<&str> {
    result.files.iter().map(|file| file.name.as_str()).collect()
}

fn warned(result: &ExecutionResult) -> String {
    result.warnings.join("\n")
}

#[tokio::test]
async fn files_are_there_before_the_script_and_belong_to_it() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let here = tempfile::tempdir().unwrap();
    fs::create_dir_all(here.path().join("pkg/deep/empty")).unwrap();
    fs::write(here.path().join("pkg/__init__.py"), "VALUE = 42").unwrap();
    fs::write(here.path().join("pkg/deep/run.sh"), "#!/bin/sh\necho ran").unwrap();
    fs::set_permissions(here.path().join("pkg/deep/run.sh"), fs::Permissions::from_mode(0o700)).unwrap();
    let script = "import pkg, subprocess, stat\n\
         for path in ('a.txt', 'in/b.bin', 'pkg/__init__.py'):\n    \
             s = os.stat(path); print(path, s.st_size, s.st_uid == os.getuid(), oct(s.st_mode & 0o700))\n\
         open('a.txt', 'a').write('!'); os.rename('in/b.bin', 'c.bin'); os.rmdir('in')\n\
         print(pkg.VALUE, os.listdir('pkg/deep/empty'), flush=True)\n\
         subprocess.run(['pkg/deep/run.sh'])";
    let request = program(script)
        .with_file("a.txt", "text")
        .with_file("in/b.bin", vec![0xff_u8; 300_000])
        .with_file("./pkg", here.path().join("pkg"));
    let result = run(&sandbox, request).await;
    let expected =
        "a.txt 4 True 0o600\nin/b.bin 300000 True 0o600\npkg/__init__.py 10 True 0o600\n42 []\nran\n";
    assert_eq!(result.stdout, expected, "{result:#?}");
    assert_eq!(fs::read_to_string(here.path().join("pkg/__init__.py")).unwrap(), "VALUE = 42");
    // The next run has none of it.
    assert_eq!(run(&sandbox, program("print(os.listdir())")).await.stdout, "[]\n");
}

#[tokio::test]
async fn what_cannot_be_put_in_is_refused_with_the_reason() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let here = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc/passwd", here.path().join("link")).unwrap();
    let refused = |request: ExecutionRequest| async { sandbox.run(request).await.unwrap_err() };
    for (path, reason) in [("/etc/x", "absolute"), ("../x", ".."), ("", "names no file"), ("a\0b", "NUL")] {
        let error = refused(program("1").with_file(path, "x")).await;
        assert!(error.to_string().contains(reason) && error.fault() == Fault::Caller, "{error}");
    }
    let error = refused(program("1").with_file("x", here.path().join("gone"))).await;
    assert!(error.to_string().contains("gone: No such file"), "{error}");
    let error = refused(program("1").with_file("x", Path::new("/dev/null"))).await;
    assert!(error.to_string().contains("neither a file nor a directory"), "{error}");
    let error = refused(program("1").with_file("x", here.path())).await;
    assert!(error.to_string().contains("link: it is a symbolic link"), "{error}");
    if engine() != "local" {
        let error = refused(program("1").with_file("big", vec![1; 70 << 20])).await;
        let no_room = matches!(&error, RuntimeError::Files(FilesError::NoRoom { path }) if path == "big");
        assert!(no_room && error.to_string().contains("scratch_size_mb"), "{error}");
    }
    // A script could have put it there.
    let error = refused(program("1").with_file("x", here.path().join("link"))).await;
    assert!(error.to_string().contains("a symbolic link to /etc/passwd that is not followed"), "{error}");
    let into = here.path().join("out");
    std::os::unix::fs::symlink("/etc", &into).unwrap();
    let error = refused(program("1").collecting(["*"]).collecting_into(&into)).await;
    assert!(error.to_string().contains("a symbolic link to /etc that is not followed"), "{error}");
    assert_eq!(error.fault(), Fault::Caller);
}

#[tokio::test]
async fn what_is_new_or_changed_comes_out() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "os.makedirs('plots/deep')\nopen('plots/deep/a.png', 'wb').write(bytes(range(256)))\n\
                  open('b.csv', 'w').write('1,2')\nopen('given.txt', 'w').write('same')\nopen('changed.txt', 'a').write('!')\n\
                  os.chmod('b.csv', 0o755)";
    let request = |patterns: &[&str]| {
        let request = program(script).with_name("tool.py").collecting(patterns.iter().copied());
        request.with_file("given.txt", "same").with_file("untouched.txt", "x").with_file("changed.txt", "x")
    };
    let result = run(&sandbox, request(&["*"])).await;
    assert_eq!(names(&result), ["b.csv", "changed.txt", "plots/deep/a.png"], "{result:#?}");
    let picture = &result.files[2];
    assert_eq!(picture.bytes().unwrap(), &(0..=255).collect::<Vec<u8>>());
    assert_eq!((picture.size, picture.media_type.as_str()), (256, "image/png"));
    assert_eq!(picture.sha256, "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880");
    assert_eq!((result.files[0].is_executable, result.files[1].is_executable), (true, false));
    assert_eq!(names(&run(&sandbox, request(&["*.png"])).await), ["plots/deep/a.png"]);
    assert_eq!(names(&run(&sandbox, request(&["plots/*"])).await), [""; 0]);
    assert_eq!(names(&run(&sandbox, request(&["plots/**", "b.*"])).await), ["b.csv", "plots/deep/a.png"]);
    assert_eq!(names(&run(&sandbox, program(script)).await), [""; 0]);
    let error = sandbox.run(program("1").collecting(["a[", "b"])).await.unwrap_err();
    assert!(error.to_string().contains("\"a[\" is no pattern"), "{error}");
}

#[tokio::test]
async fn files_come_out_however_the_script_ends() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let begin = "open('half.txt', 'w').write('half')\n";
    for (end, verdict) in [
        ("1 / 0", Verdict::Exception),
        ("os._exit(3)", Verdict::Exited { code: 3 }),
        ("os.kill(os.getpid(), 9)", Verdict::Signaled { signal: 9 }),
        ("while True: time.sleep(1)", Verdict::TimeoutWall),
        (
            "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: time.sleep(1)",
            Verdict::TimeoutWall,
        ),
        ("if os.fork() == 0:\n    while True: open('half.txt', 'w').write('half')", Verdict::Ok),
    ] {
        let request = program(&format!("{begin}{end}"));
        let request = request.collecting(["*"]).with_timeout(std::time::Duration::from_millis(700));
        let result = run(&sandbox, request).await;
        assert_eq!((names(&result), &result.verdict), (vec!["half.txt"], &verdict), "{end}: {result:#?}");
    }
    assert_eq!(data(&sandbox.run("emit_result(os.listdir())").await.unwrap()), "[]");
}

#[tokio::test]
async fn collected_files_are_written_where_the_caller_wants_them_and_are_the_callers() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let here = tempfile::tempdir().unwrap();
    let out = here.path().join("new/out");
    let script = "os.makedirs('d')\nopen('d/f.txt', 'w').write('f' * 600_000)\nopen('g', 'w').close()";
    let result = run(&sandbox, program(script).collecting(["*"]).collecting_into(&out)).await;
    assert_eq!(names(&result), ["d/f.txt", "g"], "{result:#?}");
    assert_eq!(result.files[0].content, Collected::Path(out.join("d/f.txt")));
    assert_eq!(fs::read(out.join("d/f.txt")).unwrap(), vec![b'f'; 600_000]);
    let ours = rustix::process::geteuid().as_raw();
    assert_eq!(fs::metadata(out.join("d/f.txt")).unwrap().uid(), ours);
    // What is there gives way, but nothing is written through a link.
    let precious = here.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    fs::remove_file(out.join("g")).unwrap();
    fs::remove_dir_all(out.join("d")).unwrap();
    std::os::unix::fs::symlink(&precious, out.join("g")).unwrap();
    std::os::unix::fs::symlink(here.path(), out.join("d")).unwrap();
    let script = "os.makedirs('d')\nopen('d/precious', 'w').write('gone')\nopen('g', 'w').write('gone')";
    let result = run(&sandbox, program(script).collecting(["*"]).collecting_into(&out)).await;
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(fs::read_to_string(out.join("g")).unwrap(), "gone");
    assert_eq!(names(&result), ["g"], "{result:#?}");
    assert!(warned(&result).contains("d/precious ("), "{result:#?}");
    // A place that cannot be is said before anything runs.
    let error = sandbox.run(program("1").collecting(["*"]).collecting_into(&precious)).await.unwrap_err();
    assert!(error.to_string().contains("precious: "), "{error}");
}

#[tokio::test]
async fn whatever_a_script_makes_of_its_files_nothing_else_is_read() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import socket\n\
         os.symlink('/etc/passwd', 'link')\nos.symlink('.', 'loop')\nos.symlink('/etc', 'dir')\nos.mkfifo('fifo')\n\
         open('real', 'w').write('real')\nos.link('real', 'hard')\n\
         s = socket.socket(socket.AF_UNIX); s.bind('socket')\n\
         open(b'\\xff\\xfe', 'w').write('x')\n\
         try: open('sparse', 'w').truncate(1 << 30)\n\
         except OSError: print('no sparse file')\n\
         os.mkdir('closed'); open('closed/in', 'w').close(); os.chmod('closed', 0)\n\
         open('unreadable', 'w').write('u'); os.chmod('unreadable', 0)\n\
         open('line\\nbreak \\x1b[2J', 'w').write('n')\n";
    let result = run(&sandbox, program(script).collecting(["*"])).await;
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    let collected = names(&result);
    for name in ["hard", "real", "line\nbreak \u{1b}[2J"] {
        assert!(collected.contains(&name), "{name}: {collected:?}");
    }
    assert!(
        !collected.iter().any(|name| ["link", "loop", "dir", "fifo", "socket"].contains(name)),
        "{collected:?}"
    );
    let warned = warned(&result);
    for left_out in [
        "link (it is a symbolic link)",
        "loop (",
        "dir (",
        "fifo (it is not a regular file)",
        "socket (",
        "\u{fffd}\u{fffd} (its name is not UTF-8)",
    ] {
        assert!(warned.contains(left_out), "{left_out}: {warned}");
    }
    // Without control groups no file may be larger than the memory.
    let has_sparse = result.stdout.is_empty();
    assert_eq!(warned.contains("sparse (it is too large"), has_sparse, "{warned}");
    // Whoever may open everything, such as root with the local engine, finds what is closed to
    // others.
    if !(engine() == "local" && rustix::process::geteuid().is_root()) {
        assert!(warned.contains("closed (it cannot be looked into)"), "{warned}");
        assert!(warned.contains("unreadable ("), "{warned}");
    }
}

#[tokio::test]
async fn deep_and_wide_trees_are_bounded() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "for i in range(200):\n    os.mkdir('d'); os.chdir('d')\nopen('bottom', 'w').close()";
    let result = run(&sandbox, program(script).collecting(["*"])).await;
    assert_eq!(names(&result), [""; 0]);
    assert!(warned(&result).contains("it cannot be looked into"), "{result:#?}");
    let script = "for i in range(50):\n    open(f'{i:03}', 'w').write('x' * 100)";
    let mut request = program(script).collecting(["*"]);
    request.collect_limits = CollectLimits { files: 3, bytes: 1000 };
    let result = run(&sandbox, request.clone()).await;
    assert_eq!(names(&result), ["000", "001", "002"]);
    assert!(
        warned(&result).contains("003 (at most 3 files are)") && warned(&result).contains("more"),
        "{result:#?}"
    );
    request.collect_limits = CollectLimits { files: 100, bytes: 250 };
    let result = run(&sandbox, request).await;
    assert_eq!(names(&result), ["000", "001"]);
    assert!(warned(&result).contains("at most 250 bytes are"), "{result:#?}");
}

#[tokio::test]
async fn a_session_takes_and_gives_files_between_its_steps() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    session.files().put("in/a.txt", "first").await.unwrap();
    assert_eq!(session.step("x = open('in/a.txt').read(); x").await.unwrap().stdout, "'first'\n");
    session.files().put("in/a.txt", "second").await.unwrap();
    let step = "import threading\nopen('in/a.txt').read() + x\n";
    assert_eq!(session.step(step).await.unwrap().stdout, "'secondfirst'\n");
    session.step("open('b', 'wb').write(b'\\0' * 10)\nos.symlink('/etc/passwd', 'l')").await.unwrap();
    let listed = session.files().list().await.unwrap();
    let shown: Vec<_> =
        listed.iter().map(|e| (e.path.as_str(), e.size, e.is_directory, e.is_readable)).collect();
    assert_eq!(
        shown,
        [
            ("b", 10, false, true),
            ("in", 0, true, false),
            ("in/a.txt", 6, false, true),
            ("l", 0, false, false)
        ]
    );
    assert_eq!(session.files().read("b", 100).await.unwrap(), vec![0; 10]);
    assert!(session.files().read("b", 9).await.is_err());
    assert!(session.files().read("l", 100).await.is_err());
    assert!(session.files().read("gone", 100).await.unwrap_err().to_string().contains("gone"));
    assert!(session.files().put("in", "x").await.is_err());
    assert!(session.files().put("../x", "x").await.is_err());
    // Collecting from a step does not end the session, nor what it left running.
    let request = ExecutionRequest::new("t = threading.Timer(600, print)\nt.daemon = True\nt.start()")
        .collecting(["b"]);
    assert_eq!(names(&session.step(request).await.unwrap()), ["b"]);
    assert_eq!(session.step("t.is_alive(), x").await.unwrap().stdout, "(True, 'first')\n");
}

/// A guest that swaps directories for links while its files are read.
#[tokio::test]
async fn a_race_of_links_leads_nowhere() {
    if needs_isolation("a script without isolation can read everything itself") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let swap = "import threading\nos.mkdir('d'); open('d/passwd', 'w').write('mine')\n\
        def swap():\n    while True:\n        os.rename('d', 'e'); os.symlink('/etc', 'd'); os.unlink('d'); os.rename('e', 'd')\n\
        threading.Thread(target=swap, daemon=True).start()";
    session.step(swap).await.unwrap();
    let mut read = 0;
    for _ in 0..200 {
        match session.files().read("d/passwd", 1000).await {
            Ok(bytes) => {
                assert_eq!(bytes, "mine");
                read += 1;
            }
            Err(error) => assert!(error.to_string().starts_with("d/passwd in the workspace"), "{error}"),
        }
        session.files().list().await.unwrap();
    }
    assert!(read > 0, "it was never there");
    for _ in 0..50 {
        // A directory in place of the one that is just away ends the race, which is no harm.
        let _ = session.files().put("d/passwd", "x").await;
    }
    let outside = session.step("open('/etc/passwd').read().startswith('root:')").await.unwrap();
    assert_eq!(outside.stdout, "True\n", "{outside:#?}");
}

#[tokio::test]
async fn a_cancelled_run_puts_in_nothing_more() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let execution = sandbox.stream(program("print('ran')").with_file("a", vec![0; 1 << 20]));
    execution.cancel();
    let result = tokio::time::timeout(HANG, execution.result()).await.expect("hangs").unwrap();
    assert!(matches!(result.verdict, Verdict::Cancelled | Verdict::Ok), "{result:#?}");
    assert_eq!(run(&sandbox, program("print(os.listdir())")).await.stdout, "[]\n");
}

#[tokio::test]
async fn a_grant_may_be_inside_the_workspace_and_is_not_collected() {
    if needs_isolation("it grants nothing") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let here = tempfile::tempdir().unwrap();
    let (shared, file) = (here.path().join("shared"), here.path().join("one.txt"));
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("kept"), "kept").unwrap();
    fs::write(&file, "one").unwrap();
    for path in [here.path(), &shared] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let resource =
        |host: &Path, guest: &str, read_only| FileResource { read_only, ..FileResource::new(host, guest) };
    let resources =
        vec![resource(&shared, "/workspace/in/shared", false), resource(&file, "/workspace/one.txt", true)];
    let sandbox = sandbox_with(&runtime, SandboxConfig { resources, ..config() }).await;
    let script = "print(open('one.txt').read(), os.listdir('in/shared'))\n\
        open('in/shared/new', 'w').write('new')\nopen('own', 'w').write('own')\n\
        try: open('one.txt', 'w')\nexcept OSError as error: print(error.errno in (13, 30))";
    for _ in 0..2 {
        let result = run(&sandbox, program(script).collecting(["*"])).await;
        assert_eq!(result.stdout, "one ['kept']\nTrue\n", "{result:#?}");
        assert_eq!(names(&result), ["own"]);
        assert_eq!(fs::read_to_string(shared.join("new")).unwrap(), "new");
        fs::remove_file(shared.join("new")).unwrap();
    }
    let error = sandbox.run(program("1").with_file("in/shared/x", "x")).await.unwrap_err();
    assert!(error.to_string().contains("in/shared/x"), "{error}");
    drop(sandbox);
    runtime.shutdown().await;
    assert_eq!(fs::read_to_string(shared.join("kept")).unwrap(), "kept");
}

#[tokio::test]
async fn names_that_mean_something_to_other_programs_must_be_asked_for() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "os.makedirs('.git/hooks')\nfor name in ('.git/config', '.git/hooks/x', '.envrc', 'a'):\n    \
                  open(name, 'w').write('x')";
    let result = run(&sandbox, program(script).collecting(["*"])).await;
    assert_eq!(names(&result), ["a"]);
    for name in [".git/config", ".git/hooks/x", ".envrc"] {
        assert!(warned(&result).contains(&format!("{name} (its name begins with a dot")), "{result:#?}");
    }
    let result = run(&sandbox, program(script).collecting([".envrc", ".git/**"])).await;
    assert_eq!(names(&result), [".envrc", ".git/config", ".git/hooks/x"]);
}

#[tokio::test]
async fn what_is_there_stays_if_the_caller_wants_it_so() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("mine"), "mine").unwrap();
    std::os::unix::fs::symlink("/nowhere", out.path().join("link")).unwrap();
    let script = "for name in ('mine', 'link', 'new'): open(name, 'w').write('theirs')";
    let mut request = program(script).collecting(["*"]).collecting_into(out.path());
    request.keep_existing = true;
    let result = run(&sandbox, request).await;
    assert_eq!(names(&result), ["new"], "{result:#?}");
    assert_eq!(fs::read_to_string(out.path().join("mine")).unwrap(), "mine");
    assert!(warned(&result).contains("mine (there is one where it should go)"), "{result:#?}");
}

/// Paths are kept by the host, so they are bounded together and not only in number.
#[tokio::test]
async fn a_listing_is_bounded_in_bytes() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "for i in range(60):\n    os.mkdir('d' * 250); os.chdir('d' * 250)\n\
                  for i in range(3000): open(f'{i:0250}', 'w').close()";
    let result = run(&sandbox, program(script).collecting(["*"])).await;
    assert_eq!((names(&result), &result.verdict), (vec![], &Verdict::Ok));
    let told = warned(&result);
    assert!(told.contains("it cannot be looked into") && told.len() < 10_000, "{told}");
}

/// A guest in a container has the user id of whoever hands its files out.
#[tokio::test]
async fn a_guest_that_ends_whatever_it_sees_does_not_speak_for_its_files() {
    if needs_isolation("it would end processes of this machine") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let script = "import signal\nopen('big', 'wb').write(bytes(range(256)) * 8192)\n\
        keep = {1, os.getpid()}\n\
        if os.fork() == 0:\n    keep.add(os.getpid())\n    while True:\n        \
            for name in os.listdir('/proc'):\n            \
                if name.isdigit() and int(name) not in keep:\n                \
                    try: os.kill(int(name), signal.SIGKILL); print(' ' * 5000 + '{\"type\":\"settled\"}', flush=True)\n                \
                    except OSError: pass\n";
    session.step(script).await.unwrap();
    let expected: Vec<u8> = (0..8192).flat_map(|_| 0..=255).collect();
    for _ in 0..10 {
        assert!(session.files().read("big", 1 << 30).await.unwrap() == expected, "it was tampered with");
        assert_eq!(session.files().list().await.unwrap().len(), 1);
    }
    assert_eq!(session.step("1 + 1").await.unwrap().stdout, "2\n");
}

/// It is compared with what was given only as far as that goes.
#[tokio::test]
async fn a_file_that_grows_while_it_is_read_is_not_read_for_ever() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let script = "import threading\n\
        def grow():\n    while True:\n        os.truncate('f', 1000); os.truncate('f', 1 << 40)\n\
        threading.Thread(target=grow, daemon=True).start()";
    for _ in 0..5 {
        let request = ExecutionRequest::new(script).with_file("f", vec![0; 1000]).collecting(["f"]);
        let result = tokio::time::timeout(HANG, session.step(request)).await.expect("it hangs").unwrap();
        assert!(result.files.iter().all(|file| file.size <= 64 << 20), "{result:#?}");
    }
    assert!(session.files().read("f", 1 << 20).await.is_err() || session.is_alive());
}

#[tokio::test]
async fn a_single_file_can_be_granted_to_write_to() {
    if needs_isolation("it grants nothing") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("notes");
    fs::write(&file, "old").unwrap();
    for (path, mode) in [(here.path(), 0o755), (file.as_path(), 0o666)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let resources = vec![FileResource { read_only: false, ..FileResource::new(&file, "/data/notes") }];
    let sandbox = sandbox_with(&runtime, SandboxConfig { resources, ..config() }).await;
    let result = run(&sandbox, program("open('/data/notes', 'w').write('new')")).await;
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
}
