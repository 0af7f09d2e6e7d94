# Kernel facilities that have been a way out before, or that belong to the machine and not to a
# guest.

# attack: bpf
# Programs in the kernel; the verifier has been wrong before.
# expect: "EPERM"
emit_result(syscall("bpf", 0, struct.pack("5I", 2, 4, 4, 1, 0) + b"\0" * 100, 120))

# attack: perf_event_open
# Counters on everything that runs, and a long history of holes.
# expect: "EPERM"
emit_result(syscall("perf_event_open", struct.pack("II", 1, 112) + b"\0" * 104, 0, -1, -1, 0))

# attack: session_keyring
# The keyring of whoever started the host is inherited by every process below it.
# expect: ["EPERM", "EPERM", "EPERM"]
emit_result([syscall("keyctl", 0, -3, 0), syscall("keyctl", 11, -3, None, 0), syscall("keyctl", 1, None)])

# attack: add_key
# Keys are kernel memory that no limit of the cell's counts.
# expect: "EPERM"
emit_result(syscall("add_key", b"user", b"name", b"value", 5, -3))

# attack: request_key
# Starts a program of the host's to make up a key.
# expect: "EPERM"
emit_result(syscall("request_key", b"user", b"name", None, 0))

# attack: userfaultfd
# Stops the kernel in the middle of reading memory, for as long as it takes to win a race.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("userfaultfd", 0), syscall("userfaultfd", 1)])

# attack: io_uring_setup
# Does what system calls do without being one, past every filter.
# expect: "ENOSYS"
emit_result(syscall("io_uring_setup", 1, ctypes.create_string_buffer(120)))

# attack: io_uring_enter
# The second of its calls.
# expect: "ENOSYS"
emit_result(syscall("io_uring_enter", 0, 0, 0, 0, None, 0))

# attack: io_uring_register
# The third.
# expect: "ENOSYS"
emit_result(syscall("io_uring_register", 0, 0, None, 0))

# attack: init_module
# Code into the kernel.
# expect: "EPERM"
emit_result(syscall("init_module", b"\x7fELF", 4, b""))

# attack: finit_module
# The same from a file.
# expect: "EPERM"
emit_result(syscall("finit_module", 0, b"", 0))

# attack: delete_module
# And out of it.
# expect: "EPERM"
emit_result(syscall("delete_module", b"ext4", 0))

# attack: kexec
# Another kernel instead of this one.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("kexec_load", 0, 0, None, 0), syscall("kexec_file_load", 0, 0, 0, None, 0)])

# attack: reboot
# The host goes down with everything on it.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("reboot", 0xFEE1DEAD, 672274793, 0, 0), syscall("reboot", 0xFEE1DEAD, 672274793, 0x89ABCDEF, 0)])

# attack: setting_the_clock
# Every certificate and every log on the host depends on it.
# expect: ["EPERM", "EPERM", "EPERM", "EPERM"]
emit_result([syscall("settimeofday", struct.pack("ll", 0, 0), None), syscall("clock_settime", 0, struct.pack("ll", 0, 0)), syscall("adjtimex", b"\0" * 256), syscall("clock_adjtime", 0, b"\0" * 256)])

# attack: waking_the_machine
# Alarm clocks that end a suspend, where there is a clock that can.
# expect: ["EPERM", "EPERM"]
# expect: ["ENOTSUP", "ENOTSUP"]
emit_result([syscall("timer_create", clock, None, ctypes.byref(ctypes.c_int())) for clock in (8, 9)])

# attack: personality
# Switches address randomisation off, and old semantics on.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("personality", 0x0040000), syscall("personality", 0xFFFFFFFF)])

# attack: port_input_and_output
# The machine's devices, without a driver.
# expect: ["EPERM", "EPERM"]
# expect: ["absent", "absent"]
emit_result([syscall("iopl", 3), syscall("ioperm", 0x80, 1, 1)])

# attack: modify_ldt
# Segments for 16-bit programs, and for confusing the kernel.
# expect: "EPERM"
# expect: "absent"
emit_result(syscall("modify_ldt", 0, ctypes.create_string_buffer(64), 64))

# attack: swap
# The host's swap, off or on a file of ours.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("swapon", b"/tmp/swap", 0), syscall("swapoff", b"/dev/vda")])

# attack: process_accounting
# The kernel writes a record of every process on the machine to a file of ours.
# expect: "EPERM"
emit_result(syscall("acct", b"/tmp/acct"))

# attack: quotas
# Limits of the host's users.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("quotactl", 0x80000100, b"/dev/vda", 0, None), syscall("quotactl_fd", 0, 0x80000100, 0, None)])

# attack: kernel_log
# Addresses and host activity; clearing it hides traces.
# expect: ["EPERM", "EPERM", "EPERM"]
emit_result([syscall("syslog", 3, ctypes.create_string_buffer(64), 64), syscall("syslog", 10, None, 0), syscall("syslog", 5, None, 0)])

