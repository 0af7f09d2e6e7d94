# The host's files are not hidden from a cell but absent, and the system's own programs are there to
# be read only.

# attack: etc_shadow
# Password hashes of the host's users.
# expect: ["done", "ENOENT"]
# The image's own, which is public and has no passwords; not for this user all the same.
# expect docker: ["done", "EACCES"]
emit_result([attempt(open, "/etc/passwd"), attempt(open, "/etc/shadow")])

# attack: home_directories
# Keys, histories and sources of whoever runs the host.
# expect: ["ENOENT", "ENOENT", "ENOENT", "ENOENT"]
# The image's own, as it was published.
# expect docker: ["EACCES", [], ["backups", "cache", "lib", "local", "lock", "log", "mail", "opt", "run", "spool", "tmp"], []]
def listed(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return errno.errorcode[error.errno]


emit_result([listed(path) for path in ["/root", "/home", "/var", "/srv"]])

# attack: users_of_the_host
# Names of accounts are half of a login. These are the same in every cell on every machine.
# expect: ["root", "sandbox", "nobody"]
# The accounts of the image, the same wherever it runs.
# expect docker: ["root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "www-data", "backup", "list", "irc", "_apt", "nobody", "sandbox"]
emit_result([line.split(":")[0] for line in open("/etc/passwd")])

# attack: credentials_of_well_known_tools
# Where cloud, container and package tools keep their tokens.
# expect: []
home = ["/root", "/workspace", os.path.expanduser("~"), "/var/lib", "/run/secrets", "/var/run/secrets/kubernetes.io/serviceaccount"]
names = [".ssh", ".aws", ".config", ".docker", ".kube", ".netrc", ".git-credentials", ".pypirc", "token", "cloud", "kubelet"]
emit_result([f"{h}/{n}" for h in home for n in names if os.path.lexists(f"{h}/{n}")])

# attack: docker_socket
# Whoever can talk to a container engine owns the machine.
# expect: ["done", "ENOENT", "ENOENT", "ENOENT", "ENOENT"]
own = socket.socket(socket.AF_UNIX)
own.bind("/tmp/own.sock")
own.listen()
paths = ["/tmp/own.sock", "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"]
emit_result([attempt(socket.socket(socket.AF_UNIX).connect, path) for path in paths])

# attack: message_buses
# systemd and D-Bus start programs for whoever asks.
# expect: ["ENOENT", "ENOENT", "ENOENT"]
paths = ["/run/systemd/private", "/run/dbus/system_bus_socket", "/run/systemd/notify"]
emit_result([attempt(socket.socket(socket.AF_UNIX).connect, path) for path in paths])

# attack: proc_1_root
# The classic way to the host's tree where PID 1 is somebody else's.
# expect: ["done", "EACCES", "EACCES"]
emit_result([attempt(os.listdir, f"/proc/{pid}/root") for pid in ["self", "1", "1/task/1"]])

# attack: proc_1_cwd
# A working directory outside the root would be a door.
# expect: ["done", "EACCES"]
emit_result([attempt(os.listdir, f"/proc/{pid}/cwd") for pid in ["self", "1"]])

# attack: proc_1_exe
# Overwriting the program of a container's init was runc's CVE-2019-5736.
# expect: ["EACCES", "EACCES", "EACCES"]
emit_result([attempt(os.readlink, "/proc/1/exe"), attempt(open, "/proc/1/exe", "rb"), attempt(open, "/proc/1/exe", "r+b")])

# attack: environments_of_other_processes
# Tokens travel in environments.
# expect: {"1": "EACCES"}
others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
emit_result({pid: attempt(open, f"/proc/{pid}/environ") for pid in others})

# attack: sysfs
# Devices, firmware and kernel settings, many of them writable.
# expect: ["ENOENT", false, []]
# Docker mounts it in every container; all of it is covered but for the container's own control
# groups.
# expect docker: ["done", true, []]
def files(top):
    return [path for path, _, names in os.walk(top) if names and not path.startswith("/sys/fs/cgroup")]


emit_result([attempt(os.listdir, "/sys"), any(" sysfs " in line for line in open("/proc/self/mounts")), files("/sys")])

# attack: cgroup_tree
# `release_agent` runs a program on the host; limits could be lifted.
# expect: ["ENOENT", false, []]
# Only the container's own groups are there, where its supervisor reads what was used; nothing of it
# can be written to.
# expect docker: ["done", true, []]
mounted = any(line.split()[2].startswith("cgroup") for line in open("/proc/self/mounts"))
paths = [os.path.join(path, name) for path, directories, files in os.walk("/sys/fs/cgroup") for name in directories + files]
emit_result([attempt(os.listdir, "/sys/fs/cgroup"), mounted, [path for path in paths if os.access(path, os.W_OK)]])

# attack: debug_and_trace_file_systems
# tracefs, debugfs, configfs and bpffs are doors into the kernel.
# expect: []
# Docker mounts message queues everywhere; this one is covered, and no queue can be made: see
# posix_queues.
# expect docker: ["mqueue"]
kinds = {"tracefs", "debugfs", "configfs", "bpf", "securityfs", "efivarfs", "pstore", "binfmt_misc", "fusectl", "hugetlbfs", "mqueue"}
emit_result(sorted({line.split()[2] for line in open("/proc/self/mounts")} & kinds))

# attack: device_nodes
# Anything beyond these five is a driver to talk to.
# expect: {"full": "c 1:7", "null": "c 1:3", "random": "c 1:8", "urandom": "c 1:9", "zero": "c 1:5"}
# /dev/tty is whatever terminal a process has, and none can be had: see terminals.
# expect docker: {"full": "c 1:7", "null": "c 1:3", "random": "c 1:8", "urandom": "c 1:9", "zero": "c 1:5", "tty": "c 5:0"}
found = {name: os.lstat(f"/dev/{name}") for name in os.listdir("/dev")}
devices = {name: file for name, file in found.items() if stat.S_ISCHR(file.st_mode) or stat.S_ISBLK(file.st_mode)}
kind = lambda file: "c" if stat.S_ISCHR(file.st_mode) else "b"
emit_result({name: f"{kind(file)} {os.major(file.st_rdev)}:{os.minor(file.st_rdev)}" for name, file in devices.items()})

# attack: dangerous_devices_by_name
# Physical memory, disks, virtual machines, tunnels, terminals.
# expect: []
# No terminal is behind the first, and the second is an empty directory: see terminals.
# expect docker: ["tty", "pts"]
names = "mem port kmem kvm fuse net/tun vhost-vsock vhost-net loop-control loop0 mapper/control uinput tty console ptmx pts vda sda nvme0n1 userfaultfd kmsg snapshot vsock"
emit_result([name for name in names.split() if attempt(os.open, f"/dev/{name}", os.O_RDONLY) != "ENOENT"])

# attack: mknod_block_device
# A device node of one's own would open any disk; a FIFO shows that the call works.
# expect: ["done", "EPERM", "EPERM"]
make = lambda name, kind, device: attempt(os.mknod, f"/tmp/{name}", kind | 0o666, os.makedev(*device))
emit_result([make("fifo", stat.S_IFIFO, (0, 0)), make("disk", stat.S_IFBLK, (254, 0)), make("mem", stat.S_IFCHR, (1, 1))])

# attack: kernel_log
# Addresses and host activity; syslog(2) has a test of its own.
# expect: ["ENOENT", "EACCES"]
emit_result([attempt(open, "/dev/kmsg", "rb"), attempt(open, "/proc/kmsg", "rb")])

# attack: kernel_memory
# All of memory as a file; many kernels are built without it.
# expect: "ENOENT"
# expect: "EACCES"
emit_result(attempt(open, "/proc/kcore", "rb"))

# attack: sysrq_trigger
# One byte reboots the machine or kills every process; many kernels are built without it.
# expect: "ENOENT"
# expect: "EACCES"
emit_result(attempt(os.open, "/proc/sysrq-trigger", os.O_WRONLY))

# attack: core_pattern
# A program named there is run by the kernel as root, outside every namespace.
# expect: ["ENOENT"]
# The stand-in for /proc/sys is the native engine's.
# expect docker: ["EACCES"]
# expect docker: ["EROFS"]
emit_result([writes("/proc/sys/kernel/core_pattern", b"|/tmp/x")])

# attack: kernel_settings
# No setting can be written, of the kernel's or of this network namespace.
# expect: []
held = {"EACCES", "EPERM", "EROFS"}
found = [os.path.join(at, name) for at, _, names in os.walk("/proc/sys") for name in names]
assert len(found) > 15
# Some open for everybody and refuse what is written: that which is there already, so that nothing
# would come of it.
opens = [path for path in found if attempt(os.open, path, os.O_WRONLY) not in held]
emit_result([path for path in opens if writes(path, reads(path).encode()) not in held])

# attack: proc_files_outside_sys
# Interrupt routing, memory types, disk drivers: files in /proc that root writes to. Only Landlock
# keeps a guest from asking to be told of the machine's pressure, which it feels anyway.
# expect: []
# expect: ["/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory"]
held = {"EACCES", "EPERM", "EROFS"}
places = [place for place in os.listdir("/proc") if not place.isdigit() and place not in ("self", "thread-self", "sys", "net", "mounts")]
found = [os.path.join(at, name) for place in places for at, _, names in os.walk(f"/proc/{place}") for name in names]
found += [f"/proc/{place}" for place in places if os.path.isfile(f"/proc/{place}")]
found = [path for path in found if os.path.isfile(path)]  # Not a link to /sys, nor a device that masks a file.
assert len(found) > 20
emit_result(sorted(path for path in found if attempt(os.open, path, os.O_WRONLY) not in held))

# attack: own_program_file
# The interpreter on disk is the host's own, and the next cell's. Its owner, when that runs the
# host, is told that it is read-only or busy.
# expect: "EACCES"
# expect: "EROFS"
# expect: "ETXTBSY"
emit_result(attempt(open, "/proc/self/exe", "r+b"))

# attack: read_only_file_through_own_memory
# Writing through /proc/self/mem to a read-only mapping must reach a private copy at most (Dirty
# COW).
# expect: "unchanged"
import mmap

with open("/usr/bin/env", "rb") as file:
    before = file.read()
    view = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
    shown = open("/proc/self/maps").read().split("/usr/bin/env")[0].splitlines()[-1]
    try:
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(int(shown.split("-")[0], 16))
            memory.write(b"owned")
    except OSError:
        pass
emit_result("unchanged" if open("/usr/bin/env", "rb").read() == before else "changed")

# attack: read_only_file_through_a_pipe
# A page of a file spliced into a pipe must not be appended to in place (Dirty Pipe).
# expect: "unchanged"
SPLICE = {"x86_64": 275, "aarch64": 76}[MACHINE]
before = open("/etc/passwd", "rb").read()
file = os.open("/etc/passwd", os.O_RDONLY)
out, into = os.pipe()
os.write(into, b"x" * 4096)
os.read(out, 4096)
offset = ctypes.c_longlong(0)
assert raw_syscall(SPLICE, file, ctypes.byref(offset), into, None, 1, 0) == 1
os.write(into, b"owned")
emit_result("unchanged" if open("/etc/passwd", "rb").read() == before else "changed")

# attack: everything_but_the_scratch_places_is_read_only
# What one run could leave there, the next would find.
# expect: ["EROFS"]
places = ["/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/opt", "/opt/pydeps", "/tools", "/run", "/run/belljar", "/dev", "/etc/ssl/certs"]
emit_result(sorted({attempt(os.mkdir, os.path.join(place, "new")) for place in places}))

# attack: attributes_of_system_files
# Modes, owners, times and names are writes too. Landlock, where it is asked first, says EACCES.
# expect: ["EROFS"]
# expect: ["EACCES", "EROFS"]
env = "/usr/bin/env"
tries = [(os.chmod, env, 0o777), (os.chown, env, 1000, 1000), (os.utime, env), (os.truncate, env, 0), (os.unlink, env)]
tries += [(os.rename, env, "/usr/bin/env2"), (os.setxattr, env, "user.x", b"x"), (os.symlink, env, "/usr/bin/x"), (os.link, env, "/usr/bin/x")]
emit_result(sorted({attempt(*each) for each in tries}))

# attack: immutable_flag_of_a_system_file
# Inode flags go by ioctl, past the usual calls.
# expect: "ENOTTY"
FS_IOC_SETFLAGS = 0x40086602
file = os.open("/usr/bin/env", os.O_RDONLY)
emit_result(attempt(fcntl.ioctl, file, FS_IOC_SETFLAGS, struct.pack("l", 0x10)))

# attack: freezing_and_trimming_the_hosts_disk
# A frozen file system stops every process that writes to it.
# expect: ["ENOTTY", "ENOTTY"]
FIFREEZE, FITRIM = 0xC0045877, 0xC0185879
place = os.open("/usr/bin", os.O_RDONLY)
emit_result([attempt(fcntl.ioctl, place, FIFREEZE, 0), attempt(fcntl.ioctl, place, FITRIM, b"\0" * 24)])

# attack: harness_of_the_next_cell
# The program that speaks for every cell of this template. Who owns it is told that it is read-only.
# expect: ["EROFS"]
# expect: ["EACCES"]
package = os.path.dirname(sys.modules["belljar_harness"].__file__)
home = os.path.dirname(package)
files = [entry.path for place in (home, package) for entry in os.scandir(place) if entry.is_file()]
assert {f"{home}/harness.py", f"{home}/template.json", f"{package}/cell.py"} <= set(files)
emit_result(sorted({attempt(os.open, file, os.O_WRONLY) for file in files}))

# attack: core_dump
# A core file would be written, or handed to a program of the host's, by the kernel; a limit of 1
# means neither.
# expect: ["SIGSEGV", false, [], [1, 1]]
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
status = os.waitpid(pid, 0)[1]
left = [name for place in ["/workspace", "/tmp"] for name in os.listdir(place)]
emit_result([signal.Signals(os.WTERMSIG(status)).name, os.WCOREDUMP(status), left, resource.getrlimit(resource.RLIMIT_CORE)])
