"""The one program inside every cell: it runs a script and tells the host what happens.

Life of a cell on the native engine:

    zygote: load tools and preloads, freeze ─► for each request of the host: spawn a cell
    cell:   touch the pages a run needs ─► "ready" ─► "execute" ─► log* intermediate* (final_result | error)? ─► "script_done"

The zygote never runs a script. A cell runs one, or the steps of one session, and is then destroyed by the host. Host and
cell speak JSON, one object a line, on a private channel; what the script prints goes to descriptors 1 and 2, which are pipes to
the host and carry no meaning. Every frame carries the seal the host sent with the request; frames without it are ignored.

Nothing here protects the host: the script shares this interpreter and may do to it what it likes. What protects the host was done to
the process before this code got to see a request.

A cell copies every page of the zygote that it writes to, and CPython writes to every object it looks at, so what costs here is not time but the
number of objects touched. Hence the C functions below `json` and `signal` instead of the Python ones around them, and things made ahead of
need: what is on the way of every run is as short as it can be.

Standard library only; CPython 3.9 and later.
"""

import os

# What modules want done around a fork. Kept back until a process is a cell: threads and the logging module's locks need no repair after the
# clone of a process that has one thread and holds none. See `_repair_after_clone`.
_register_at_fork = os.register_at_fork
_fork_hooks = []


def _keep_fork_hook(**hooks):
    if os.register_at_fork is _keep_fork_hook:
        _fork_hooks.append(hooks)
    else:
        _register_at_fork(**hooks)


os.register_at_fork = _keep_fork_hook

import _signal
import _thread
import ast
import asyncio
import builtins
import datetime
import gc
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import json
import linecache
import math
import re
import signal
import socket
import sys
import threading
import time
import traceback
import types
import uuid

PROTOCOL = 1
SCRIPT_NAME = "<agent_script>"
WORKSPACE = "/workspace"
TOOLS_DIRECTORY = "/tools"
LAYER_DIRECTORY = "/opt/pydeps"
TEMPLATE_FILE = "/run/belljar/template.json"
MAX_MESSAGE = 64 * 1024
MAX_TRACEBACK = 256 * 1024

_decode = json.JSONDecoder().scan_once
_quote = json.encoder.encode_basestring


def _make_encoder():
    slow = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if json.encoder.c_make_encoder is None:
        return slow.iterencode
    fast = json.encoder.c_make_encoder({}, slow.default, _quote, None, ":", ",", False, False, False)
    return lambda value: fast(value, 0)


_pieces = _make_encoder()


def _encode(value):
    """Compact JSON text."""
    global _pieces
    try:
        return "".join(_pieces(value))
    except BaseException:
        # It remembers where it was, and would see a cycle there next time.
        _pieces = _make_encoder()
        raise


class Counted(io.FileIO):
    """A descriptor that knows how much was written to it, so that the host can tell what was printed before which frame."""

    written = 0

    def write(self, data):
        count = super().write(data)
        self.written += count or 0
        if _has_strays:
            _note_speaker()
        return count


def _printer(descriptor):
    raw = Counted(descriptor, "wb", closefd=False)
    buffered = io.BufferedWriter(raw)
    return raw, io.TextIOWrapper(buffered, encoding="utf-8", errors="backslashreplace", line_buffering=True)


_stdout_count, _stdout = _printer(1)
_stderr_count, _stderr = _printer(2)


# --------------------------------------------------------------------------------------------------------------------
# What scripts and tools see


class ToolResponse:
    """What a tool returns: whether it worked, its data, and a message for the reader."""

    # Where a script finds it, and pickle too.
    __module__ = "__main__"

    def __init__(self, success=True, data=None, message=""):
        self.success = success
        self.data = data
        self.message = message

    def __repr__(self):
        return f"ToolResponse(success={self.success!r}, data={self.data!r}, message={self.message!r})"


def emit_result(data):
    """Ends the task: `data` is its result. The first call of a run counts."""
    _current().final_result(data)


