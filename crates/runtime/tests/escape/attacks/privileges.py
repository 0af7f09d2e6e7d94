# A guest has no rights and can get none: not by ids, capabilities, programs, or by loosening what
# binds it.

# attack: bare_run
# What a caller gets who configures nothing: no root, no capabilities, a filter, no privileges to
# come.
# expect: [1000, 1000, ["0000000000000000"], "1", "2"]
status = status_of("self")
sets = {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
emit_result([os.geteuid(), os.getegid(), sorted(sets), status["NoNewPrivs"], status["Seccomp"]])

# attack: setuid_root
# There is no root to become: the id has no meaning here.
# expect: ["done", "EINVAL", "EINVAL"]
# A container shares the daemon's ids, so that they mean something; they are refused.
# expect docker: ["done", "EPERM", "EPERM"]
emit_result([attempt(os.setuid, 1000), attempt(os.setuid, 0), attempt(os.setresuid, 0, 0, 0)])

# attack: setgid_root
# The same for groups.
# expect: ["done", "EINVAL", "EINVAL"]
# A container shares the daemon's ids, so that they mean something; they are refused.
# expect docker: ["done", "EPERM", "EPERM"]
emit_result([attempt(os.setgid, 1000), attempt(os.setgid, 0), attempt(os.setresgid, 0, 0, 0)])

# attack: ids_of_the_overflow_user
# What is not mapped shows up as 65534; that is a way to show it, not an id to take.
# expect: ["EINVAL", "EINVAL", "EINVAL"]
# A container shares the daemon's ids, so that they mean something; they are refused.
# expect docker: ["EPERM", "EPERM", "EPERM"]
emit_result([attempt(os.seteuid, 65534), attempt(os.setresuid, -1, 65534, -1), attempt(os.setegid, 65534)])

# attack: file_system_id
# setfsuid reports no error; it says which id was in force.
# expect: [1000, 1000]
emit_result([syscall("setfsuid", 0), syscall("setfsuid", -1)])

# attack: setgroups
# No group may be taken up or dropped.
# expect: ["EPERM", "EPERM"]
emit_result([attempt(os.setgroups, []), attempt(os.setgroups, [0])])

# attack: chown
# Giving a file to root would make it root's program.
# expect: ["done", "EINVAL"]
# A container shares the daemon's ids, so that they mean something; they are refused.
# expect docker: ["done", "EPERM"]
open("/tmp/own", "w").close()
emit_result([attempt(os.chown, "/tmp/own", 1000, 1000), attempt(os.chown, "/tmp/own", 0, 0)])

# attack: capset
# Taking every capability, and taking just one.
# expect: ["EPERM", "EPERM", 0]
header = struct.pack("Ii", 0x20080522, 0)
ask = lambda low, high: syscall("capset", header, struct.pack("6I", low, low, low, high, high, high))
emit_result([ask(0xFFFFFFFF, 0xFF), ask(1 << 21, 0), ask(0, 0)])

# attack: ambient_capability
# Ambient ones survive the start of a program.
# expect: "EPERM"
PR_CAP_AMBIENT, RAISE, CAP_SYS_ADMIN = 47, 2, 21
emit_result(syscall("prctl", PR_CAP_AMBIENT, RAISE, CAP_SYS_ADMIN, 0, 0))

# attack: inheritable_by_bounding_set
# The bounding set is empty and can only shrink; a guest may not even do that.
# expect: [0, "EPERM"]
PR_CAPBSET_READ, PR_CAPBSET_DROP, CAP_CHOWN = 23, 24, 0
emit_result([sum(syscall("prctl", PR_CAPBSET_READ, each, 0, 0, 0) for each in range(41)), syscall("prctl", PR_CAPBSET_DROP, CAP_CHOWN, 0, 0, 0)])

# attack: secure_bits
# They say what becomes of capabilities when ids change.
# expect: "EINVAL"
PR_SET_SECUREBITS = 28
emit_result(syscall("prctl", PR_SET_SECUREBITS, 0x2F, 0, 0, 0))

# attack: clearing_no_new_privs
# Once set it stays.
# expect: ["EINVAL", 1]
PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS = 38, 39
emit_result([syscall("prctl", PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), syscall("prctl", PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)])

# attack: process_memory_map
# PR_SET_MM lies about where a program came from.
# expect: "EINVAL"
PR_SET_MM, PR_SET_MM_START_CODE = 35, 1
emit_result(syscall("prctl", PR_SET_MM, PR_SET_MM_START_CODE, 0x10000, 0, 0))

# attack: set_user_id_program
# The loader tells what the kernel granted: nothing, else it would not obey this variable.
# expect: ["AT_EUID:1000", "AT_SECURE:0"]
programs = [f"/usr/bin/{name}" for name in ("su", "passwd", "mount", "sudo", "chsh", "newgrp", "env")]
program = next(path for path in programs if os.path.exists(path) and (os.stat(path).st_mode & stat.S_ISUID or path.endswith("env")))
done = subprocess.run([program, "--version"], env={"LD_SHOW_AUXV": "1"}, capture_output=True, text=True)
said = ["".join(line.split()) for line in done.stdout.splitlines()]
emit_result(sorted(line for line in said if line.startswith(("AT_EUID", "AT_SECURE"))))

# attack: own_set_user_id_program
# The bit on a file of one's own does nothing where the mount says so.
# expect: [1000, true]
import shutil

shutil.copy("/usr/bin/id", "/tmp/id")
try:
    os.chmod("/tmp/id", 0o6755)
except OSError:
    pass
emit_result([int(subprocess.check_output(["/tmp/id", "-u"])), bool(os.statvfs("/tmp").f_flag & os.ST_NOSUID)])

# attack: file_capability
# A capability attached to a program of one's own.
# expect: "EPERM"
open("/tmp/program", "w").close()
value = struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0)
emit_result(attempt(os.setxattr, "/tmp/program", "security.capability", value))

