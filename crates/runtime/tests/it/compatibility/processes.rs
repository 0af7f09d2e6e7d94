//! Threads, processes, signals, and the event loop.

use serde_json::json;

use super::gives;

#[tokio::test]
async fn threads_share_locks_queues_and_pools() {
    let script = r#"
import threading, queue, contextvars
from concurrent.futures import ThreadPoolExecutor, as_completed
total, lock, jobs = 0, threading.Lock(), queue.Queue()
def work():
    global total
    while (n := jobs.get()) is not None:
        with lock: total += n
workers = [threading.Thread(target=work) for _ in range(8)]
for w in workers: w.start()
for n in range(1000): jobs.put(n)
for _ in workers: jobs.put(None)
for w in workers: w.join()
barrier, local = threading.Barrier(4), threading.local()
def meet(n):
    local.value = n
    barrier.wait()
    return local.value
with ThreadPoolExecutor(4) as pool:
    met = sorted(f.result() for f in as_completed([pool.submit(meet, n) for n in range(4)]))
rung = threading.Event()
threading.Timer(0.01, rung.set).start()
threading.stack_size(256 * 1024)
small = threading.Thread(target=lambda: None); small.start(); small.join()
emit_result([total, met, rung.wait(60)])
"#;
    gives(script, json!([499_500, [0, 1, 2, 3], true])).await;
}