def emit_intermediate(label, data):
    """Streams a partial result to whoever waits for the final one."""
    _current().intermediate(label, data)


def emit_log(message, level="info"):
    """Says something about the run without being part of its result."""
    _current().log(message, level)


_execution = None


def _current():
    execution = _execution
    if execution is None:
        raise RuntimeError("no script is running, so there is nobody to emit to")
    if _has_strays:
        _note_speaker()
    return execution


_base_globals = {
    "__builtins__": builtins,
    "asyncio": asyncio,
    "datetime": datetime,
    "json": json,
    "math": math,
    "os": os,
    "re": re,
    "time": time,
    "uuid": uuid,
    "ToolResponse": ToolResponse,
    "emit_intermediate": emit_intermediate,
    "emit_log": emit_log,
    "emit_result": emit_result,
}


# --------------------------------------------------------------------------------------------------------------------
# The channel


class Channel:
    """Lines to and from the host over one descriptor."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._buffer = b""

    def send(self, frame):
        # The newline in front ends whatever half a line somebody may have left on the channel.
        data = b"\n%s\n" % frame
        with self._lock:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, memoryview(data)[written:])

    def receive(self):
        """The next request, or None when the host is gone."""
        chunks = [self._buffer]
        while b"\n" not in chunks[-1]:
            chunk = os.read(self._descriptor, 1 << 16)
            if not chunk:
                return None
            chunks.append(chunk)
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        return _decode(line.decode("utf-8"), 0)[0]


# --------------------------------------------------------------------------------------------------------------------
# Values that are not JSON


class Rules:
    """What the host forwards: JSON that every reader can read. It repairs the rest; here the script still learns why."""

    deepest = longest_integer = 0
    seconds_after_result = 0.0

    def why_not(self, payload):
        """What some readers could not read of a value's JSON; None for nearly all."""
        if not self._is_deep(payload) and not self._is_long(payload):
            return None
        # Perhaps in its strings only. Without escaped quotes each quote begins or ends one.
        outside = b" ".join(payload.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
        if self._is_deep(outside):
            return f"is nested deeper than {self.deepest} levels, which many readers of JSON refuse; flatten it"
        if self._is_long(outside):
            return f"holds an integer of more than {self.longest_integer} digits, which many readers of JSON refuse; use str(…)"
        return None

    def _is_deep(self, json):
        if not self._has_many(json, b"[") and not self._has_many(json, b"{"):
            return False
        brackets = json.translate(_BRACKETS_ALIKE, _NO_BRACKETS)
        for _ in range(self.deepest):
            if not brackets:
                return False
            brackets = brackets.replace(b"[]", b"")
        return bool(brackets)

    def _has_many(self, json, bracket):
        # Not `count`, which looks at every byte of a long text: this jumps.
        at = -1
        for _ in range(self.deepest // 2):
            at = json.find(bracket, at + 1)
            if at < 0:
                return False
        return True

    def _is_long(self, json):
        # So many digits in a row are several in a row of every fiftieth byte, too.
        if b"0" * ((self.longest_integer + 1) // 50) not in json[::50].translate(_DIGITS_ALIKE):
            return False
        return b"0" * (self.longest_integer + 1) in json.translate(_DIGITS_ALIKE)


_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_BRACKETS_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_rules = Rules()


def _to_json(value, where, most):
    """`value` as JSON in UTF-8, or an exception that says which part of it cannot be, or how much too long it is."""
    try:
        text = _encode(value)
        # Before another copy is made: a value this long may be all that fits into the cell.
        payload = text.encode("utf-8") if len(text) <= most else text
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{where}: the text holds a lone surrogate ({error.object[error.start]!a}), which is not valid Unicode"
        ) from None
    except RecursionError:
        raise ValueError(f"{where} is nested deeper than {_rules.deepest} levels, which many readers of JSON refuse; flatten it") from None
    except (TypeError, ValueError) as error:
        found = _offender(value, where, set(), 0)
        raise type(error)(found or f"{where}: {error}") from None
    if len(payload) > most:
        raise ValueError(
            f"{where} is {len(payload):,} bytes as JSON, and all output together may be {most:,}; "
            "emit less, or raise max_output_bytes"
        )
    # What is shorter can be neither deep nor a long number.
    if len(payload) > 120:
        fault = _rules.why_not(payload)
        if fault:
            raise ValueError(f"{where} {fault}")
    return payload


def _offender(value, path, seen, depth):
    """Names the first part of `value` that JSON cannot hold."""
    if isinstance(value, int) and value.bit_length() > 4 * _rules.longest_integer:
        return f"{path} is an integer of more than {_rules.longest_integer} digits, which many readers of JSON refuse; use str(…)"
    if value is None or isinstance(value, (bool, int, str)):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{path} is {value!r}, and JSON has no such number"
    kind = f"{type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")
    if not isinstance(value, (dict, list, tuple)):
        hints = {
            "set": "; use list(…)",
            "frozenset": "; use list(…)",
            "bytes": "; use .decode() or base64",
            "bytearray": "; use .decode() or base64",
            "datetime.datetime": "; use .isoformat()",
            "datetime.date": "; use .isoformat()",
            "decimal.Decimal": "; use float(…) or str(…)",
            "__main__.ToolResponse": "; use its .data",
        }
        hint = hints.get(kind, "; use .item()" if hasattr(value, "item") else "; use .tolist()" if hasattr(value, "tolist") else "")
        return f"{path} is a {kind}, which JSON cannot hold{hint}"
    if id(value) in seen:
        return f"{path} refers back to a value that contains it"
    if depth > 200:
        return None
    seen = seen | {id(value)}
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict) and not isinstance(key, (str, int, float, bool, type(None))):
            return f"{path} has the key {_shorten(repr(key), 80)}, a {type(key).__name__}; JSON keys are text"
        found = _offender(item, f"{path}[{_shorten(repr(key), 80)}]", seen, depth + 1)
        if found:
            return found
    return None


