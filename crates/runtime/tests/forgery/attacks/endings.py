# attack: an_early_exit_after_a_frame_without_the_seal
# expect: exited 0
raw(FORGED)
raw(b"ok\n", 1)
os._exit(0)

# attack: an_early_exit_in_a_thread
# expect: exited 0
threading.Thread(target=os._exit, args=(0,)).start()
while True: time.sleep(1)

# attack: an_early_exit_in_an_exit_handler
# expect: exited 0
atexit.register(os._exit, 0)
harness.scripts.os = None  # The harness fails, and Python ends as it does for any program that fails.

# attack: an_early_exit_in_a_destructor
# expect: exited 0
class Grave:
    def __del__(self): _exit(0)
grave = Grave()
del grave

# attack: an_early_exit_in_a_signal_handler
# expect: exited 0
signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))
os.kill(os.getpid(), signal.SIGUSR1)
while True: pass

# attack: an_early_exit_in_a_trace_function
# expect: exited 0
sys.settrace(lambda *_: os._exit(0))
def f(): pass
f()

# attack: an_early_exit_by_the_c_library
# expect: exited 0
ctypes.CDLL(None).exit(0)

# attack: an_early_exit_by_the_kernels_own_call
# expect: exited 0
exit_group = {"x86_64": 231, "aarch64": 94}[os.uname().machine]
ctypes.CDLL(None).syscall(exit_group, 0)

# attack: an_end_of_the_main_thread_alone
# expect: timeout_wall
# seconds: 1
threading.Thread(target=lambda: [time.sleep(1) for _ in iter(int, 1)], daemon=True).start()
ctypes.CDLL(None).pthread_exit(None)

# attack: an_exit_code_that_looks_like_a_limit
# expect: exited 137
os._exit(137)

# attack: an_exit_code_that_looks_like_a_failed_set_up
# expect: exited 125
os._exit(125)

# attack: a_kill_of_oneself_is_no_oom
# expect: signaled 9
os.kill(os.getpid(), signal.SIGKILL)

# attack: a_kill_of_oneself_from_a_child
# expect: signaled 9
if os.fork() == 0: os.kill(os.getppid(), signal.SIGKILL)
while True: time.sleep(1)

# attack: a_kill_of_everything
# expect: signaled 9
subprocess.Popen(["sleep", "600"])
if os.fork() == 0:
    os.kill(-1, signal.SIGKILL)
while True: time.sleep(1)

# attack: an_alarm_that_is_not_the_hosts
# expect: signaled 14
signal.signal(signal.SIGALRM, signal.SIG_DFL)
signal.setitimer(signal.ITIMER_REAL, 0.001)
while True: pass

# attack: a_processor_time_signal_that_is_not_the_limits
# expect: signaled 24
os.kill(os.getpid(), signal.SIGXCPU)

# attack: a_bad_system_call_signal
# expect: signaled 31
os.kill(os.getpid(), signal.SIGSYS)

# attack: every_signal_to_the_cells_first_process
# expect: ok "real"
for number in range(1, 65):
    try: os.kill(1, number)
    except OSError: pass
    try: os.kill(os.getppid(), number)
    except OSError: pass
emit_result("real")

# attack: a_standstill
# expect: timeout_wall
# seconds: 1
os.kill(os.getpid(), signal.SIGSTOP)

# attack: a_standstill_that_a_child_goes_on_talking_through
# expect: timeout_wall
# seconds: 1
if os.fork() == 0:
    while True:
        raw(FORGED)
        time.sleep(0.05)
os.kill(os.getpid(), signal.SIGSTOP)

# attack: another_program_in_the_harnesss_place
# expect: exited 0
os.execv("/bin/true", ["true"])

# attack: another_program_that_fails
# expect: exited 1
os.execv("/bin/false", ["false"])

# attack: another_program_that_holds_the_channel_and_not_the_seal
# expect: exited 0
os.set_inheritable(CHANNEL, True)
code = f"import os\nos.write(900, {unsealed('ready', protocol=1) + FORGED!r})"
os.execv(sys.executable or "/usr/bin/python3", ["python3", "-c", code])

# attack: another_program_that_speaks_for_the_harness_is_a_guest_like_any_other
# expect: ok "mine"
# It has the seal from the script that started it, and says no more than that script could have said
# itself.
os.set_inheritable(CHANNEL, True)
code = f"import os\nos.write(900, {sealed('final_result', data='mine') + sealed('script_done')!r})"
os.execv(sys.executable or "/usr/bin/python3", ["python3", "-c", code])

# attack: a_channel_that_is_closed
# expect: exited 1
os.close(CHANNEL)

# attack: a_channel_that_is_closed_before_an_early_exit
# expect: exited 0
raw(FORGED)
os.close(CHANNEL)
os._exit(0)

# attack: a_channel_that_is_shut_down_for_writing
# expect: signaled 9
socket.socket(fileno=os.dup(CHANNEL)).shutdown(socket.SHUT_WR)
os.kill(os.getpid(), signal.SIGKILL)

# attack: a_channel_that_is_shut_down_for_reading
# expect: ok "real"
socket.socket(fileno=os.dup(CHANNEL)).shutdown(socket.SHUT_RD)
emit_result("real")

# attack: everything_closed_and_a_life_after_it
# expect: timeout_wall
# seconds: 1
# Nothing is left that could tell the host of an end, and nothing ends.
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
os.closerange(0, 4097)
while True: pass

# attack: everything_closed_but_by_a_child
# expect: timeout_wall
# seconds: 1
if os.fork() == 0:
    os.setsid()
    while True: time.sleep(1)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
os.closerange(0, 4097)
while True: time.sleep(1)

# attack: everything_closed_and_then_a_death
# expect: exited 9
os.closerange(0, 4097)
os._exit(9)

# attack: a_result_and_then_everything_closed
# expect: ok "real"
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
emit_result("real")
os.closerange(0, 4097)
while True: pass

# attack: pipes_that_a_grandchild_holds_open
# expect: exited 0
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)
    os._exit(0)
os._exit(0)

# attack: pipes_kept_open_by_nobody
# expect: exited 3
# Two sockets, each of them on its way through the other, with copies of everything the host listens
# to: no process holds them.
one, other = socket.socketpair()
for at, sent in ((one, other), (other, one)):
    rights = struct.pack("4i", sent.fileno(), 1, 2, CHANNEL)
    at.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
one.close()
other.close()
os._exit(3)

# attack: a_channel_sent_over_itself
# expect: exited 3
channel = socket.socket(fileno=os.dup(CHANNEL))
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("4i", CHANNEL, 1, 2, channel.fileno()))]
for _ in range(50):
    channel.sendmsg([b""], rights)
    channel.sendmsg([b"x"], rights)
os._exit(3)

# attack: a_first_process_that_gets_no_time
# expect: exited 3
for change in (lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
               lambda: os.sched_setaffinity(1, {0}), lambda: os.setpriority(os.PRIO_USER, 0, 19)):
    try: change()
    except OSError: pass
os._exit(3)
