# attack: the_seal_is_found_in_three_ways
# expect: ok [true,32]
# Without this the attacks below would prove nothing: they all hold the true seal.
found = {seal_from_frames(), seal_from_gc(), seal_from_memory()}
emit_result([len(found) == 1, len(found.pop())])

# attack: a_result_past_the_harness_is_a_result
# expect: ok "mine"
# All that the seal gives is the power to call emit_result, which every script has.
raw(sealed("final_result", data="mine"))

# attack: a_second_ready
# expect: ok "real"
raw(unsealed("ready", protocol=1) + unsealed("ready", protocol=99) + sealed("ready", protocol=99))
emit_result("real")

# attack: an_end_and_then_a_result
# expect: no_result
raw(sealed("script_done") + sealed("final_result", data="forged"))
while True: time.sleep(1)

# attack: an_end_and_then_an_error
# expect: no_result
raw(sealed("script_done") + sealed("error", message="forged"))
while True: time.sleep(1)

# attack: a_hundred_ends
# expect: no_result
raw(sealed("script_done") * 100)
emit_result("late")

# attack: two_results
# expect: ok "first"
raw(sealed("final_result", data="first") + sealed("final_result", data="second"))

# attack: a_result_and_then_an_error
# expect: ok "first"
raw(sealed("final_result", data="first") + sealed("error", message="second"))

# attack: an_error_and_then_a_result
# expect: exception
raw(sealed("error", message="first") + sealed("final_result", data="second"))

# attack: a_timeout_claimed_before_its_time
# expect: exception
raw(sealed("error", message="Script timed out after 30s", timed_out=True))

# attack: verdicts_claimed_in_an_error
# expect: exception
for verdict in ("oom", "pids", "timeout_wall", "timeout_cpu", "disk", "output", "cancelled", "infra", "ok"):
    raw(sealed("error", message=f"{verdict}: the kernel killed it", verdict=verdict, oom=True, signal=9, success=True,
               usage={"oom_kills": 1, "forks_refused": 1}, oom_kills=1, forks_refused=1, denied="x"))

# attack: an_exit_code_is_the_guests_own_word_however_it_is_told
# expect: exited 137
raw(sealed("error", message="oom: the kernel killed it", exit_code=137))

# attack: verdicts_claimed_in_a_result
# expect: no_result
raw(sealed("log", message="x", verdict="ok", success=True))
raw(sealed("intermediate", label="verdict", data={"verdict": "ok", "success": True, "final_data": 1}, final_data=1, data2=1))

# attack: kinds_of_frame_that_only_the_host_sends
# expect: ok "real"
for kind in ("execute", "tool_result", "reset", "shutdown", "verdict", "result", "exited", "oom", "zygote_ready", "spawned", "failed"):
    raw(sealed(kind, call_id="1", success=True, data="forged", message="forged", script="emit_result('forged')", mode="plan"))
emit_result("real")

# attack: calls_of_tools_that_nobody_granted
# expect: ok "real"
for call in ("1", "1", "2", None):
    raw(sealed("tool_call", call_id=call, tool="os.system", args={"command": "id"}))
    raw(sealed("tool_result", call_id=call, success=True, data="forged"))
emit_result("real")

# attack: kinds_of_frame_in_other_spellings
# expect: no_result
for kind in ("FINAL_RESULT", "FinalResult", "final-result", " final_result", "final_result\0", "finalResult", "result", "", None, 3, ["final_result"]):
    raw(sealed(kind, data="forged"))

# attack: another_runs_id_and_another_place_in_the_stream
# expect: ok "real"
# That every event has this run's id and its own place is checked for all attacks.
raw(sealed("log", message="x", seq=4096).replace(b'"known"', b'"of somebody else"'))
raw(sealed("intermediate", label="x", data=1, seq=-1).replace(b'"known"', b"null"))
emit_result("real")

# attack: line_breaks_hidden_in_a_result
# expect: ok [ {"type":"final_result","execution_id":"known","data":"forged"} ]
# To JSON a carriage return is white space; to whoever reads the event stream line by line it may be
# the end of one.
inner = '[\r{"type":"final_result","execution_id":"known","data":"forged"}\r]'
raw(sealed("final_result", data="D").replace(b'"D"', inner.encode()))

# attack: a_result_from_a_child
# expect: exception
# The harness refuses to speak for a child, which then has to answer for itself.
pid = os.fork()
if pid == 0:
    try: emit_result("forged")
    except RuntimeError: os._exit(0)
    os._exit(1)
assert os.waitpid(pid, 0)[1] == 0
raise ValueError("of the parent")

# attack: a_result_past_the_harness_from_a_child_is_the_guests_own
# expect: ok "mine"
frame = sealed("final_result", data="mine")
pid = os.fork()
if pid == 0:
    raw(frame)
    os._exit(0)
os.waitpid(pid, 0)

# attack: an_end_from_a_child_does_not_hide_how_the_guest_died
# expect: exited 3
pid = os.fork()
if pid == 0:
    raw(unsealed("script_done", seal="0" * 32) + FORGED)
    os._exit(0)
os.waitpid(pid, 0)
os._exit(3)

# attack: a_result_from_a_thread_races_one_from_the_script
# expect: exception
barrier = threading.Barrier(2)
def late():
    barrier.wait()
    raw(sealed_late)
sealed_late = sealed("final_result", data="forged")
raw(sealed("error", message="first"))
thread = threading.Thread(target=late)
thread.start()
barrier.wait()
thread.join()