def _shorten(text, limit):
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def _text(text):
    """A JSON string in UTF-8, whatever a script put into it."""
    try:
        return _quote(text).encode("utf-8")
    except UnicodeEncodeError:
        return _quote(text.encode("utf-8", "backslashreplace").decode("utf-8")).encode("utf-8")


# --------------------------------------------------------------------------------------------------------------------
# One execution


class ScriptTimeout(BaseException):
    """Raised in the script when its time is up. Not an Exception, so that `except Exception` does not swallow it."""

    __module__ = "__main__"


class Execution:
    """One script on its way: what it emits, and under which seal."""

    # Of a step of a session: rings soon after its result.
    alarm = None

    def __init__(self, channel, request):
        self._channel = channel
        self.owner = os.getpid()
        self._stamp = b'"execution_id":%s,"seal":%s' % (_text(request["execution_id"]), _text(request["seal"]))
        self._most = request["max_output_bytes"]
        self._stdout_before, self._stderr_before = _stdout_count.written, _stderr_count.written
        self._lock = threading.Lock()
        self.has_result = False

    def _send(self, kind, fields=b""):
        if os.getpid() != self.owner:
            raise RuntimeError("emit_… works in the process that runs the script, not in one it forked")
        # What was printed before this frame shall reach the host before it.
        _flush()
        stdout = _stdout_count.written - self._stdout_before
        stderr = _stderr_count.written - self._stderr_before
        self._channel.send(b'{"type":"%s",%s,"stdout":%d,"stderr":%d%s}' % (kind, self._stamp, stdout, stderr, fields))

    def final_result(self, data):
        payload = _to_json(data, "emit_result: data", self._most)
        with self._lock:
            first, self.has_result = not self.has_result, True
        if first:
            self._send(b"final_result", b',"data":' + payload)
            if self.alarm is not None:
                self.alarm.hasten(_rules.seconds_after_result)
        else:
            self.log("emit_result was called again; the first result stands", "warning")

    def intermediate(self, label, data):
        payload = _to_json(data, "emit_intermediate: data", self._most)
        self._send(b"intermediate", b',"label":%s,"data":%s' % (_text(str(label)), payload))

    def log(self, message, level="info"):
        self._send(b"log", b',"level":%s,"message":%s' % (_text(str(level)), _text(str(message))))

    def error(self, message, trace=None, timed_out=False):
        trace = b"null" if trace is None else _text(_shorten(trace, MAX_TRACEBACK))
        fields = b',"message":%s,"traceback":%s' % (_text(_shorten(message, MAX_MESSAGE)), trace)
        self._send(b"error", fields + (b',"timed_out":true' if timed_out else b""))

    def done(self):
        self._send(b"script_done")


