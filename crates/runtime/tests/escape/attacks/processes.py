# Other processes, of which a guest sees one: the cell's PID 1, which reports its end to the host.

# attack: processes_in_sight
# Nothing but PID 1 and the script itself.
# expect: true
emit_result(sorted(int(name) for name in os.listdir("/proc") if name.isdigit()) == [1, os.getpid()])

# attack: ptrace_pid_1
# Whoever traces PID 1 speaks for it.
# expect: "EPERM"
PTRACE_SEIZE = 0x4206
emit_result(syscall("ptrace", PTRACE_SEIZE, 1, 0, 0))

# attack: ptrace_own_child
# Tracing at all is refused: it changes calls after the filter has looked at them.
# expect: "EPERM"
pid = os.fork()
if pid == 0:
    signal.pause()
answer = syscall("ptrace", 16, pid, 0, 0)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
emit_result(answer)

# attack: ptrace_traceme
# Nor may a process ask its parent to.
# expect: "EPERM"
emit_result(syscall("ptrace", 0, 0, 0, 0))

# attack: reading_memory_of_pid_1
# By the call made for it; /proc/self/mem shows that one's own can be read.
# expect: ["done", "EPERM", "EACCES", "EACCES"]
buffer = ctypes.create_string_buffer(16)
vector = struct.pack("QQ", ctypes.addressof(buffer), 16)
own = lambda: open("/proc/self/mem", "rb").seek(ctypes.addressof(buffer))
emit_result([attempt(own), syscall("process_vm_readv", 1, vector, 1, vector, 1, 0), attempt(open, "/proc/1/mem", "rb"), attempt(open, "/proc/1/maps")])

# attack: writing_memory_of_pid_1
# The same in the other direction.
# expect: ["EPERM", "EACCES"]
buffer = ctypes.create_string_buffer(16)
vector = struct.pack("QQ", ctypes.addressof(buffer), 16)
emit_result([syscall("process_vm_writev", 1, vector, 1, vector, 1, 0), attempt(os.open, "/proc/1/mem", os.O_WRONLY)])

# attack: descriptors_of_pid_1
# It holds the socket on which the cell's end is reported.
# expect: ["EACCES", "EACCES", "EACCES", "EPERM"]
pidfd = syscall("pidfd_open", 1, 0)
assert isinstance(pidfd, int)
emit_result([attempt(os.listdir, "/proc/1/fd"), attempt(os.open, "/proc/1/fd/3", os.O_WRONLY), attempt(open, "/proc/1/fdinfo/3"), syscall("pidfd_getfd", pidfd, 3, 0)])

# attack: advice_on_memory_of_pid_1
# process_madvise can throw another's pages out.
# expect: "EPERM"
vector = struct.pack("QQ", 0, 4096)
emit_result(syscall("process_madvise", syscall("pidfd_open", 1, 0), vector, 1, 21, 0))

# attack: comparing_with_pid_1
# kcmp says whether two processes share kernel objects, and orders their addresses.
# expect: "EPERM"
emit_result(syscall("kcmp", 1, 2, 0, 0, 0))

# attack: pages_of_pid_1
# move_pages says where pages of another lie, and moves them.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("move_pages", 1, 0, None, None, None, 0), syscall("migrate_pages", 1, 64, None, None)])

# attack: addresses_in_pid_1
# Stack, registers and lock lists tell where things are.
# expect: ["EACCES", "EACCES", "EACCES", "ENOSYS"]
head, length = ctypes.c_void_p(), ctypes.c_size_t()
files = [attempt(open, f"/proc/1/{name}") for name in ("syscall", "stack", "auxv")]
emit_result(files + [syscall("get_robust_list", 1, ctypes.byref(head), ctypes.byref(length))])

# attack: settings_of_pid_1
# Every file of PID 1 that can be written to at all.
# expect: []
names = ["oom_score_adj", "comm", "coredump_filter", "timerslack_ns", "clear_refs", "uid_map", "setgroups", "autogroup", "sched"]
answers = {name: writes(f"/proc/1/{name}") for name in names if os.path.exists(f"/proc/1/{name}")}
assert len(answers) > 4
emit_result([name for name, answer in answers.items() if answer not in ("EACCES", "EPERM")])

# attack: limits_of_pid_1
# A processor limit of a second would end PID 1 before it reports.
# expect: ["EPERM", "EPERM"]
limit = struct.pack("QQ", 1, 1)
emit_result([syscall("prlimit64", 1, resource.RLIMIT_CPU, limit, None), syscall("prlimit64", 1, resource.RLIMIT_CPU, None, limit)])

