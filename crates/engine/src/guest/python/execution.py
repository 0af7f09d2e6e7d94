"""One script on its way: the frames it sends, and under which seal."""

import os
import threading

from . import strays
from .output import flush, stderr_count, stdout_count
from .values import rules, shorten, text, to_json

MAX_MESSAGE = 64 * 1024
MAX_TRACEBACK = 256 * 1024
# About as long is a frame without its forms.
AROUND_A_DISPLAY = 200

# The execution that `emit_…` speaks for.
running = None
# Calls of tools of the host's, once there were any.
calls = None


class Execution:
    """Sends what the script emits. The fields are encoded here, so that each frame is one write."""

    # Of a step of a session: rings soon after its result.
    alarm = None
    # Bytes of all frames.
    sent = 0
    # What was displayed: how often, in how many bytes, and how often it went wrong.
    displays = displayed_bytes = failed_forms = 0
    # What of it was left out: whether the host has heard of any, and how much it has not heard of.
    has_left_out, left_out = False, 0

    def __init__(self, channel, request):
        self.channel = channel
        self.owner = os.getpid()
        self._stamp = b'"execution_id":%s,"seal":%s' % (text(request["execution_id"]), text(request["seal"]))
        self.most = request["max_output_bytes"]
        self._stdout_before, self._stderr_before = stdout_count.written, stderr_count.written
        self._lock = threading.Lock()
        self.has_result = False

    def send(self, kind, fields=b""):
        if os.getpid() != self.owner:
            raise RuntimeError(
                "emit_… and display work in the process that runs the script, not in one it forked"
            )
        # What was printed before this frame must reach the host before it.
        flush()
        stdout = stdout_count.written - self._stdout_before
        stderr = stderr_count.written - self._stderr_before
        frame = b'{"type":"%s",%s,"stdout":%d,"stderr":%d%s}' % (kind, self._stamp, stdout, stderr, fields)
        self.sent += frame.__len__()
        self.channel.send(frame)

    def final_result(self, data, strict=False):
        payload = to_json(data, "emit_result: data", self.most, strict)
        with self._lock:
            first, self.has_result = not self.has_result, True
        if first:
            self.send(b"final_result", b',"data":' + payload)
            if self.alarm is not None:
                self.alarm.hasten(rules.seconds_after_result)
        else:
            self.log("emit_result was called again; the first result stands", "warning")

    def intermediate(self, label, data, strict=False):
        payload = to_json(data, "emit_intermediate: data", self.most, strict)
        self.send(b"intermediate", b',"label":%s,"data":%s' % (text(str(label)), payload))

    def log(self, message, level="info"):
        self.send(b"log", b',"level":%s,"message":%s' % (text(str(level)), text(str(message))))

    def room_for_displays(self):
        """Half of what all else leaves. The other half is for what is still to come."""
        printed = stdout_count.written - self._stdout_before + stderr_count.written - self._stderr_before
        return (self.most - printed - self.sent + self.displayed_bytes) // 2 - self.displayed_bytes

    def display(self, forms, left_out):
        """`forms` are the fields of one JSON object. What is left out is told at once, and how much last."""
        with self._lock:
            if not forms and self.has_left_out:
                self.left_out += left_out
                return
            if forms:
                self.displays += 1
                self.displayed_bytes += len(forms) + AROUND_A_DISPLAY
            if left_out:
                self.has_left_out = True
        fields = b',"data":{%s}' % forms
        self.send(b"display", fields + b',"left_out":%d' % left_out if left_out else fields)

    def error(self, message, trace=None, timed_out=False, exit_code=None):
        trace = b"null" if trace is None else text(shorten(trace, MAX_TRACEBACK))
        fields = b',"message":%s,"traceback":%s' % (text(shorten(message, MAX_MESSAGE)), trace)
        if timed_out:
            fields += b',"timed_out":true'
        if exit_code is not None:
            fields += b',"exit_code":%d' % exit_code
        self.send(b"error", fields)

    def stdin(self):
        self.send(b"stdin")

    def done(self):
        if calls is not None:
            calls.give_up(self)
        if self.left_out:
            self.send(b"display", b',"data":{},"left_out":%d' % self.left_out)
        self.send(b"script_done")


def emit_result(data, strict=False):
    """Ends the task: `data` is its result. The first call of a run counts.

    With `strict`, what is not JSON is refused. Otherwise well-known types are converted.
    """
    current().final_result(data, strict)


def emit_intermediate(label, data, strict=False):
    """Streams a partial result to whoever waits for the final one."""
    current().intermediate(label, data, strict)


def emit_log(message, level="info"):
    """Says something about the run without being part of its result."""
    current().log(message, level)


def current():
    execution = running
    if execution is None:
        raise RuntimeError("no script is running, so there is nobody to emit to")
    if strays.exist:
        strays.note_speaker()
    return execution