def _flush():
    for stream in (_stdout, _stderr):
        try:
            stream.flush()
        except (ValueError, OSError):
            pass  # The script closed it.


class Alarm:
    """The guest's own time limit: a courtesy that gives the script's traceback. The host's is the law."""

    def __init__(self, seconds):
        self._seconds = seconds
        self._armed = False

    def _ring(self, _number, _frame):
        if self._armed:
            self._armed = False
            raise ScriptTimeout()

    def __enter__(self):
        # Not `signal.signal`, which turns numbers into enumerations and back.
        _signal.signal(_signal.SIGALRM, self._ring)
        self._armed = True
        _signal.setitimer(_signal.ITIMER_REAL, self._seconds)

    def hasten(self, seconds):
        """Rings after so long, if it would have rung later."""
        if self._armed:
            left, _ = _signal.setitimer(_signal.ITIMER_REAL, seconds)
            if 0 < left < seconds:
                _signal.setitimer(_signal.ITIMER_REAL, left)

    def __exit__(self, *_):
        # Disarmed first: a signal already on its way then finds nothing to do.
        self._armed = False
        _signal.setitimer(_signal.ITIMER_REAL, 0)


class Strays:
    """Threads and processes that outlive the step of a session that started them.

    They may: a server, a pool of workers. But nobody can tell their words from those of the step during which they speak, so that step says
    in a log line that they are there.
    """

    def __init__(self):
        self._steps = 0
        # By the kernel's numbers, which are not given away again soon.
        self._threads = set()
        self.a_thread_spoke = False

    def begin_step(self, execution):
        self._steps += 1
        self.a_thread_spoke = False
        if self._steps > 1 and _has_children():
            execution.log("a process of an earlier step is still there; what it prints counts as this step's", "info")

    def end_step(self, execution):
        global _has_strays
        if self.a_thread_spoke:
            execution.log("a thread of an earlier step has printed or emitted; that counts as this step's", "warning")
        if _thread._count():
            self._threads.update(int(number) for number in os.listdir("/proc/self/task"))
            self._threads.difference_update(_tool_threads, (_main_thread.native_id,))
            _has_strays = bool(self._threads)

    def note_speaker(self):
        if not self.a_thread_spoke and _thread.get_native_id() in self._threads:
            self.a_thread_spoke = True


_strays = Strays()
_note_speaker = _strays.note_speaker
# Asked on the way of every run, so it is no more than a flag.
_has_strays = False
_tool_threads = set()


def _has_children():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


