"""Runs a Jupyter kernel gateway, and lets whoever shares a directory reach it by a Unix socket.

    gateway.py SOCKET [--workspace DIR] [--stay]

    host ── SOCKET ──► this program ── 127.0.0.1:port ──► gateway ── zmq ──► kernels

It is for a place that has no network but its own loopback. It needs nothing but the standard library;
the gateway is started with the same Python. One line of JSON on stdout says how that went:

    {"status": "ready", "token": "…", "port": 40123, "version": "2.21.1"}
    {"status": "failed", "reason": "…", "stderr": ["last", "lines"]}

The socket is there only after the gateway has answered, so whoever finds it can connect. A token is
taken from BELLJAR_JUPYTER_TOKEN, or made. Everything that Jupyter keeps goes below `.jupyter` in the
working directory. Kernels work in DIR, which is the working directory unless it is named, and is made
if it is not there.

Where a program may not ask for the machine's network interfaces, zmq cannot listen on TCP: it ends the
process that tries. There kernels are reached by Unix sockets below `.jupyter`, and start with LAUNCHER.

All ends when stdin is closed (without --stay), with SIGTERM, or with the gateway: first the gateway is
asked to end, then it and whatever kernels have started is killed.
"""

import argparse
import collections
import ctypes
import json
import os
import queue
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

READY_WITHIN = 60.0
END_WITHIN = 3.0
# Another program may take the port between our choice and the gateway's start.
PORTS_TRIED = 3
LINES_KEPT = 20
LONGEST_LINE = 500
# A kernel listens on TCP even if it is reached otherwise: for processes that it forks. The same is done
# with Unix sockets here.
LAUNCHER = """\
import itertools, os, sys, tempfile
del sys.path[0]
import zmq

LOOPBACK = "tcp://127.0.0.1"
directory = tempfile.mkdtemp(prefix="zmq-")
numbers = itertools.count(1)
listen, connect = zmq.Socket.bind_to_random_port, zmq.Socket.connect

def listen_here(socket, address, *arguments, **options):
    if address != LOOPBACK:
        return listen(socket, address, *arguments, **options)
    number = next(numbers)
    socket.bind(f"ipc://{directory}/{number}")
    return number

def connect_here(socket, address):
    text = address.decode() if isinstance(address, bytes) else address
    host, _, port = text.rpartition(":")
    path = f"{directory}/{port}"
    is_here = host == LOOPBACK and os.path.exists(path)
    return connect(socket, "ipc://" + path if is_here else address)

zmq.Socket.bind_to_random_port, zmq.Socket.connect = listen_here, connect_here
from ipykernel import kernelapp
kernelapp.launch_new_instance()
"""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


class Failed(Exception):
    """The gateway does not answer. It has the reason, and the gateway's last words."""

    def __init__(self, reason, lines=()):
        super().__init__(reason)
        self.lines = list(lines)


class Ended(Exception):
    """Nobody wants the gateway any more."""


