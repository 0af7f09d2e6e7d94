# A cell's mounts are what confines it. None can be added, taken off, moved or changed, by the old
# calls or the new.

# attack: tmpfs
# Any mount at all would show that the calls are open.
# expect: "EPERM"
emit_result(syscall("mount", b"none", b"/tmp", b"tmpfs", 0, None))

# attack: bind
# Covers one file with another.
# expect: "EPERM"
MS_BIND = 4096
emit_result(syscall("mount", b"/tmp", b"/workspace", None, MS_BIND, None))

# attack: remount_root_writable
# The root is read-only by a mount flag.
# expect: "EPERM"
MS_REMOUNT = 32
emit_result(syscall("mount", None, b"/", None, MS_REMOUNT, None))

# attack: remount_bind_writable
# As are the system's directories.
# expect: "EPERM"
MS_REMOUNT_BIND = 32 | 4096
emit_result(syscall("mount", None, b"/usr/bin", None, MS_REMOUNT_BIND, None))

# attack: remount_with_set_user_id
# Only a flag keeps set-user-id programs harmless here.
# expect: "EPERM"
MS_REMOUNT_BIND_RDONLY = 32 | 4096 | 1
emit_result(syscall("mount", None, b"/usr/bin", None, MS_REMOUNT_BIND_RDONLY, None))

# attack: propagation
# A shared mount would carry later mounts out.
# expect: "EPERM"
MS_REC_SHARED = 1 << 20 | 16384
emit_result(syscall("mount", None, b"/", None, MS_REC_SHARED, None))

# attack: second_proc
# A fresh proc has no masks.
# expect: "EPERM"
os.mkdir("/tmp/proc")
emit_result(syscall("mount", b"proc", b"/tmp/proc", b"proc", 0, None))

# attack: sysfs
# The kernel's devices and settings.
# expect: "EPERM"
emit_result(syscall("mount", b"sysfs", b"/tmp", b"sysfs", 0, None))

# attack: cgroup_v1
# With a release_agent, the most published container escape.
# expect: "EPERM"
emit_result(syscall("mount", b"none", b"/tmp", b"cgroup", 0, b"memory"))

# attack: cgroup_v2
# The same tree in its newer form.
# expect: "EPERM"
emit_result(syscall("mount", b"none", b"/tmp", b"cgroup2", 0, None))

# attack: overlay
# Overlayfs in user namespaces has been a way to root more than once.
# expect: "EPERM"
for name in ("upper", "work", "merged"):
    os.mkdir(f"/tmp/{name}")
options = b"lowerdir=/usr/bin,upperdir=/tmp/upper,workdir=/tmp/work"
emit_result(syscall("mount", b"overlay", b"/tmp/merged", b"overlay", 0, options))

# attack: umount_proc
# Beneath the cell's proc lies that of its zygote, with other processes.
# expect: ["EPERM", true]
MNT_DETACH = 2
answer = syscall("umount2", b"/proc", MNT_DETACH)
emit_result([answer, sorted(int(name) for name in os.listdir("/proc") if name.isdigit()) == [1, os.getpid()]])

# attack: umount_scratch
# Beneath the scratch places lie directories that all cells of a template share.
# expect: ["EPERM", "EPERM", "EPERM"]
MNT_DETACH = 2
emit_result([syscall("umount2", place, MNT_DETACH) for place in (b"/workspace", b"/tmp", b"/dev/shm")])

# attack: umount_the_mask_of_a_proc_file
# What covers a file of the kernel's stays on it.
# expect: "EPERM"
emit_result(syscall("umount2", b"/proc/cmdline", 2))

# attack: pivot_root
# Swaps the root for a directory of one's own.
# expect: "EPERM"
emit_result(syscall("pivot_root", b"/tmp", b"/tmp"))

# attack: chroot
# With a descriptor from before, chroot is the oldest way out of a chroot.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("chroot", b"/tmp"), syscall("chroot", b"/proc/self/root")])

# attack: fsopen
# The first step of the new mount calls.
# expect: "EPERM"
emit_result(syscall("fsopen", b"tmpfs", 0))

# attack: fsconfig
# Its parameter parser has had a heap overflow (CVE-2022-0185).
# expect: "EPERM"
FSCONFIG_SET_STRING = 1
emit_result(syscall("fsconfig", 0, FSCONFIG_SET_STRING, b"source", b"x" * 64, 0))

# attack: fsmount
# Makes a mount of a configured file system.
# expect: "EPERM"
emit_result(syscall("fsmount", 0, 0, 0))

# attack: fspick
# Reconfigures a mounted one.
# expect: "EPERM"
emit_result(syscall("fspick", -100, b"/", 0))

# attack: open_tree
# A copy of a mount without its place.
# expect: "EPERM"
OPEN_TREE_CLONE = 1
emit_result(syscall("open_tree", -100, b"/", OPEN_TREE_CLONE))

# attack: open_tree_attr
# The same with other attributes; only kernels since 6.15 know it.
# expect: "EPERM"
# expect: "ENOSYS"
OPEN_TREE_CLONE = 1
writable = struct.pack("QQQQ", 0, 1, 0, 0)
emit_result(syscall("open_tree_attr", -100, b"/", OPEN_TREE_CLONE, writable, len(writable)))

# attack: move_mount
# Takes a mount off what it covers.
# expect: "EPERM"
emit_result(syscall("move_mount", -100, b"/proc", -100, b"/tmp", 0))

# attack: mount_setattr
# Clears the read-only flag the new way.
# expect: "EPERM"
MOUNT_ATTR_RDONLY = 1
writable = struct.pack("QQQQ", 0, MOUNT_ATTR_RDONLY, 0, 0)
emit_result(syscall("mount_setattr", -100, b"/", 0, writable, len(writable)))

# attack: mount_program
# The system's own set-user-id helper is a plain program here.
# expect: true
done = subprocess.run(["mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True)
emit_result(done.returncode != 0)

# attack: mount_flags
# Every mount says nosuid, and nodev but for the five devices.
# expect: [[], ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"]]
# The rest is Docker's choice and root's alone to write to; without new privileges and without mknod
# neither flag has anything to keep out.
# expect docker: [["/", "/dev/mqueue", "/dev/pts", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf"], ["/", "/dev", "/dev/mqueue", "/dev/pts", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf"]]
mounts = [line.split() for line in open("/proc/self/mountinfo")]
lacking = lambda flag: sorted({m[4] for m in mounts if flag not in m[5].split(",") and not m[4].startswith(("/proc/", "/sys/"))})
emit_result([lacking("nosuid"), lacking("nodev")])

# attack: writable_mounts
# Only scratch and proc; the rest says ro, devices too, whose files belong to everybody.
# expect: ["/dev/shm", "/proc", "/tmp", "/workspace"]
# Queues and terminals are covered. With control groups of version 1, the directory that holds them
# is root's alone to write to.
# expect docker: ["/dev/shm", "/proc", "/sys/fs/cgroup", "/tmp", "/workspace"]
# expect docker: ["/dev/shm", "/proc", "/tmp", "/workspace"]
mounts = {line.split()[4]: line.split()[5] for line in open("/proc/self/mountinfo")}  # The last at a place is the one seen.
emit_result(sorted(place for place, flags in mounts.items() if "rw" in flags.split(",") and not place.startswith("/proc/")))