class Scripts:
    """Runs scripts, with fresh globals each time or with those of a session."""

    def __init__(self, module=None):
        self._session = None
        self._steps = 0
        # Made ahead of the first run, which is the only one most cells see.
        self._prepared = module

    def execute(self, channel, request):
        global _execution
        _execution = execution = Execution(channel, request)
        owner = os.getpid()
        try:
            if request.get("secrets"):
                os.environ.update(request["secrets"])
            missing = [name for name in request.get("required_secrets") or () if not os.environ.get(name)]
            if missing:
                execution.error(f"Missing required environment variables: {missing}")
            else:
                self._run(execution, request)
        finally:
            if os.getpid() != owner:
                # A child that the script forked has come to the script's end. It is not the harness.
                _flush()
                os._exit(0)
            if execution.alarm is not None:
                _strays.end_step(execution)
            # From here on nobody speaks for this execution, whatever of it runs on. Before its end is told: who hears of it may go on at once.
            _execution = None
            execution.done()

    def _run(self, execution, request):
        owner, interactive = os.getpid(), request.get("mode") == "interactive"
        script, timeout = request["script"], request["timeout"]
        name = self._name_of_next(interactive)
        # mtime None keeps linecache from looking for a file of that name.
        linecache.cache[name] = (len(script), None, script.splitlines(True), name)
        module = self._module(interactive)
        alarm = Alarm(timeout)
        if interactive:
            # In a session others wait for the end of this step. A script by itself is killed.
            execution.alarm = alarm
            _strays.begin_step(execution)
        try:
            try:
                with alarm:
                    run_code(script, name, module.__dict__, echo=interactive)
                    if not interactive and _thread._count():
                        _join_threads()
            except BaseException as error:
                if os.getpid() != owner:
                    _die_as_a_child(error)
                raise
        except ScriptTimeout as error:
            if execution.has_result:
                execution.log("the script went on after emit_result and was interrupted", "warning")
            else:
                execution.error(f"Script timed out after {timeout:g}s", _trace(error), timed_out=True)
        except SystemExit as error:
            if not execution.has_result:
                code = "" if error.code is None else repr(error.code)
                execution.error(f"Script called sys.exit({code})", _trace(error))
        except BaseException as error:
            message = "".join(traceback.format_exception_only(type(error), error)).strip()
            summary = message.splitlines()[-1] if isinstance(error, SyntaxError) else message
            if execution.has_result:
                execution.log(f"the script raised after emit_result: {summary}", "warning")
            else:
                execution.error(_with_line(summary, error), _trace(error))

    def _name_of_next(self, interactive):
        self._steps += 1
        return SCRIPT_NAME if not interactive or self._steps == 1 else f"<agent_script step {self._steps}>"

    def _module(self, interactive):
        if interactive and self._session is not None:
            return self._session
        module, self._prepared = self._prepared or _new_main(), None
        sys.modules["__main__"] = module
        if interactive:
            self._session = module
        return module


def _new_main():
    """A real `__main__`, so that pickle, dataclasses and `if __name__ == "__main__"` find what they expect."""
    module = types.ModuleType("__main__")
    module.__dict__.update(_base_globals)
    return module


def run_code(script, name, namespace, echo):
    """Compiles and runs a script; with `echo`, the value of a last expression is shown as a prompt would."""
    if not echo:
        exec(compile(script, name, "exec", dont_inherit=True), namespace)
        return
    tree = compile(script, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), namespace)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), namespace)
        if value is not None:
            print(repr(value))


