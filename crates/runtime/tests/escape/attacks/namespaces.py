# A new user namespace gives a guest every capability in it, and with them most of the kernel. None
# can be made or joined.

# attack: unshare_user
# The door to all the others.
# expect: "EPERM"
emit_result(syscall("unshare", 0x10000000))

# attack: unshare_mount
# Mounts of one's own.
# expect: "EPERM"
emit_result(syscall("unshare", 0x00020000))

# attack: unshare_pid
# Processes that the cell's PID 1 would not reap.
# expect: "EPERM"
emit_result(syscall("unshare", 0x20000000))

# attack: unshare_net
# Netfilter and traffic control, where most kernel holes of late were.
# expect: "EPERM"
emit_result(syscall("unshare", 0x40000000))

# attack: unshare_ipc
# Queues and segments beyond the cell's limits.
# expect: "EPERM"
emit_result(syscall("unshare", 0x08000000))

# attack: unshare_uts
# A host name of one's own.
# expect: "EPERM"
emit_result(syscall("unshare", 0x04000000))

# attack: unshare_cgroup
# Another view of the control groups.
# expect: "EPERM"
emit_result(syscall("unshare", 0x02000000))

# attack: unshare_time
# Another clock.
# expect: "EPERM"
emit_result(syscall("unshare", 0x00000080))

# attack: unshare_everything_with_the_upper_half_set
# A filter that compares 64 bits would let this pass; the kernel looks at flags as a long.
# expect: "EPERM"
emit_result(syscall("unshare", 0x7E020080 | 1 << 33))

# attack: clone_user
# The same by making a process; a plain clone shows that the call works.
# expect: ["exit 7", "EPERM"]
def clone(flags):
    pid = syscall("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(7)
    return pid if isinstance(pid, str) else f"exit {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}"


emit_result([clone(0), clone(0x10000000)])

# attack: clone_each_namespace
# No namespace of the seven by clone.
# expect: ["EPERM"]
flags = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
answers = set()
for flag in flags:
    pid = syscall("clone", flag | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    answers.add(pid)
emit_result(sorted(answers))

# attack: clone_user_with_the_upper_half_set
# Bits beyond the flags' 32 must not hide them from the filter.
# expect: "EPERM"
pid = syscall("clone", 1 << 40 | 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
emit_result(pid)

# attack: clone3_user
# Its flags are behind a pointer, where no filter can look, so there is no such call.
# expect: ["ENOSYS", "ENOSYS"]
arguments = lambda flags: struct.pack("8Q", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
answers = []
for flags in (0, 0x10000000):
    pid = syscall("clone3", arguments(flags), 64)
    if pid == 0:
        os._exit(0)
    answers.append(pid)
emit_result(answers)

# attack: clone3_into_a_cgroup
# A process born in another control group is outside this one's limits.
# expect: "ENOSYS"
CLONE_INTO_CGROUP = 0x200000000
place = os.open("/tmp", os.O_RDONLY)
pid = syscall("clone3", struct.pack("11Q", CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, place), 88)
if pid == 0:
    os._exit(0)
emit_result(pid)

# attack: setns_own_namespaces
# Even one's own may not be joined: root may be changed on the way.
# expect: ["EPERM"]
answers = {syscall("setns", os.open(f"/proc/self/ns/{name}", os.O_RDONLY), 0) for name in os.listdir("/proc/self/ns")}
emit_result(sorted(answers))

# attack: namespaces_of_pid_1
# Its namespaces are the cell's own, and still not for the taking.
# expect: ["EACCES"]
emit_result(sorted({attempt(os.open, f"/proc/1/ns/{name}", os.O_RDONLY) for name in os.listdir("/proc/self/ns")}))

# attack: setns_by_pidfd
# All namespaces of a process at once.
# expect: "EPERM"
CLONE_NEWNS = 0x00020000
emit_result(syscall("setns", syscall("pidfd_open", 1, 0), CLONE_NEWNS))

# attack: parent_namespaces
# The way up from one's own: to the zygote's and from there to the host's.
# expect: ["ENOTTY", "ENOTTY"]
NS_GET_PARENT = 0xB702
answers = [attempt(fcntl.ioctl, os.open(f"/proc/self/ns/{name}", os.O_RDONLY), NS_GET_PARENT) for name in ("user", "pid")]
emit_result(answers)

# attack: owner_of_a_namespace
# The user namespace above, and the one that owns the network.
# expect: ["ENOTTY", "ENOTTY", "ENOTTY"]
NS_GET_USERNS = 0xB701
spaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in ("mnt", "user", "net")]
emit_result([attempt(fcntl.ioctl, space, NS_GET_USERNS) for space in spaces])

# attack: id_maps
# A second line in the map would be another user of the host's.
# expect: [[], 1]
held = {"EACCES", "EPERM"}
answers = [(name, writes(f"/proc/self/{name}", b"0 0 1")) for name in ("uid_map", "gid_map", "projid_map")]
emit_result([[each for each in answers if each[1] not in held], len(open("/proc/self/uid_map").readlines())])

# attack: allowing_setgroups
# Dropping a group can give access that the group was denied.
# expect: ["deny", true]
# The daemon's namespace allows it, to those who have the capability; see setgroups.
# expect docker: ["allow", true]
answer = writes("/proc/self/setgroups", b"allow")
emit_result([open("/proc/self/setgroups").read().strip(), answer in ("EACCES", "EPERM")])

# attack: unshare_program
# The system's own tool is refused like anyone.
# expect: [true, ""]
done = subprocess.run(["unshare", "--user", "--map-root-user", "id", "-u"], capture_output=True, text=True)
emit_result([done.returncode != 0, done.stdout])
