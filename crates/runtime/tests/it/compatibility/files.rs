//! Files: temporary ones, archives, databases, mappings, and everything a path can be asked.

use serde_json::json;

use super::{gives, runtime};

#[tokio::test]
async fn temporary_files_paths_and_directories_behave() {
    let script = r#"
import tempfile, pathlib, shutil, glob, stat, fcntl
out = {}
with tempfile.TemporaryDirectory() as name:
    home = pathlib.Path(name)
    out['private'] = oct(home.stat().st_mode & 0o777)
    (home / 'a' / 'b').mkdir(parents=True)
    (home / 'a' / 'b' / 'c.txt').write_text('text', encoding='utf-8')
    (home / 'link').symlink_to('a')
    os.link(home / 'a/b/c.txt', home / 'hard')
    os.chmod(home / 'hard', 0o640)
    out['mode'] = oct((home / 'a/b/c.txt').stat().st_mode & 0o7777)
    out['found'] = sorted(str(p.relative_to(home)) for p in home.rglob('*'))
    out['scan'] = sorted((e.name, e.is_dir(), e.is_symlink()) for e in os.scandir(home))
    out['walk'] = sum(len(files) for _, _, files in os.walk(home))
    shutil.copytree(home / 'a', home / 'copy')
    shutil.move(home / 'copy', home / 'moved')
    os.replace(home / 'hard', home / 'soft')
    os.utime(home / 'soft', (1, 2))
    out['time'] = os.stat(home / 'soft').st_mtime
    os.mkfifo(home / 'fifo')
    out['fifo'] = stat.S_ISFIFO(os.stat(home / 'fifo').st_mode)
    with open(home / 'locked', 'w') as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.posix_fallocate(file.fileno(), 0, 4096)
        os.truncate(file.fileno(), 10)
    out['size'] = os.path.getsize(home / 'locked')
    sticky = home / 'sticky'; sticky.mkdir(); sticky.chmod(0o1777)
    out['sticky'] = oct(sticky.stat().st_mode & 0o7777)
with tempfile.NamedTemporaryFile('w+') as named, tempfile.SpooledTemporaryFile(10) as spooled, tempfile.TemporaryFile() as file:
    named.write('x'); named.flush(); spooled.write(b'y' * 100); file.write(b'z')
    out['named'] = open(named.name).read()
out['gone'] = not home.exists()
emit_result(out)
"#;
    let expected = json!({"private": "0o700", "mode": "0o640", "found": ["a", "a/b", "a/b/c.txt", "hard", "link"],
        "scan": [["a", true, false], ["hard", false, false], ["link", true, true]], "walk": 2, "time": 2.0, "fifo": true, "size": 10,
        "sticky": "0o1777", "named": "x", "gone": true});
    gives(script, expected).await;
}

#[tokio::test]
async fn archives_keep_the_bits_of_their_members() {
    let script = r#"
import tarfile, zipfile, gzip, bz2, lzma, shutil, pathlib
home = pathlib.Path('/workspace/tree'); home.mkdir()
run = home / 'run.sh'; run.write_text('#!/bin/sh\necho ran\n'); run.chmod(0o750)
(home / 'link').symlink_to('run.sh')
out = {}
for kind in ['tar', 'gztar', 'bztar', 'xztar', 'zip']:
    archive = shutil.make_archive(f'/workspace/{kind}', kind, home)
    shutil.unpack_archive(archive, f'/workspace/out-{kind}')
    out[kind] = pathlib.Path(f'/workspace/out-{kind}/run.sh').read_text() == run.read_text()
out['tar bits'] = oct(os.stat('/workspace/out-tar/run.sh').st_mode & 0o7777)
out['runs'] = os.popen('/workspace/out-gztar/run.sh').read()
out['link'] = os.readlink('/workspace/out-tar/link')
out['codecs'] = all(m.decompress(m.compress(b'data' * 1000)) == b'data' * 1000 for m in (gzip, bz2, lzma))
with zipfile.ZipFile('/workspace/one.zip', 'w', zipfile.ZIP_DEFLATED) as z: z.write(run, 'run.sh')
with zipfile.ZipFile('/workspace/one.zip') as z: out['zip bits'] = oct(z.getinfo('run.sh').external_attr >> 16 & 0o7777)
emit_result(out)
"#;
    let expected = json!({"tar": true, "gztar": true, "bztar": true, "xztar": true, "zip": true, "tar bits": "0o750", "runs": "ran\n",
        "link": "run.sh", "codecs": true, "zip bits": "0o750"});
    gives(script, expected).await;
}

#[tokio::test]
async fn sqlite_works_in_memory_in_files_and_with_a_write_ahead_log() {
    let script = r#"
import sqlite3, threading
def fill(path, *settings):
    with sqlite3.connect(path, timeout=60) as db:
        told = [db.execute(f'PRAGMA {s}').fetchone()[0] for s in settings]
        db.execute('CREATE TABLE t (n INTEGER, s TEXT)')
        db.executemany('INSERT INTO t VALUES (?, ?)', [(n, str(n)) for n in range(1000)])
        return told, db.execute('SELECT sum(n), max(length(s)) FROM t').fetchone()
out = [fill(':memory:'), fill('/workspace/file.db'), fill('/tmp/wal.db', 'journal_mode=WAL')]
def more():
    with sqlite3.connect('/tmp/wal.db', timeout=60) as db: db.execute("INSERT INTO t VALUES (1, 'thread')")
writers = [threading.Thread(target=more) for _ in range(4)]
for w in writers: w.start()
for w in writers: w.join()
reader = sqlite3.connect('file:/tmp/wal.db?mode=ro', uri=True)
out.append(reader.execute('SELECT count(*) FROM t').fetchone()[0])
copy = sqlite3.connect(':memory:'); reader.backup(copy)
out.append(copy.execute("SELECT count(*) FROM t WHERE s = 'thread'").fetchone()[0])
emit_result(out)
"#;
    let filled = json!([499_500, 3]);
    gives(script, json!([[[], filled], [[], filled], [["wal"], filled], 1004, 4])).await;
}

#[tokio::test]
async fn memory_is_mapped_and_foreign_functions_are_called() {
    let script = r#"
import mmap, ctypes, ctypes.util
with open('/workspace/mapped', 'wb+') as file:
    file.truncate(8192)
    with mmap.mmap(file.fileno(), 0) as view: view[:5] = b'hello'; view.flush()
    file.seek(0); mapped = file.read(5).decode()
shared = mmap.mmap(-1, 4096)
pid = os.fork()
if pid == 0:
    shared[:3] = b'kid'; os._exit(0)
os.waitpid(pid, 0)
libc = ctypes.CDLL(None)
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 4)(3, 1, 4, 2)
# A callback is code made at run time: memory that is both written and run.
libc.qsort(numbers, 4, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: a[0] - b[0]))
emit_result([mapped, bytes(shared[:3]).decode(), list(numbers), libc.abs(-7)])
"#;
    gives(script, json!(["hello", "kid", [1, 2, 3, 4], 7])).await;
}

/// They are memory that only a control group counts.
#[tokio::test]
async fn files_that_are_only_memory_are_made_where_memory_is_counted() {
    let Some(runtime) = runtime() else { return };
    let script = r#"
try:
    file = os.memfd_create('name'); os.write(file, b'in memory')
    emit_result(os.pread(file, 9, 0).decode())
except OSError as refused: emit_result(errno.errorcode[refused.errno])
"#;
    let counted = runtime.capabilities().has("cgroup_memory");
    gives(&format!("import errno{script}"), json!(if counted { "in memory" } else { "ENOSYS" })).await;
}