def _join_threads():
    """As at the end of any Python program: threads that are not daemons may finish."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _die_as_a_child(error):
    if isinstance(error, SystemExit) and (error.code is None or isinstance(error.code, int)):
        code = error.code or 0
    else:
        code = 1
        print(_trace(error), end="", file=_stderr)
    _flush()
    os._exit(code & 0xFF)


def _trace(error):
    """The traceback without the harness's own frames: they are nobody's business."""
    try:
        shown = traceback.TracebackException.from_exception(error)
        told = [shown]
        while told:
            part = told.pop()
            part.stack = traceback.StackSummary.from_list([frame for frame in part.stack if frame.filename != __file__])
            told.extend(linked for linked in (part.__cause__, part.__context__) if linked is not None)
        return "".join(shown.format())
    except Exception as again:  # An exception's own __str__ may raise.
        return f"{type(error).__name__} (its traceback could not be shown: {type(again).__name__})\n"


def _with_line(summary, error):
    if isinstance(error, SyntaxError) and error.lineno and error.filename and error.filename.startswith("<agent"):
        return f"{summary} (line {error.lineno}: {_shorten((error.text or '').strip(), 200)})"
    return summary


# --------------------------------------------------------------------------------------------------------------------
# Tools and preloads


class Template:
    """What every cell of this zygote shares: the tools, the modules imported ahead, and what went wrong with either."""

    def __init__(self):
        self.warnings = []
        self.tools = []
        self._loop = None

    def has_anything_to_load(self, settings):
        return bool(self._tool_files() or settings["preload"] or settings["dependencies"])

    def _tool_files(self):
        try:
            return sorted(name for name in os.listdir(TOOLS_DIRECTORY) if name.endswith(".py"))
        except FileNotFoundError:
            return []

    def load_tools(self):
        names = self._tool_files()
        before = dict(_base_globals)
        for name in names:
            path = os.path.join(TOOLS_DIRECTORY, name)
            try:
                with io.open_code(path) as file:
                    code = compile(file.read(), path, "exec", dont_inherit=True)
                _base_globals["__name__"], _base_globals["__file__"] = name[:-3], path
                exec(code, _base_globals)
            except BaseException as error:
                self.warnings.append(f"tool file {name} did not load: {_cause(error, path)}")
        for gone in ("__name__", "__file__"):
            _base_globals.pop(gone, None)
        for name, value in list(_base_globals.items()):
            if before.get(name) is not value and inspect.isfunction(value) and value.__code__.co_filename.startswith(TOOLS_DIRECTORY):
                self.tools.append(name)
                if inspect.iscoroutinefunction(value):
                    _base_globals[name] = self._as_sync(value)

    def _as_sync(self, function):
        def call(*arguments, **named):
            return asyncio.run_coroutine_threadsafe(function(*arguments, **named), self._running_loop()).result()

        call.__name__, call.__qualname__ = function.__name__, function.__qualname__
        call.__doc__, call.__module__, call.__wrapped__ = function.__doc__, function.__module__, function
        return call

    def _running_loop(self):
        # Started on first use, in the cell: a zygote with a second thread could not be cloned safely.
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            thread = threading.Thread(target=self._loop.run_forever, name="tool-loop", daemon=True)
            thread.start()
            # It works for every step, whichever came first.
            _tool_threads.add(thread.native_id)
        return self._loop

    def preload(self, modules, dependencies):
        wanted = modules if modules is not None else [name for entry in dependencies for name in self._modules_of(entry)]
        for name in wanted:
            threads = threading.active_count()
            try:
                importlib.import_module(name)
            except BaseException as error:
                self.warnings.append(f"preloading {name} failed: {_cause(error)}")
            if threading.active_count() > threads:
                self.warnings.append(f"preloading {name} started a thread, which cells will not have")

    def _modules_of(self, dependency):
        """The modules that a requirement such as `scikit-learn>=1.4` brings."""
        from importlib import metadata

        wanted = _normal(re.split(r"[^A-Za-z0-9._-]", dependency.strip(), maxsplit=1)[0])
        for distribution in metadata.distributions(path=[LAYER_DIRECTORY]):
            if _normal(distribution.metadata["Name"] or "") != wanted:
                continue
            listed = (distribution.read_text("top_level.txt") or "").split()
            if not listed:
                tops = {str(file).split("/", 1)[0] for file in distribution.files or () if str(file).endswith((".py", ".so"))}
                listed = [top.split(".", 1)[0] for top in sorted(tops)]
            return [name for name in dict.fromkeys(listed) if name.isidentifier() and not name.startswith("_")]
        return []


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


#: What a report may hold. It is one message to the host, and the kernel carries no message of any length.
LONGEST_WARNING, MOST_WARNINGS, MOST_TOOL_BYTES = 500, 50, 50_000


def _one_line(text):
    """Text of somebody else's as a part of a line of ours: bounded, printable in one line, and whole Unicode."""
    shown = " ".join(text[: 2 * LONGEST_WARNING].split()).encode("utf-8", "replace").decode("utf-8")
    return shown if len(text) <= LONGEST_WARNING else shown[:LONGEST_WARNING] + "…"