# attack: priorities_of_pid_1
# Whatever shares its user id may slow it down, or tie it to one processor, and with it whatever it
# starts next. One's own are one's own.
# expect: [["done", "done", "done", 0, 0], ["EPERM"]]
PROCESS, GROUP, USER = 0, 1, 2
IDLE, BEST_EFFORT_LAST, SCHED_IDLE = 3 << 13, (2 << 13) + 7, 5
nothing, attributes = struct.pack("i", 0), struct.pack("IIQiIQQQ", 48, SCHED_IDLE, 0, 0, 0, 0, 0, 0)
own = os.getpid()
mine = [attempt(os.setpriority, PROCESS, own, 1), attempt(os.setpriority, GROUP, 0, 1), attempt(os.sched_setaffinity, own, {0})]
mine += [syscall("ioprio_set", 1, own, BEST_EFFORT_LAST), syscall("sched_setattr", own, attributes, 0)]
others = [attempt(os.setpriority, which, who, 19) for which, who in ((PROCESS, 1), (GROUP, 1), (USER, 0), (USER, 1000))]
others += [attempt(os.sched_setaffinity, 1, {0}), syscall("sched_setattr", 1, attributes, 0)]
others += [syscall("sched_setscheduler", 1, SCHED_IDLE, nothing), syscall("sched_setparam", 1, nothing)]
others += [syscall("ioprio_set", which, who, IDLE) for which, who in ((1, 1), (2, 1), (3, 0), (3, 1000))]
emit_result([mine, sorted({str(answer) for answer in others})])

# attack: every_signal_to_pid_1
# To its own namespace PID 1 is deaf: the cell cannot end without a report. A child shows that
# signals work.
# expect: ["SIGKILL", "belljar-init", "1"]
# The supervisor is a Python program.
# expect docker: ["SIGKILL", "python3", "1"]
child = in_child(lambda: os.kill(os.getpid(), signal.SIGKILL))
for number in range(1, 65):
    attempt(os.kill, 1, number)
pidfd = syscall("pidfd_open", 1, 0)
syscall("pidfd_send_signal", pidfd, signal.SIGKILL, None, 0)
emit_result([child, status_of(1)["Name"], status_of("self")["PPid"]])

# attack: stopping_pid_1
# A stopped PID 1 would report nothing and reap nobody. It sleeps, or is at work.
# expect: true
os.kill(1, signal.SIGSTOP)
in_child(lambda: 0)
emit_result(status_of(1)["State"] in ("S (sleeping)", "R (running)"))

# attack: signal_to_everybody
# -1 is everybody in sight but PID 1 and oneself.
# expect: ["SIGKILL", true]
child = os.fork()
if child == 0:
    signal.pause()
os.kill(-1, signal.SIGKILL)
status = os.waitpid(child, 0)[1]
emit_result([signal.Signals(os.WTERMSIG(status)).name, sorted(int(name) for name in os.listdir("/proc") if name.isdigit()) == [1, os.getpid()]])

# attack: signals_by_number
# Every number that processes of the host usually have; outside this namespace none of them means
# anything.
# expect: true
emit_result([pid for pid in range(1, 70000) if _libc.kill(pid, 0) == 0] == [1, os.getpid()])

# attack: handles_by_number
# The same for handles, which would outlive the look-up.
# expect: true
emit_result([pid for pid in range(1, 5000) if not isinstance(syscall("pidfd_open", pid, 0), str)] == [1, os.getpid()])

# attack: child_of_pid_1
# CLONE_PARENT makes a process PID 1's child; PID 1 must not take its end for the guest's.
# expect: "alive"
CLONE_PARENT = 0x00008000
pid = syscall("clone", CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
assert pid > 2
while os.path.exists(f"/proc/{pid}"):
    os.sched_yield()
emit_result("alive")

# attack: making_cells
# The library that makes cells is still in the interpreter's memory; what it does has become
# impossible.
# expect: ["Fnetwork namespace: Operation not permitted (os error 1)", "ValueError"]
# expect: "absent"
cells = sys.modules.get("belljar_cell")
if cells is None:
    emit_result("absent")
else:
    pair = lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    (control, its_control), (status, its_status), (_, pipe) = pair(), pair(), os.pipe()
    if os.fork() == 0:
        cells.serve(its_control.fileno())
    parts = array.array("i", [pipe, pipe, its_status.fileno()])
    # The fifth number of an order says how many descriptors come with it.
    order = struct.pack("6I", 0, 0, 0, 0, len(parts), 0)
    control.sendmsg([order], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, parts)])
    answers = [status.recv(100).decode()]
    try:
        answers.append(repr(cells.configure(b"", 0)))
    except ValueError as error:
        answers.append(type(error).__name__)
    emit_result(answers)

# attack: arguments_of_processes
# Command lines carry paths and tokens.
# expect: ["belljar-init", "/run/belljar/harness.py"]
# Both are the supervisor's, which says nothing of its host: a guest is its fork.
# expect docker: ["/opt/belljar/supervisor.py", "/opt/belljar/supervisor.py"]
emit_result([open(f"/proc/{pid}/cmdline").read().rstrip("\0").split("\0")[-1] for pid in (1, os.getpid())])

# attack: group_and_session_of_its_own
# A signal or a priority for "my group" reaches whoever is in it; 0 means that the group was made
# outside, and has members there.
# expect: [true, true]
emit_result([os.getpgrp() != 0, os.getsid(0) != 0])
