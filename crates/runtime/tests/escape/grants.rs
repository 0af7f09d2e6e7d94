//! A config grants a directory: it, and nothing around it, and no more of it than was said.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use belljar_runtime::{FileResource, Runtime, Sandbox, SandboxConfig};
use belljar_testing::{config, engine, runtime, sandbox_with, session};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{answer, step};

/// A directory of the host's with `read/` granted for reading, `write/` for writing, and `secret`
/// beside them.
struct Granted {
    host: TempDir,
    runtime: Runtime,
    sandbox: Sandbox,
}

async fn granted() -> Option<Granted> {
    let runtime = runtime()?;
    let host = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    // Open to all, so that it is the walls that are tried and not the host's permissions.
    mode(host.path(), 0o755);
    for name in ["read", "write"] {
        std::fs::create_dir(host.path().join(name)).unwrap();
        mode(&host.path().join(name), 0o777);
        std::fs::write(host.path().join(name).join("file"), "granted").unwrap();
        mode(&host.path().join(name).join("file"), 0o666);
    }
    std::fs::write(host.path().join("secret"), "secret").unwrap();
    symlink("../secret", host.path().join("read/relative")).unwrap();
    symlink(host.path().join("secret"), host.path().join("read/absolute")).unwrap();
    let resource = |name: &str| FileResource {
        host_path: host.path().join(name),
        container_path: format!("/data/{name}"),
        read_only: name == "read",
        docker_host_path: None,
    };
    let resources = vec![resource("read"), resource("write")];
    let sandbox = sandbox_with(&runtime, SandboxConfig { resources, ..config() }).await;
    Some(Granted { host, runtime, sandbox })
}

#[tokio::test]
async fn beside_a_granted_directory_is_nothing_of_the_hosts() {
    let Some(granted) = granted().await else { return };
    let look = "emit_result([open('/data/read/file').read(), sorted(os.listdir('/data/read/..')), attempt(open, '/data/read/../secret')])";
    assert_eq!(answer(&granted.sandbox, look).await, json!(["granted", ["read", "write"], "ENOENT"]));
}

#[tokio::test]
async fn links_in_a_granted_directory_lead_nowhere() {
    let Some(granted) = granted().await else { return };
    assert_eq!(std::fs::read_to_string(granted.host.path().join("read/absolute")).unwrap(), "secret");
    let look = "emit_result([attempt(open, '/data/read/' + name) for name in ('relative', 'absolute')])";
    assert_eq!(answer(&granted.sandbox, look).await, json!(["ENOENT", "ENOENT"]));
}

#[tokio::test]
async fn a_directory_moved_out_by_the_host_is_no_way_out() {
    let Some(granted) = granted().await else { return };
    let mut held = session(&granted.sandbox).await;
    let enter = "os.makedirs('/data/write/a/b')\nat = os.open('/data/write/a/b', os.O_RDONLY)\nemit_result(attempt(os.stat, '..', dir_fd=at))";
    assert_eq!(step(&mut held, enter).await, json!("done"));
    std::fs::rename(granted.host.path().join("write/a"), granted.host.path().join("moved")).unwrap();
    // In what was moved the guest may go on; above it there is nothing.
    let climb = "emit_result([attempt(os.stat, '..', dir_fd=at), attempt(os.stat, '../..', dir_fd=at), attempt(open, f'/proc/self/fd/{at}/../../secret')])";
    let climbed = step(&mut held, climb).await;
    assert_eq!((&climbed[1], &climbed[2]), (&json!("ENOENT"), &json!("ENOENT")), "{climbed}");
}

#[tokio::test]
async fn what_is_granted_for_reading_is_not_written_to() {
    let Some(granted) = granted().await else { return };
    let tries = "held = {'EROFS', 'EACCES', 'EPERM', 'EXDEV', 'ENOTTY'}\nf, d = '/data/read/file', '/data/read'\nopened = os.open(f, os.O_RDONLY)\n\
        tries = {'open': (os.open, f, os.O_WRONLY), 'append': (os.open, f, os.O_WRONLY | os.O_APPEND), 'truncate': (os.truncate, f, 0),\n\
        'chmod': (os.chmod, f, 0o777), 'fchmod': (os.fchmod, opened, 0o777), 'chown': (os.chown, f, 1000, 1000), 'utime': (os.utime, f),\n\
        'unlink': (os.unlink, f), 'rename': (os.rename, f, d + '/x'), 'link': (os.link, f, d + '/x'), 'mkdir': (os.mkdir, d + '/x'),\n\
        'symlink': (os.symlink, f, d + '/x'), 'mknod': (os.mknod, d + '/x'), 'setxattr': (os.setxattr, f, 'user.x', b'x'),\n\
        'reopen': (os.open, f'/proc/self/fd/{opened}', os.O_RDWR), 'ftruncate': (os.truncate, f'/proc/self/fd/{opened}', 0),\n\
        'flags': (fcntl.ioctl, opened, 0x40086602, struct.pack('l', 0x20)), 'move out': (os.rename, f, '/data/write/x'),\n\
        'link out': (os.link, f, '/data/write/x')}\n\
        emit_result({name: got for name, got in ((n, attempt(*t)) for n, t in tries.items()) if got not in held})";
    assert_eq!(answer(&granted.sandbox, tries).await, json!({}));
    assert_eq!(std::fs::read_to_string(granted.host.path().join("read/file")).unwrap(), "granted");
}