def _cause(error, path=None):
    """One line: what went wrong and, for a file, where in it."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    if line is None and path is not None:
        for frame in traceback.extract_tb(error.__traceback__):
            line = frame.lineno if frame.filename == path else line
    try:
        said = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:
        said = "it cannot say why"
    text = _one_line(f"{type(error).__name__}: {said}")
    return text if line is None else f"line {line}: {text}"


# --------------------------------------------------------------------------------------------------------------------
# Zygote and cell


def _load_cell_library(descriptor):
    path = f"/proc/self/fd/{descriptor}"
    loader = importlib.machinery.ExtensionFileLoader("belljar_cell", path)
    spec = importlib.util.spec_from_file_location("belljar_cell", path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    os.close(descriptor)
    return module


def _read_all(descriptor):
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return file.read()


_warm_up_request = {
    "type": "execute",
    "execution_id": "warm-up",
    "seal": "warm-up",
    "script": "x = {'warm': [1, 2.5, 'x', None]}\nemit_log('x')\nemit_intermediate('x', x)\nemit_result(x)\n",
    "mode": "plan",
    "timeout": 60.0,
    "max_output_bytes": 1 << 20,
    "required_secrets": [],
    "secrets": {},
}
WARM_UP = json.dumps(_warm_up_request).encode() + b"\n"


def warm_up(module):
    """Runs a small script end to end, to take the page faults of a first run before anybody waits for them."""
    global _execution
    main = sys.modules["__main__"]
    nowhere = os.open("/dev/null", os.O_WRONLY)
    channel = Channel(nowhere)
    channel._buffer = WARM_UP
    Scripts(module).execute(channel, channel.receive())
    os.close(nowhere)
    linecache.cache.pop(SCRIPT_NAME, None)
    sys.modules["__main__"] = main
    _execution = None


# Enough for the interpreter to have adapted its code to what runs in it, which it would else do anew in every cell.
WARM_UPS = 20

# Of these modules the hooks that repair locks and lists of threads: nothing of theirs is broken by cloning a process with one thread.
_NEED_NO_REPAIR = ("threading", "logging", "concurrent.futures.thread")


_repairs = []


class Generators:
    """Notices random generators that are made without a seed while tools are loaded: each cell has to seed them anew.

    One that was given a seed goes on as it was made, in every cell alike: that is what a seed is for.
    """

    def __init__(self):
        self._unseeded = []

    def __enter__(self):
        import random
        import weakref

        self._class, self._seed = random.Random, random.Random.seed
        original, unseeded = self._seed, self._unseeded

        def seed(generator, a=None, *rest, **named):
            original(generator, a, *rest, **named)
            unseeded[:] = [known for known in unseeded if known() not in (None, generator)]
            if a is None:
                unseeded.append(weakref.ref(generator))

        random.Random.seed = seed
        return self

    def __exit__(self, *_):
        self._class.seed = self._seed

    def seed_anew(self):
        for known in self._unseeded:
            generator = known()
            if generator is not None:
                generator.seed()


def _change_authkey():
    process = sys.modules["multiprocessing.process"].current_process()
    process.authkey = os.urandom(32)


def prepare_for_clone():
    if "multiprocessing.process" in sys.modules:
        # Whoever knows the key may send objects to unpickle to the processes of a script.
        _repairs.append(_change_authkey)
    for hooks in _fork_hooks:
        if any(getattr(hook, "__module__", "") in _NEED_NO_REPAIR for hook in hooks.values()):
            continue
        if "before" in hooks:
            hooks["before"]()
        if "after_in_child" in hooks:
            _repairs.append(hooks["after_in_child"])
    if "numpy" in sys.modules:
        # Python's own generators are re-seeded by its fork hooks; numpy's global one is not.
        _repairs.append(sys.modules["numpy"].random.seed)


def _repair_after_clone():
    """What `os.fork` would have done, as far as it matters; and from here on it does all of it, for the script's own forks."""
    for repair in _repairs:
        repair()
    os.register_at_fork = _register_at_fork
    for hooks in _fork_hooks:
        _register_at_fork(**hooks)
    _main_thread._native_id = _thread.get_native_id()
    # The zygote ignores it, a cell does not, and Python shall know.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)


