# What an attacker brings along. Everything here is open to any script: it shares its interpreter
# with the harness.
import atexit, ctypes, errno, gc, signal, socket, struct, subprocess, sys, threading, traceback

harness = sys.modules["belljar_harness"]
CHANNEL = 900
_write, _dumps, _exit = os.write, json.dumps, os._exit


def raw(data, fd=CHANNEL):
    """Bytes straight onto a descriptor, past the harness."""
    view = memoryview(data)
    while view:
        view = view[_write(fd, view):]


def seal_from_frames():
    here = sys._getframe()
    while here is not None:
        if isinstance(here.f_locals.get("request"), dict):
            return here.f_locals["request"]["seal"]
        here = here.f_back


def seal_from_gc():
    for found in gc.get_objects():
        if type(found) is harness.execution.Execution:
            return re.search(rb'"seal":"([0-9a-f]{32})"', found._stamp)[1].decode()


def seal_from_memory():
    """The hard way: reading the request out of the process's own memory, with no help from Python objects."""
    pattern = re.compile(rb'"seal": ?"([0-9a-f]{32})"')
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps.readlines():
            span, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            start, end = (int(part, 16) for part in span.split("-"))
            try:
                memory.seek(start)
                found = pattern.search(memory.read(end - start))
            except (OSError, ValueError, OverflowError):
                continue
            if found:
                return found[1].decode()


def unsealed(kind, **fields):
    return b"\n" + _dumps({"type": kind, "execution_id": "known", **fields}).encode() + b"\n"


def sealed(kind, **fields):
    """A frame that the host cannot tell from one of the harness's own."""
    return unsealed(kind, seal=seal_from_frames(), **fields)


FORGED = unsealed("final_result", data="forged") + unsealed("script_done")