#[tokio::test]
async fn a_granted_file_is_not_changed_through_a_mapping() {
    let Some(granted) = granted().await else { return };
    let tries = "import mmap\nopened = os.open('/data/read/file', os.O_RDONLY)\n\
        shared = attempt(mmap.mmap, opened, 7, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)\n\
        private = mmap.mmap(opened, 7, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)\nprivate[:] = b'changed'\n\
        emit_result([shared, open('/data/read/file').read()])";
    assert_eq!(answer(&granted.sandbox, tries).await, json!(["EACCES", "granted"]));
    assert_eq!(std::fs::read_to_string(granted.host.path().join("read/file")).unwrap(), "granted");
}

#[tokio::test]
async fn devices_cannot_be_left_in_a_granted_directory() {
    let Some(granted) = granted().await else { return };
    let tries = "make = lambda kind, at: attempt(os.mknod, '/data/write/x', kind | 0o666, os.makedev(*at))\n\
        emit_result([attempt(open, '/data/write/new', 'w'), make(stat.S_IFCHR, (1, 1)), make(stat.S_IFBLK, (254, 0))])";
    assert_eq!(answer(&granted.sandbox, tries).await, json!(["done", "EPERM", "EPERM"]));
}

#[tokio::test]
async fn files_left_in_a_granted_directory_belong_to_its_owner_or_nobody() {
    let Some(granted) = granted().await else { return };
    assert_eq!(
        answer(&granted.sandbox, "emit_result(attempt(open, '/data/write/new', 'w'))").await,
        json!("done")
    );
    let owner = std::fs::metadata(granted.host.path().join("write/new")).unwrap().uid();
    let own = rustix::process::geteuid();
    match engine() {
        "native" => assert_eq!(owner, own.as_raw()),
        _ => assert!(owner != 0, "a guest's file is root's"),
    }
}

/// What a script leaves may be root's. So it must never run as whoever owns it.
#[tokio::test]
async fn nothing_left_in_a_granted_directory_runs_as_its_owner() {
    let Some(granted) = granted().await else { return };
    let tries = "os.chdir('/data/write')\nbits = (0o4755, 0o2755, 0o6777)\nopen('plain', 'w').close()\nplain = os.open('plain', os.O_RDWR)\nos.umask(0)\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        def call(number, *arguments):\n    got = libc.syscall(number, *arguments)\n    if got < 0: raise OSError(ctypes.get_errno(), '')\n\
        how = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0)\n\
        tries = [(os.chmod, 'plain', mode) for mode in bits] + [(os.fchmod, plain, mode) for mode in bits] + [(os.open, f'open{mode}', os.O_CREAT | os.O_WRONLY, mode) for mode in bits]\n\
        tries += [(os.open, '.', os.O_TMPFILE | os.O_RDWR, mode) for mode in bits] + [(os.mknod, f'node{mode}', mode | stat.S_IFREG) for mode in bits]\n\
        tries += [(call, 452, -100, b'plain', mode, 0) for mode in bits] + [(call, 437, -100, b'open2', how, 24), (call, 469, -100, b'plain', 0, ctypes.create_string_buffer(24), 24)]\n\
        tries += [(os.setxattr, 'plain', 'security.capability', b'\\x01\\0\\0\\x02' + b'\\xff' * 16)]\n\
        emit_result([repr(t) for t in tries if attempt(*t) not in ('EPERM', 'ENOSYS')])";
    assert_eq!(answer(&granted.sandbox, tries).await, json!([]));
    for entry in std::fs::read_dir(granted.host.path().join("write")).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().mode();
        assert_eq!(mode & 0o6000, 0, "{mode:o}");
    }
}

