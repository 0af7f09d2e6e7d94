# attack: functions_of_the_harness_replaced_in_the_script
# expect: no_result
emit_result = emit_log = emit_intermediate = lambda *_: None
emit_result("to nobody")

# attack: functions_of_the_harness_replaced_in_the_harness
# expect: no_result
harness.execution.emit_result = harness.execution.Execution.final_result = lambda *_: None
harness.execution.emit_result("to nobody")

# attack: an_end_that_is_never_told
# expect: timeout_wall
# seconds: 1
harness.execution.Execution.done = lambda self: None

# attack: an_error_that_is_never_told
# expect: no_result
harness.execution.Execution.error = lambda *_, **__: None
raise ValueError("hidden")

# attack: an_error_turned_into_a_result_is_the_guests_own_word
# expect: ok "mine"
harness.execution.Execution.error = lambda self, *_, **__: self.final_result("mine")
raise ValueError("hidden")

# attack: an_error_turned_into_a_timeout
# expect: exception
real = harness.execution.Execution.error
harness.execution.Execution.error = lambda self, message, *_, **__: real(self, "Script timed out after 30s", None, timed_out=True)
raise ValueError("hidden")

# attack: json_patched
# expect: ok {"real":1}
json.dumps = json.loads = lambda *_, **__: "forged"
json.JSONEncoder.encode = lambda *_: '"forged"'
emit_result({"real": 1})

# attack: the_encoder_of_the_harness_patched
# expect: ok "forged by itself"
harness.values.encode = lambda value: '"forged by itself"'
emit_result({"real": 1})

# attack: writes_that_go_nowhere
# expect: timeout_wall
# seconds: 1
os.write = lambda fd, data: len(data)
emit_result("to nobody")

# attack: writes_that_never_finish
# expect: timeout_wall
# seconds: 1
os.write = lambda fd, data: 0
emit_result("to nobody")

# attack: writes_that_fail
# expect: exited 1
def fail(*_): raise OSError("no")
os.write = fail

# attack: another_process_id
# expect: exited 0
# The harness takes itself for a child of the script's and ends as one.
os.getpid = lambda: 4096

# attack: the_builtins_patched
# expect: no_result
import builtins
for name in ("isinstance", "len", "print", "type", "str", "getattr", "BaseException"):
    setattr(builtins, name, None)
raise SystemExit

# attack: the_tracebacks_patched
# expect: exception
traceback.format_exception_only = lambda *_: ["oom: the kernel killed it"]
traceback.TracebackException.from_exception = None
raise ValueError("hidden")

# attack: the_sockets_patched
# expect: ok "real"
socket.socket = socket.socketpair = None
emit_result("real")

# attack: the_modules_thrown_away
# expect: ok "real"
emit = emit_result
sys.modules.clear()
emit("real")

# attack: the_seal_overwritten_in_memory
# expect: timeout_wall
# seconds: 1
stamp = harness.execution.running._stamp
ctypes.memmove(id(stamp) + bytes.__basicsize__ - 1, b"x" * len(stamp), len(stamp))
emit_result("to nobody")

# attack: the_limits_overwritten_in_the_harness
# expect: output
harness.execution.running.most = 1 << 40
emit_result("x" * (4 << 20))

# attack: the_request_overwritten_in_the_frames
# expect: timeout_wall
# seconds: 1
here = sys._getframe()
while here.f_back: 
    here = here.f_back
    if isinstance(here.f_locals.get("request"), dict):
        here.f_locals["request"].update(timeout=1e6, max_output_bytes=1 << 40, mode="interactive")
signal.setitimer(signal.ITIMER_REAL, 0)
while True: pass

# attack: the_counts_of_prints_overwritten
# expect: timeout_wall
# seconds: 1
# A frame with an impossible count is no frame, so the host never hears of the end.
harness.output.stdout_count.written = -5
print("x")
harness.output.stdout_count.written = -500
emit_result("to nobody")

# attack: every_object_the_collector_knows_tampered_with
# expect: exited 1
for found in gc.get_objects():
    if type(found) is harness.channel.Channel: found.descriptor = 1
emit_result("printed, not emitted")

# attack: the_clock_of_the_guest_stopped
# expect: timeout_wall
# seconds: 1
signal.setitimer = signal.signal = signal.alarm = lambda *_: None
time.time = time.monotonic = time.perf_counter = lambda: 0
harness.alarm.Alarm._ring = lambda *_: None
while True: pass

# attack: an_alarm_that_is_swallowed
# expect: timeout_wall
# seconds: 1
while True:
    try:
        while True: pass
    except BaseException: pass

# attack: a_trace_function_that_raises_in_the_harness
# expect: no_result
def spy(frame, event, argument):
    if os.path.dirname(frame.f_code.co_filename) == os.path.dirname(harness.__file__): raise SystemExit
    return spy
sys.settrace(spy)
emit_result = None

# attack: a_profile_function_that_rewrites_what_the_harness_sends
# expect: ok "mine"
frame = sealed("final_result", data="mine")
def spy(here, event, argument):
    if event == "call" and here.f_code.co_name == "send":
        sys.setprofile(None)
        raw(frame)
sys.setprofile(spy)
raise ValueError("hidden")

# attack: an_exit_handler_that_speaks_after_the_end
# expect: no_result
frame = sealed("final_result", data="forged")
atexit.register(raw, frame)

# attack: a_destructor_that_speaks_after_the_end
# expect: no_result
frame = sealed("final_result", data="forged")
class Grave:
    def __del__(self): raw(frame)
sys.modules["grave"] = Grave()

# attack: an_exception_that_breaks_whoever_looks_at_it
# expect: exception
class Odd(BaseException):
    def __str__(self): raise self
    __repr__ = __str__
raise Odd

# attack: an_exception_that_ends_whoever_looks_at_it
# expect: exited 0
class Odd(Exception):
    def __str__(self): _exit(0)
raise Odd

# attack: text_that_lies_about_its_type
# expect: exited 0
class Text(str):
    def encode(self, *_): _exit(0)
    def __str__(self): return self
    def __len__(self): _exit(0)
emit_log(Text("x"))
raise ValueError(Text("x"))

# attack: the_stack_of_the_harness_used_up
# expect: exception
sys.setrecursionlimit(1_000_000)
def deeper(n): return n and deeper(n - 1)
sys.setrecursionlimit(60)
raise ValueError("real")