# attack: directory_cookies
# A number that stands for a path, from the days of profilers.
# expect: "EPERM"
emit_result(syscall("lookup_dcookie", 1, ctypes.create_string_buffer(64), 64))

# attack: fanotify
# Events about every file of a file system, whoever opens it.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("fanotify_init", 0, 0), syscall("fanotify_init", 0x200, 0)])

# attack: secret_memory
# Memory that nobody can look at, the host included.
# expect: "ENOSYS"
emit_result(syscall("memfd_secret", 0))

# attack: nfs_server
# A call that has been a stub for years stays closed.
# expect: "EPERM"
emit_result(syscall("nfsservctl", 0, None, None))

# attack: host_name
# Even in its own namespace the name is not the guest's to change.
# expect: ["EPERM", "EPERM", "belljar"]
emit_result([syscall("sethostname", b"x", 1), syscall("setdomainname", b"x", 1), os.uname().nodename])

# attack: hanging_up_the_terminal
# Whoever shares the terminal is thrown out of it.
# expect: "EPERM"
emit_result(syscall("vhangup"))

# attack: memory_policy
# Memory on the far node slows everybody down.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("mbind", 0, 4096, 0, None, 0, 0), syscall("set_mempolicy", 0, None, 0)])

# attack: page_zero
# A null pointer in the kernel must not point at something of ours.
# expect: "EPERM"
def mapped_at_zero():
    _libc.mmap.restype = ctypes.c_void_p
    ctypes.set_errno(0)
    fixed_private_anonymous = 0x32
    at = _libc.mmap(ctypes.c_void_p(0), ctypes.c_size_t(4096), 3, fixed_private_anonymous, -1, ctypes.c_long(0))
    return errno.errorcode[ctypes.get_errno()] if ctypes.get_errno() else f"mapped at {at}"


emit_result(mapped_at_zero())

# attack: poisoning_memory
# Takes pages of the machine out of use for good, where the kernel can.
# expect: ["EPERM", "EPERM"]
# expect: ["EINVAL", "EINVAL"]
def poison():
    import mmap

    page = mmap.mmap(-1, 4096)
    page.write(b"x")
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    answers = []
    for advice in (100, 101):  # MADV_HWPOISON, MADV_SOFT_OFFLINE
        ctypes.set_errno(0)
        done = _libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(4096), advice)
        answers.append("done" if done == 0 else errno.errorcode[ctypes.get_errno()])
    return answers


emit_result(poison())

# attack: stirring_the_random_pool
# What is counted as entropy must not come from a guest; plain writes are not counted.
# expect: ["done", "ENOTTY", "ENOTTY", "ENOTTY"]
def stir():
    pool = os.open("/dev/urandom", os.O_RDWR)
    RNDADDTOENTCNT, RNDADDENTROPY, RNDCLEARPOOL = 0x40045201, 0x40085203, 0x5206
    answers = [attempt(os.write, pool, b"x")]
    answers += [attempt(fcntl.ioctl, pool, RNDADDTOENTCNT, struct.pack("i", 8))]
    answers += [attempt(fcntl.ioctl, pool, RNDADDENTROPY, struct.pack("iii", 8, 4, 0))]
    return answers + [attempt(fcntl.ioctl, pool, RNDCLEARPOOL)]


emit_result(stir())

# attack: i386_calls
# A 32-bit call has another number, past every rule for 64-bit ones.
# expect: ["exit 0", "SIGSYS"]
# expect: "absent"
GETPID = b"\xb8\x27\x00\x00\x00\x0f\x05\xc3"  # mov eax, 39; syscall; ret
INT80 = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20; int 0x80; ret
emit_result([run_code(GETPID), run_code(INT80)] if MACHINE == "x86_64" else "absent")

# attack: i386_unshare
# The same, used: the number of unshare in the old table.
# expect: "SIGSYS"
# expect: "absent"
emit_result(run_code(b"\xb8\x36\x01\x00\x00\xbb\x00\x00\x00\x10\xcd\x80\xc3") if MACHINE == "x86_64" else "absent")

# attack: vm86
# A processor mode of the eighties, which only 32-bit programs may ask for.
# expect: "SIGSYS"
# expect: "absent"
emit_result(run_code(b"\xb8\x71\x00\x00\x00\xcd\x80\xc3") if MACHINE == "x86_64" else "absent")

# attack: x32_calls
# x32 calls come with one bit set in the number, past every rule.
# expect: ["SIGSYS", "SIGSYS"]
# expect: "absent"
def call(number):
    raw_syscall(0x40000000 | number, 0)


emit_result([in_child(lambda: call(number)) for number in (39, 272)] if MACHINE == "x86_64" else "absent")

# attack: asynchronous_input_and_output
# One guest could take all of what the machine has for it, and every database beside it would fail.
# expect: ["ENOSYS", "ENOSYS", "ENOSYS"]
context = ctypes.c_ulong()
emit_result([syscall("io_setup", 65536, ctypes.byref(context)), syscall("io_submit", 0, 0, None), syscall("io_destroy", 0)])