_main_thread = threading.main_thread()


def prepare(settings):
    """Everything that all cells share: tools and modules loaded, code warm. The template, and two modules for scripts made ahead."""
    import site

    site.setquit()
    site.sethelper()
    if os.path.isdir(LAYER_DIRECTORY):
        site.addsitedir(LAYER_DIRECTORY)
    sys.stdout = sys.__stdout__ = _stdout
    sys.stderr = sys.__stderr__ = _stderr
    _rules.__dict__.update(settings["rules"])
    template = Template()
    if template.has_anything_to_load(settings):
        with Generators() as generators:
            template.load_tools()
            template.preload(settings["preload"], settings["dependencies"])
        _repairs.append(generators.seed_anew)
    # As for any script: a module that it writes next to itself can be imported. Last, so that nothing above is looked for there.
    sys.path.insert(0, WORKSPACE)
    for _ in range(WARM_UPS):
        warm_up(_new_main())
    spare, main = _new_main(), _new_main()
    gc.collect()
    gc.freeze()
    return template, main, spare


def report(template):
    """What the host is told once everything is prepared: bounded, whatever tools and packages came up with."""
    tools, room = [], MOST_TOOL_BYTES
    for name in map(_one_line, template.tools):
        room -= len(json.dumps(name)) + 2
        if room < 0:
            break
        tools.append(name)
    warnings = template.warnings[:MOST_WARNINGS]
    untold = len(template.warnings) - len(warnings)
    if untold:
        warnings.append(f"{untold} more warnings are not listed")
    if len(tools) < len(template.tools):
        warnings.append(f"{len(template.tools) - len(tools)} tools can be called but are not listed: there are too many")
    return {
        "protocol": PROTOCOL,
        "python": "%d.%d.%d" % sys.version_info[:3],
        "tools": tools,
        "warnings": warnings,
    }


def zygote():
    """Prepares once, then clones a cell for every request of the host."""
    control = socket.socket(fileno=0)
    cells = _load_cell_library(3)
    cells.configure(_read_all(4), 5)
    with open(TEMPLATE_FILE, encoding="utf-8") as file:
        settings = json.load(file)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    template, main, spare = prepare(settings)
    control.send(json.dumps({"type": "zygote_ready", **report(template)}).encode())
    control.detach()
    prepare_for_clone()
    # Returns in cells only.
    channel, hurry = cells.serve(0)
    cell(channel, main, None if hurry else spare)


READY = b'{"type":"ready","protocol":%d}' % PROTOCOL


def cell(descriptor, main, spare):
    """Serves the host until it hangs up. By now the process is confined."""
    channel = enter(descriptor)
    if spare is not None:
        warm_up(spare)
    channel.send(READY)
    serve(channel, main)


def enter(descriptor):
    """What a process does first that is to run a script."""
    _repair_after_clone()
    os.chdir(WORKSPACE)
    return Channel(descriptor)


def serve(channel, main):
    """Does what the host asks for until it hangs up."""
    scripts = Scripts(main)
    while True:
        request = channel.receive()
        if request is None:
            os._exit(0)
        if request.get("type") == "execute":
            scripts.execute(channel, request)


if __name__ == "__main__":
    # Under a name of its own: `__main__` will be the script.
    sys.modules["belljar_harness"] = sys.modules["__main__"]
    zygote()