# attack: trusted_attribute
# Trusted attributes steer overlay file systems and security modules.
# expect: "EPERM"
# expect: "ENOTSUP"
open("/tmp/file", "w").close()
emit_result(attempt(os.setxattr, "/tmp/file", "trusted.overlay.opaque", b"y"))

# attack: filter_of_ones_own
# Each is a program in the kernel, out of a stock that all of the machine shares: used up, no cell
# could be made any more.
# expect: ["EPERM", "EINVAL"]
def install():
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    allow = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000), 8)
    program = Program(1, ctypes.cast(allow, ctypes.c_void_p))
    PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
    return [syscall("seccomp", 1, 0, ctypes.byref(program)), syscall("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))]


emit_result(install())

# attack: filter_that_asks_ones_own_supervisor
# A filter that hands calls to a supervisor could be told to go on with them, were refusals not
# stronger.
# expect: "exit 0"
# expect: "exit 2"
def supervise():
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    number = _NUMBERS["unshare"][0 if MACHINE == "x86_64" else 1]
    code = struct.pack("HBBI", 0x20, 0, 0, 0) + struct.pack("HBBI", 0x15, 0, 1, number)
    code += struct.pack("HBBI", 0x06, 0, 0, 0x7FC00000) + struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(4, ctypes.cast(buffer, ctypes.c_void_p))
    NEW_LISTENER = 8
    if isinstance(syscall("seccomp", 1, NEW_LISTENER, ctypes.byref(program)), str):
        return 2
    return 0 if syscall("unshare", 0x10000000) == "EPERM" else 1


emit_result(in_child(supervise))

# attack: landlock_of_ones_own
# Rules only ever add up, and a guest has no business with them.
# expect: "EPERM"
emit_result(syscall("landlock_create_ruleset", None, 0, 1))

# attack: nicer_than_others
# Priority over everybody else on the machine.
# expect: ["done", "EACCES"]
now = os.getpriority(os.PRIO_PROCESS, 0)
emit_result([attempt(os.setpriority, os.PRIO_PROCESS, 0, now), attempt(os.setpriority, os.PRIO_PROCESS, 0, now - 1)])

# attack: real_time
# A real-time loop starves a processor.
# expect: "EPERM"
SCHED_FIFO = 1
emit_result(syscall("sched_setscheduler", 0, SCHED_FIFO, struct.pack("i", 50)))

# attack: real_time_disk
# The same for the disk.
# expect: "EPERM"
IOPRIO_WHO_PROCESS, REAL_TIME = 1, 1 << 13
emit_result(syscall("ioprio_set", IOPRIO_WHO_PROCESS, 0, REAL_TIME))

# attack: raising_limits
# Hard limits are for ever.
# expect: ["EPERM", "EPERM"]
RLIMIT_MSGQUEUE = 12
more = lambda kind: syscall("prlimit64", 0, kind, struct.pack("QQ", 1 << 62, 1 << 62), None)
emit_result([more(resource.RLIMIT_NOFILE), more(RLIMIT_MSGQUEUE)])

# attack: immunity_from_the_oom_killer
# Somebody else would be killed in our place.
# expect: "EACCES"
emit_result(writes("/proc/self/oom_score_adj", b"-1000"))

# attack: audit_identity
# The login id follows a process in the host's audit log.
# expect: [false, true]
before = reads("/proc/self/loginuid")
emit_result([writes("/proc/self/loginuid", b"0") == "done", reads("/proc/self/loginuid") == before])

# attack: sudo
# Where the host has it, it finds itself without rights.
# expect: [true, ""]
done = subprocess.run("command -v sudo >/dev/null || exit 1; sudo -n id", shell=True, capture_output=True, text=True)
emit_result([done.returncode != 0, done.stdout])

# attack: saved_ids
# Real, effective, saved and file system ids: a saved one of the zygote's would be a way back to it,
# were it ever mapped here.
# expect: ["1000 1000 1000 1000", "1000 1000 1000 1000"]
status = status_of("self")
emit_result([" ".join(status[name].split()) for name in ("Uid", "Gid")])

# attack: lowering_the_core_limit
# 1 keeps the host's crash handler away; 0, which looks stricter, would call it.
# expect: [1, 1]
syscall("prlimit64", 0, resource.RLIMIT_CORE, struct.pack("QQ", 0, 0), None)
emit_result(resource.getrlimit(resource.RLIMIT_CORE))