/// A pipe has no contents to protect, so a read-only mount lets it be written to; Landlock does
/// not.
#[tokio::test]
async fn a_pipe_in_a_directory_granted_for_reading_is_not_written_to() {
    let Some(granted) = granted().await else { return };
    if !granted.runtime.capabilities().has("landlock") {
        println!("landlock: skipped (not available here)");
        return;
    }
    let pipe = granted.host.path().join("read/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    std::fs::set_permissions(&pipe, PermissionsExt::from_mode(0o666)).unwrap();
    let tries = "emit_result([attempt(os.open, '/data/read/pipe', flags | os.O_NONBLOCK) for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR)])";
    assert_eq!(answer(&granted.sandbox, tries).await, json!(["done", "EACCES", "EACCES"]));
}

/// Accepted: whoever grants a directory grants the sockets in it, for reading or not. The kernel
/// asks for permission to write to a socket's file but not whether its mount is read-only, and
/// Landlock has no rule for it.
#[tokio::test]
async fn accepted_sockets_in_a_granted_directory() {
    let Some(granted) = granted().await else { return };
    let path = granted.host.path().join("read/socket");
    let _listener = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
    let connect = "emit_result(attempt(socket.socket(socket.AF_UNIX).connect, '/data/read/socket'))";
    assert_eq!(answer(&granted.sandbox, connect).await, json!("done"));
}

/// Accepted: the list of mounts tells where on its disk a granted directory lies. No mount can be
/// made to forget its source.
#[tokio::test]
async fn accepted_host_path_of_a_granted_directory() {
    let Some(granted) = granted().await else { return };
    let look = "emit_result([row.split()[3] for row in open('/proc/self/mountinfo') if row.split()[4] == '/data/read'])";
    let seen = answer(&granted.sandbox, look).await;
    let name = granted.host.path().file_name().unwrap().to_str().unwrap();
    assert!(seen[0].as_str().unwrap().ends_with(&format!("{name}/read")), "{seen}");
}

/// A lease makes whoever opens the file for writing wait, for as long as 45 seconds.
#[tokio::test]
async fn leases_on_a_granted_file() {
    let Some(granted) = granted().await else { return };
    let tries = "lease = lambda path: attempt(fcntl.fcntl, os.open(path, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)\n\
        emit_result(lease('/data/read/file'))";
    assert_eq!(answer(&granted.sandbox, tries).await, json!("EINVAL"));
}

static LATER: AtomicU32 = AtomicU32::new(0);

/// What a later config would get for a path below the writable grant; the words of the refusal.
async fn refusal(granted: &Granted, paths: &[(&str, bool)]) -> Result<Sandbox, String> {
    let resources = paths.iter().enumerate().map(|(at, (path, read_only))| FileResource {
        read_only: *read_only,
        ..FileResource::new(granted.host.path().join(path), format!("/data/{at}"))
    });
    // A name of its own each time: a sandbox that is ready already has what it was given.
    let name = format!("later-{}", LATER.fetch_add(1, Ordering::Relaxed));
    let config = SandboxConfig { name, resources: resources.collect(), ..config() };
    granted.runtime.sandbox(config).await.map_err(|error| error.to_string())
}

/// A script puts a link where somebody will grant something: the next config must not end up where
/// it points.
#[tokio::test]
async fn links_that_a_script_planted_are_not_granted() {
    let Some(granted) = granted().await else { return };
    let host = granted.host.path().display();
    let plant = format!(
        "os.mkdir('/data/write/sub'); os.symlink('{host}/secret', '/data/write/straight'); os.symlink('..', '/data/write/sub/up')\n\
         os.symlink('/etc', '/data/write/sub/etc'); emit_result(True)"
    );
    answer(&granted.sandbox, &plant).await;
    for path in ["write/straight", "write/sub/up", "write/sub/up/up", "write/sub/etc", "write/sub/etc/passwd"]
    {
        let said =
            refusal(&granted, &[(path, true)]).await.err().unwrap_or_else(|| panic!("{path} is granted"));
        assert!(said.contains("symbolic link") && said.contains("not followed"), "{said}");
    }
}

/// The same with something that was granted before: the script moves it away and plants a link of
/// its name.
#[tokio::test]
async fn a_granted_directory_that_a_script_replaced_is_not_granted_again() {
    let Some(granted) = granted().await else { return };
    std::fs::create_dir(granted.host.path().join("write/sub")).unwrap();
    drop(refusal(&granted, &[("write/sub", true)]).await.expect("it is a directory at first"));
    let swap = "os.rename('/data/write/sub', '/data/write/moved'); os.symlink('../secret', '/data/write/sub'); emit_result(True)";
    answer(&granted.sandbox, swap).await;
    let said = refusal(&granted, &[("write/sub", true)]).await.err().expect("it is a link now");
    assert!(said.contains("symbolic link"), "{said}");
}

#[tokio::test]
async fn nothing_is_granted_inside_a_directory_that_scripts_may_write_to() {
    let Some(granted) = granted().await else { return };
    std::fs::create_dir(granted.host.path().join("write/sub")).unwrap();
    for grants in [[("write", false), ("write/sub", true)], [("write/file", true), ("write", false)]] {
        let said = refusal(&granted, &grants).await.err().unwrap_or_else(|| panic!("{grants:?} is granted"));
        assert!(said.contains("which scripts may write to"), "{said}");
    }
    // A path that means the same in other words.
    let said =
        refusal(&granted, &[("write", false), ("write/./sub", true)]).await.err().expect("it is inside");
    assert!(said.contains("which scripts may write to"), "{said}");
}
