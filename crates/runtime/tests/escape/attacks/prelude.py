# Tools that every attack finds. Nothing here may hide a mistake: only the kernel's own errors
# become answers.
import array
import ctypes
import errno
import fcntl
import platform
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys

_libc = ctypes.CDLL(None, use_errno=True)
MACHINE = platform.machine()

# Numbers of system calls on x86_64 and on aarch64; None where there is no such call.
_NUMBERS = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "cachestat": (451, 451),
    "capset": (126, 91),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fadvise64": (221, 223),
    "fanotify_init": (300, 262),
    "fcntl": (72, 25),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_robust_list": (274, 100),
    "getpid": (39, 172),
    "init_module": (175, 105),
    "inotify_add_watch": (254, 27),
    "inotify_init1": (294, 26),
    "io_destroy": (207, 1),
    "io_setup": (206, 0),
    "io_submit": (209, 2),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_get": (252, 31),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "landlock_create_ruleset": (444, 444),
    "listmount": (458, 458),
    "lookup_dcookie": (212, 18),
    "madvise": (28, 233),
    "mbind": (237, 235),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mmap": (9, 222),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "renameat2": (316, 276),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "seccomp": (317, 277),
    "set_mempolicy": (238, 237),
    "setdomainname": (171, 162),
    "setfsuid": (122, 151),
    "setgroups": (116, 159),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "setresgid": (119, 149),
    "setresuid": (117, 147),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "statmount": (457, 457),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sync": (162, 81),
    "syncfs": (306, 267),
    "syslog": (103, 116),
    "timer_create": (222, 107),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}


def syscall(name, *arguments):
    """What the kernel answers: a number, or the name of the error. "absent" where the architecture has no such call."""
    number = _NUMBERS[name][{"x86_64": 0, "aarch64": 1}[MACHINE]]
    if number is None:
        return "absent"
    return raw_syscall(number, *arguments)


def raw_syscall(number, *arguments):
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    _libc.syscall.restype = ctypes.c_long
    ctypes.set_errno(0)
    result = _libc.syscall(ctypes.c_long(number), *passed)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else result


def attempt(function, *arguments, **named):
    """ "done", or the name of the error."""
    try:
        function(*arguments, **named)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"


def writes(path, data=b"0"):
    """What comes of writing to a file that is there."""

    def write():
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    return attempt(write)


def reads(path):
    """The first bytes of a file, or the name of the error."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(4096).decode("utf-8", "backslashreplace")
    except OSError as error:
        return errno.errorcode[error.errno]


def in_child(function):
    """Runs something that may be the end of its process: "exit 0", "exit 3", "SIGSYS"."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = function() or 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit {os.WEXITSTATUS(status)}"


def status_of(pid):
    """/proc/<pid>/status as a table."""
    with open(f"/proc/{pid}/status") as file:
        return {name: rest.strip() for name, rest in (line.split(":", 1) for line in file)}


def run_code(code):
    """Runs machine code in a child."""
    import mmap

    def call():
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        return 0

    return in_child(call)


def memory_holds(head, digest):
    """Whether this process's memory has a text of 32 bytes that begins with `head` and whose other half has this SHA-256. The text as a
    whole is never here because of the search."""
    import hashlib

    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps.read().splitlines():
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            if line.split()[1][0] != "r" or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            try:
                memory.seek(start)
                data = memory.read(end - start) or b""
            except (OSError, OverflowError):
                continue
            at = data.find(head)
            while at >= 0:
                if hashlib.sha256(data[at + 16 : at + 32]).hexdigest() == digest:
                    return True
                at = data.find(head, at + 1)
    return False