# attack: huge_pages
# They come out of a pool of the machine's, and no memory limit counts them.
# expect: ["ENOMEM", "EINVAL", "EPERM"]
# expect: ["ENOMEM", "ENOSYS", "ENOSYS"]
MAP_HUGETLB, MFD_HUGETLB, SHM_HUGETLB = 0x40000, 4, 0o4000
private_anonymous = 0x22
mapped = syscall("mmap", 0, 2 << 20, 3, private_anonymous | MAP_HUGETLB, -1, 0)
emit_result([mapped, syscall("memfd_create", b"x", MFD_HUGETLB), syscall("shmget", 0, 2 << 20, SHM_HUGETLB | 0o1600)])

# attack: huge_pages_of_every_size
# Their size is in the upper bits of the same flags.
# expect: ["EINVAL", "ENOMEM"]
# expect: ["ENOMEM", "ENOSYS"]
sizes = [order << 26 for order in (0, 16, 21, 30)]
answers = {syscall("mmap", 0, 2 << 20, 3, 0x22 | 0x40000 | size, -1, 0) for size in sizes}
emit_result(sorted(answers | {syscall("memfd_create", b"x", 4 | size) for size in sizes}))

# attack: merging_pages_with_others
# Whether a page was merged tells whether somebody else has the same.
# expect: ["EINVAL", "EINVAL"]
PR_SET_MEMORY_MERGE, MADV_MERGEABLE = 67, 12
at = ctypes.addressof(ctypes.create_string_buffer(8192)) & ~4095
emit_result([syscall("prctl", PR_SET_MEMORY_MERGE, 1, 0, 0, 0), syscall("madvise", at, 4096, MADV_MERGEABLE)])

# attack: keeping_others_off_a_core
# Core scheduling lets a process choose with whom it shares a core.
# expect: "EINVAL"
PR_SCHED_CORE, CREATE = 62, 1
emit_result(syscall("prctl", PR_SCHED_CORE, CREATE, 0, 0, 0))

# attack: what_others_have_read
# Which pages of a shared file are in memory tells what others did with it.
# expect: ["ENOSYS", 0]
everything = struct.pack("QQ", 0, 0)
env = os.open("/usr/bin/env", os.O_RDONLY)
POSIX_FADV_DONTNEED = 4
emit_result([syscall("cachestat", env, everything, ctypes.create_string_buffer(40), 0), syscall("fadvise64", env, 0, 0, POSIX_FADV_DONTNEED)])

# attack: mounts_by_number
# Newer calls that tell of mounts, by a number that anybody can guess.
# expect: ["ENOSYS", "ENOSYS", "ENOSYS"]
request = struct.pack("IIQQQ", 32, 0, 1, 0xFFFF, 0)
answers = [syscall("statmount", request, ctypes.create_string_buffer(4096), 4096, 0), syscall("listmount", request, (ctypes.c_ulonglong * 64)(), 64, 0)]
emit_result(answers + [syscall("open_tree_attr", -100, b"/", 0, None, 0)])

# attack: flushing_every_disk
# A call that waits for all file systems of the machine is told that it was done.
# expect: [0, 0]
emit_result([syscall("sync"), syscall("syncfs", os.open("/usr/bin", os.O_RDONLY))])

# attack: calls_of_later_kernels
# A call that was not known when the filter was written is closed.
# expect: ["ENOSYS"]
emit_result(sorted({raw_syscall(number, 0, 0, 0, 0, 0, 0) for number in range(470, 1200)}))

# attack: handles_on_processes_that_release_memory
# Reaping another process's memory, or its descriptors.
# expect: ["ENOSYS", "EPERM", "EPERM"]
own = os.pidfd_open(os.getpid())
emit_result([syscall("process_mrelease", own, 0), syscall("process_madvise", own, None, 0, 4, 0), syscall("pidfd_getfd", own, 0, 0)])

# attack: attributes_of_a_process
# Everything that prctl can do and programs do not need, today's and tomorrow's.
# expect: []
fine = {1, 2, 3, 4, 7, 15, 16, 21, 23, 24, 27, 29, 30, 36, 37, 38, 39, 40, 41, 42, 47, 51, 52}
numbers = [*range(0, 100), 0x53564D41, 0x59616D61, 0x41555856]
emit_result([number for number in numbers if number not in fine and syscall("prctl", number, 0, 0, 0, 0) != "EINVAL"])

# attack: commands_for_descriptors
# Leases, notices and whatever fcntl learns next.
# expect: []
fine = {*range(0, 12), 15, 16, 1025, 1027, 1030, 1031, 1032, 1033, 1034}
fine -= {12, 13, 14}
file = os.open("/workspace/file", os.O_CREAT | os.O_RDWR)
emit_result([number for number in (*range(12, 64), *range(1024, 1064)) if number not in fine and syscall("fcntl", file, number, 0) != "EINVAL"])