#[tokio::test]
async fn subprocess_has_pipes_shells_timeouts_and_sessions() {
    let script = r#"
import subprocess, sys, signal
out = {}
out['pipe'] = subprocess.run(['tr', 'a-z', 'A-Z'], input='abc', capture_output=True, text=True, check=True).stdout
out['shell'] = subprocess.check_output('echo $((6 * 7)) | cat; exit 0', shell=True, text=True).strip()
out['code'] = subprocess.call('exit 7', shell=True)
try: subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'], timeout=0.2)
except subprocess.TimeoutExpired: out['timeout'] = True
child = subprocess.Popen([sys.executable, '-c', 'print(1, flush=True); input()'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
child.send_signal(signal.SIGTERM)
out['signal'] = child.wait()
child.communicate()
out['session'] = subprocess.check_output([sys.executable, '-c', 'import os; print(os.getsid(0) == os.getpid())'], start_new_session=True, text=True).strip()
out['cwd'] = subprocess.check_output(['pwd'], cwd='/tmp', env={'PATH': '/usr/bin:/bin'}, text=True).strip()
try: subprocess.run(['no-such-program'])
except FileNotFoundError: out['missing'] = True
r, w = os.pipe()
subprocess.run(['sh', '-c', f'echo through >&{w}'], pass_fds=[w], check=True)
os.close(w)
out['pass_fds'] = os.read(r, 100).decode().strip()
out['posix_spawn'] = os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 4'], os.environ), 0)[1])
out['popen'] = os.popen('echo hi').read().strip()
emit_result(out)
"#;
    let expected = json!({"pipe": "ABC", "shell": "42", "code": 7, "timeout": true, "signal": -15, "session": "True", "cwd": "/tmp",
        "missing": true, "pass_fds": "through", "posix_spawn": 4, "popen": "hi"});
    gives(script, expected).await;
}

/// The methods differ in how a child comes about; what the parts of the module do with it is the
/// same.
const MULTIPROCESSING: &str = r#"
import multiprocessing, operator
from multiprocessing import shared_memory
context = multiprocessing.get_context(METHOD)
out = {}
with context.Pool(2) as pool: out['pool'] = pool.map(abs, range(-3, 0))
queue = context.Queue()
child = context.Process(target=queue.put, args=('said',)); child.start()
out['queue'] = queue.get(timeout=90); child.join(); out['code'] = child.exitcode
ours, theirs = context.Pipe()
child = context.Process(target=theirs.send, args=([1, 2],)); child.start()
out['pipe'] = ours.recv() if ours.poll(90) else None; child.join()
event = context.Event()
child = context.Process(target=event.set); child.start()
out['event'] = event.wait(90); child.join()
with context.Manager() as manager:
    shared = manager.dict(a=1)
    child = context.Process(target=shared.update, args=({'b': 2},)); child.start(); child.join()
    out['manager'] = dict(shared)
memory = shared_memory.SharedMemory(create=True, size=16)
array = context.Array('i', [1, 2, 3])
child = context.Process(target=operator.setitem, args=(array, 1, 20)); child.start(); child.join()
out['array'] = list(array)
memory.buf[:2] = b'ok'
again = shared_memory.SharedMemory(memory.name)
out['memory'] = bytes(again.buf[:2]).decode()
again.close(); memory.close(); memory.unlink()
emit_result(out)
"#;

async fn multiprocessing_by(method: &str) {
    let script = format!("METHOD = '{method}'\n{MULTIPROCESSING}");
    let expected = json!({"pool": [3, 2, 1], "queue": "said", "code": 0, "pipe": [1, 2], "event": true,
        "manager": {"a": 1, "b": 2}, "array": [1, 20, 3], "memory": "ok"});
    gives(&script, expected).await;
}

#[tokio::test]
async fn multiprocessing_forks() {
    multiprocessing_by("fork").await;
}

#[tokio::test]
async fn multiprocessing_spawns() {
    multiprocessing_by("spawn").await;
}

/// A child that is started anew finds the functions of a script that has no file.
#[tokio::test]
async fn multiprocessing_finds_the_functions_of_a_script_without_a_file() {
    const OWN: &str = r#"
from __future__ import annotations
import multiprocessing
from collections import namedtuple
from concurrent.futures import ProcessPoolExecutor
Point = namedtuple('Point', 'x y')
FACTOR = 3
class Job:
    def __init__(self, n): self.n = n
    def __call__(self, queue): queue.put(json.dumps([self.n, FACTOR, __name__]))
def f(p: Unknown): return Point(p.x * FACTOR, os.getpid() != PARENT)
def nested(_):
    with ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as pool: return pool.submit(g, 1).result(90)
def g(x): return x + FACTOR
"#;
    const BODY: &str = r#"
with open('ran', 'a') as ran: ran.write('once\n')
context = multiprocessing.get_context(METHOD)
with context.Pool(2) as pool: points = pool.map_async(f, [Point(1, 0), Point(2, 0)]).get(90)
queue = context.Queue()
child = context.Process(target=Job(7), args=(queue,)); child.start()
said = queue.get(timeout=90); child.join()
with ProcessPoolExecutor(1, context) as pool: deep = pool.submit(nested, 0).result(90)
emit_result([points, said, child.exitcode, deep, open('ran').read()])
"#;
    let expected = json!([[[3, true], [6, true]], "[7, 3, \"__mp_main__\"]", 0, 4, "once\n"]);
    for method in ["spawn", "forkserver"] {
        let open = format!("{OWN}\nPARENT = 0\nMETHOD = '{method}'\n{BODY}");
        gives(&open, expected.clone()).await;
        let guarded = format!(
            "{OWN}\nPARENT = 0\nMETHOD = '{method}'\nif __name__ == '__main__':{}",
            BODY.replace('\n', "\n    ")
        );
        gives(&guarded, expected.clone()).await;
    }
}

#[tokio::test]
async fn multiprocessing_finds_the_functions_of_a_session() {
    let Some(runtime) = belljar_testing::runtime() else { return };
    let sandbox = belljar_testing::sandbox_with(&runtime, super::roomy()).await;
    let mut session = belljar_testing::session(&sandbox).await;
    for step in [
        "import multiprocessing\nprint('once')\ndef f(x):\n    return x * N",
        "N = 2\nthis is no Python",
        "N = 2\n1 / 0",
        "context = multiprocessing.get_context('spawn')",
    ] {
        session.step(step).await.unwrap();
    }
    let last = "with context.Pool(2) as pool: emit_result(pool.map_async(f, [1, 2]).get(90))";
    assert_eq!(belljar_testing::data(&session.step(last).await.unwrap()), "[2,4]");
    // What is defined later is found later.
    let step = "def f(x):\n    return -x\n";
    let result = session.step(format!("{step}{last}")).await.unwrap();
    assert_eq!((belljar_testing::data(&result), result.stdout.as_str()), ("[-1,-2]", ""));
}

#[tokio::test]
async fn multiprocessing_has_a_fork_server() {
    multiprocessing_by("forkserver").await;
}

#[tokio::test]
async fn process_pools_run_the_scripts_own_functions() {
    let script = r#"
from concurrent.futures import ProcessPoolExecutor
def square(n): return n * n
def fail(): raise ValueError('told')
with ProcessPoolExecutor(2) as pool:
    squares = list(pool.map(square, range(5)))
    try: pool.submit(fail).result()
    except ValueError as error: told = str(error)
emit_result([squares, told])
"#;
    gives(script, json!([[0, 1, 4, 9, 16], "told"])).await;
}

#[tokio::test]
async fn asyncio_runs_tasks_processes_streams_and_threads() {
    let script = r#"
import sys
async def serve(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()
async def main():
    out = {}
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b'line\n')
    out['stream'] = (await reader.read()).decode()
    writer.close(); server.close()
    unix = await asyncio.start_unix_server(serve, '/tmp/socket')
    reader, writer = await asyncio.open_unix_connection('/tmp/socket')
    writer.write(b'unix\n')
    out['unix'] = (await reader.read()).decode()
    writer.close(); unix.close()
    child = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
    out['process'] = (await child.communicate(b'piped'))[0].decode()
    shell = await asyncio.create_subprocess_shell('exit 3')
    out['shell'] = await shell.wait()
    out['thread'] = await asyncio.to_thread(lambda: 5)
    out['gather'] = await asyncio.gather(*(asyncio.sleep(0, n) for n in range(3)))
    out['lookup'] = (await asyncio.get_running_loop().getaddrinfo('localhost', 80, family=2, type=1))[0][4]
    try: await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    except asyncio.TimeoutError: out['timeout'] = True
    if sys.version_info >= (3, 11):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(asyncio.sleep(0, n)) for n in 'ab']
        assert [task.result() for task in tasks] == ['a', 'b']
    rung = asyncio.Event()
    import signal
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, rung.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await rung.wait()
    return out
emit_result(asyncio.run(main()))
"#;
    let expected = json!({"stream": "LINE\n", "unix": "UNIX\n", "process": "piped", "shell": 3, "thread": 5,
        "gather": [0, 1, 2], "lookup": ["127.0.0.1", 80], "timeout": true});
    gives(script, expected).await;
}

#[tokio::test]
async fn signals_reach_handlers_and_alarms_are_the_scripts_to_use() {
    let script = r#"
import signal, subprocess, sys, threading
seen, rung = [], threading.Event()
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(signal.Signals(number).name))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR2)
seen.append(signal.sigwait([signal.SIGUSR2]).name)
signal.signal(signal.SIGALRM, lambda *_: rung.set())
signal.setitimer(signal.ITIMER_REAL, 0.01)
seen.append(rung.wait(60))
child = subprocess.run([sys.executable, '-c', 'import os; os.abort()'], stderr=subprocess.DEVNULL)
pid = os.fork()
if pid == 0: os._exit(9)
emit_result([seen, child.returncode, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])])
"#;
    gives(script, json!([["SIGUSR1", "SIGUSR1", "SIGUSR2", true], -6, 9])).await;
}