class Gateway:
    """The gateway's process, and the last lines of what it says."""

    def __init__(self, home, workspace, token):
        self.port = free_port()
        has_tcp = may_list_interfaces()
        variables = environment(home)
        if not has_tcp:
            install_launcher(home, variables["JUPYTER_DATA_DIR"])
        config = os.path.join(home, "gateway.json")
        remove(config)
        with open(config, "x", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            json.dump(settings(self.port, token, workspace, has_tcp), file)
        self.config = config
        self.lines = collections.deque(maxlen=LINES_KEPT)
        # It starts in a directory of ours: modules of a workspace must not shadow its own.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kernel_gateway", "--config=" + config],
            cwd=home,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=end_with_parent,
        )
        self.listener = in_thread(self.listen)

    def listen(self):
        # Lines without end are read in pieces.
        while True:
            line = self.process.stderr.readline(LONGEST_LINE)
            if not line:
                break
            self.lines.append(line.decode("utf-8", "replace").rstrip())

    def wait_until_ready(self, token, wishes):
        """The version of its API, when it answers."""
        deadline = time.monotonic() + READY_WITHIN
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api")
        request.add_header("Authorization", "token " + token)
        # Proxies of the environment are for others.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while time.monotonic() < deadline:
            check(wishes)
            if self.process.poll() is not None:
                self.listener.join(1)
                raise Failed(f"the gateway ended with status {self.process.returncode}", self.lines)
            try:
                with opener.open(request, timeout=5) as answer:
                    return str(json.load(answer)["version"])
            except (OSError, ValueError, KeyError, TypeError):
                time.sleep(0.05)
        raise Failed(f"the gateway did not answer within {READY_WITHIN:.0f} s", self.lines)

    def end(self):
        """Ends it, and everything that is left of its kernels."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(END_WITHIN)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        remove(self.config)


def settings(port, token, workspace, has_tcp):
    """A file, so that the token is on no command line and in no environment."""
    return {
        "KernelGatewayApp": {
            "ip": "127.0.0.1",
            "port": port,
            "port_retries": 0,
            "auth_token": token,
            "answer_yes": True,
            "log_level": "WARN",
        },
        "JupyterWebsocketPersonality": {"list_kernels": True},
        "MappingKernelManager": {"root_dir": workspace},
        # Output is bounded where it is read. With a limit here it would be lost without a trace.
        "ZMQChannelsWebsocketConnection": {"limit_rate": False},
        "KernelRestarter": {"time_to_dead": 0.25, "random_ports_until_alive": False},
        # A kernel that is restarted because it does not listen is not asked for long.
        "KernelManager": {"shutdown_wait_time": 1.0, "transport": "tcp" if has_tcp else "ipc"},
    }


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER_", "KG_"))}
    places = {"HOME": "home", "IPYTHONDIR": "ipython"}
    places.update({"JUPYTER_" + name + "_DIR": name.lower() for name in ("CONFIG", "DATA", "RUNTIME")})
    for name, directory in places.items():
        kept[name] = os.path.join(home, directory)
        os.makedirs(kept[name], mode=0o700, exist_ok=True)
    # Kernels do not read the settings of a machine.
    kept["JUPYTER_NO_CONFIG"] = "1"
    kept["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    return kept


def may_list_interfaces():
    """Whether zmq may ask what it asks before it listens on TCP."""
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    except OSError:
        return False
    return True


def install_launcher(home, data):
    """A kernel of the usual name that starts with LAUNCHER."""
    launcher = os.path.join(home, "launcher.py")
    directory = os.path.join(data, "kernels", "python3")
    os.makedirs(directory, exist_ok=True)
    with open(launcher, "w") as file:
        file.write(LAUNCHER)
    argv = [sys.executable, "-Xfrozen_modules=off", launcher, "-f", "{connection_file}"]
    with open(os.path.join(directory, "kernel.json"), "w") as file:
        json.dump({"argv": argv, "display_name": "Python 3", "language": "python"}, file)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(home, workspace, token, wishes):
    """A gateway that answers, and its version."""
    for attempt in range(1, PORTS_TRIED + 1):
        gateway = Gateway(home, workspace, token)
        try:
            return gateway, gateway.wait_until_ready(token, wishes)
        except BaseException as error:
            gateway.end()
            port_is_taken = isinstance(error, Failed) and any("in use" in line for line in error.lines)
            if attempt == PORTS_TRIED or not port_is_taken:
                raise


def listen(path):
    """Listens at a path that may be longer than an address of a socket: it goes to its directory."""
    directory, name = os.path.split(path)
    os.chdir(directory)
    hidden = f".{name[:40]}.{secrets.token_hex(4)}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(hidden)
    finally:
        os.umask(before)
    listener.listen(64)
    os.rename(hidden, name)
    return listener


def serve(listener, port):
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            time.sleep(0.1)
            continue
        try:
            gateway = socket.create_connection(("127.0.0.1", port))
        except OSError:
            client.close()
            continue
        connection = Connection(client, gateway)
        in_thread(connection.carry, client, gateway)
        in_thread(connection.carry, gateway, client)


class Connection:
    """Two sockets. They are closed when both directions have ended."""

    def __init__(self, *ends):
        self.ends = ends
        self.lock = threading.Lock()
        self.open = 2

    def carry(self, source, target):
        try:
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            # One direction is broken, so the other is of no use.
            for end in self.ends:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        with self.lock:
            self.open -= 1
            if self.open == 0:
                for end in self.ends:
                    end.close()


def check(wishes):
    if not wishes.empty():
        raise Ended


def until_stdin_closes(wishes):
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass
    wishes.put("stdin is closed")


def until_it_ends(gateway, wishes):
    """Reaps orphans meanwhile. The gateway itself is left to whoever waits for it."""
    try:
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
            if ended == gateway.process.pid:
                break
            os.waitpid(ended, 0)
    except ChildProcessError:
        pass
    wishes.put("the gateway ended")


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def prctl(option, value):
    """Where there is no such call nothing is lost but the thoroughness of the end."""
    try:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (AttributeError, OSError):
        pass


def end_with_parent():
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kill_descendants():
    """Kills what kernels have started. Orphans become our children, so it is done when there are none."""
    me = os.getpid()
    deadline = time.monotonic() + END_WITHIN
    while time.monotonic() < deadline:
        children = [pid for pid in processes() if parent_of(pid) == me]
        if not children:
            return
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except OSError:
                pass


def processes():
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def remove(path):
    try:
        os.remove(path)
    except OSError:
        pass


def say(**what):
    try:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()
    except OSError:
        pass


def main():
    parser = argparse.ArgumentParser(description="Runs a Jupyter kernel gateway behind a Unix socket.")
    parser.add_argument("socket")
    parser.add_argument("--workspace", default=".")
    parser.add_argument("--stay", action="store_true")
    arguments = parser.parse_args()
    path, workspace = os.path.abspath(arguments.socket), os.path.abspath(arguments.workspace)
    home = os.path.abspath(".jupyter")
    token = os.environ.pop("BELLJAR_JUPYTER_TOKEN", "") or secrets.token_hex(32)

    # Handlers of signals may put into a queue of this kind.
    wishes = queue.SimpleQueue()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: wishes.put("a signal"))
    if not arguments.stay:
        in_thread(until_stdin_closes, wishes)
    prctl(PR_SET_CHILD_SUBREAPER, 1)

    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        os.makedirs(workspace, exist_ok=True)
        gateway, version = start(home, workspace, token, wishes)
    except Ended:
        kill_descendants()
        return 0
    except (Failed, OSError) as error:
        kill_descendants()
        say(status="failed", reason=str(error), stderr=getattr(error, "lines", []))
        return 1
    try:
        # Nobody needs it any more, and kernels can read it.
        remove(gateway.config)
        in_thread(serve, listen(path), gateway.port)
        in_thread(until_it_ends, gateway, wishes)
        say(status="ready", token=token, port=gateway.port, version=version)
        wishes.get()
    except OSError as error:
        say(status="failed", reason=f"cannot listen at {path}: {error}", stderr=[])
        return 1
    finally:
        remove(path)
        gateway.end()
        kill_descendants()
    return 0


if __name__ == "__main__":
    sys.exit(main())
