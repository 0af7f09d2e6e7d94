# What a guest can learn. Facts about the host that a shared kernel tells everybody are in
# accepted.py.

# attack: environment
# The host's variables hold its secrets; a cell's are a fixed list.
# expect: [[], []]
# The daemon starts the supervisor with the container's name, which is the same for all; scripts do
# not get it.
# expect docker: [[], ["HOSTNAME"]]
known = {"HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "USER", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LD_LIBRARY_PATH"}
known |= {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"}
known |= {"NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "LOKY_MAX_CPU_COUNT", "JE_ARROW_MALLOC_CONF", "MALLOC_ARENA_MAX"}
known |= {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "FONTCONFIG_FILE"}
known |= {"MPLBACKEND", "QT_QPA_PLATFORM", "SDL_VIDEODRIVER", "SDL_AUDIODRIVER"}
start = {entry.split("=")[0] for entry in open("/proc/self/environ").read().split("\0") if entry}
emit_result([sorted(set(os.environ) - known), sorted(start - known)])

# attack: values_of_the_environment
# No value may name a place or a user of the host's.
# expect: ["/tmp", "/workspace", "sandbox", "sandbox"]
emit_result([os.environ[name] for name in ("TMPDIR", "HOME", "USER", "LOGNAME")])

# attack: host_name
# The host's name is its own.
# expect: ["belljar", "belljar"]
emit_result([os.uname().nodename, open("/proc/sys/kernel/hostname").read().strip()])

# attack: identity_of_the_machine
# Ids and notes that systems leave in /etc.
# expect: []
# The image's own, and two files of the container's: see host_name and resolver.
# expect docker: ["hostname", "os-release", "issue", "motd", "fstab", "resolv.conf", "subuid", "environment"]
names = ["machine-id", "hostname", "os-release", "issue", "motd", "fstab", "crontab", "hosts.allow", "resolv.conf", "subuid", "sudoers", "environment"]
emit_result([name for name in names if os.path.lexists(f"/etc/{name}")])

# attack: paths_of_mapped_files
# Mappings show paths as the guest sees them.
# expect: []
paths = {line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if len(line.split(None, 5)) == 6}
known = ("/usr/", "/opt/", "/lib", "/memfd:belljar-", "[", "/run/belljar/", "/dev/zero")
emit_result(sorted(path for path in paths if not path.startswith(known)))

# attack: sources_of_mounts
# The system's directories show up under their own names; an interpreter, a layer or a grant from
# elsewhere does not, see grants.rs.
# expect: []
# Docker's own files. Where its data is kept and what it calls a container is of no use to whoever
# cannot reach either.
# expect docker: [["containers/<id>/hostname", "/etc/hostname"], ["containers/<id>/hosts", "/etc/hosts"], ["containers/<id>/resolv.conf", "/etc/resolv.conf"]]
import re

rows = [line.split() for line in open("/proc/self/mountinfo")]
elsewhere = ("/etc/localtime", "/opt/python", "/opt/pydeps", "/dev/", "/proc/", "/run/belljar/proc/sys/kernel/random/uuid")
shown = [(row[3], row[4]) for row in rows if row[3] != "/" and not row[4].startswith(elsewhere)]
emit_result(sorted([re.sub(r"^/.*/(containers/)[0-9a-f]{64}/", r"\1<id>/", source), place] for source, place in shown if source != place))

# attack: keys
# The kernel's key store: nobody's keys are shown.
# expect: [0, 0]
# expect: ["ENOENT", "ENOENT"]
count = lambda path: len(open(path).readlines()) if os.path.exists(path) else "ENOENT"
emit_result([count("/proc/keys"), count("/proc/key-users")])

# attack: network_of_the_host
# Connections, neighbours, routes and sockets of the cell's own network only; two sockets are the
# ends of its channel.
# expect: {"arp": 0, "route": 0, "tcp": 0, "tcp6": 0, "udp": 0, "udp6": 0, "unix": 2}
rows = lambda name: len(open(f"/proc/net/{name}").readlines()) - 1
emit_result({name: rows(name) for name in ("arp", "route", "tcp", "tcp6", "udp", "udp6", "unix")})

# attack: kernel_addresses
# Symbols without addresses; where things are is half of an exploit.
# expect: [0]
# expect: "absent"
if os.path.exists("/proc/kallsyms"):
    emit_result(sorted({int(line.split()[0], 16) for line in open("/proc/kallsyms")}))
else:
    emit_result("absent")

# attack: physical_memory_map
# Ranges without addresses.
# expect: [0]
# expect: "absent"
try:
    emit_result(sorted({int(line.strip().split("-")[0], 16) for line in open("/proc/iomem")}))
except (FileNotFoundError, PermissionError):
    emit_result("absent")

# attack: physical_addresses
# Frame numbers make memory attacks on neighbours practical.
# expect: [0]
buffer = ctypes.create_string_buffer(b"x" * (1 << 16))
with open("/proc/self/pagemap", "rb") as table:
    table.seek(ctypes.addressof(buffer) // 4096 * 8)
    entries = struct.unpack("8Q", table.read(64))
assert any(entry >> 63 for entry in entries)
emit_result(sorted({entry & (1 << 55) - 1 for entry in entries}))

# attack: kernel_tables_for_root
# Slabs, mappings, timers, page counts: open to root only.
# expect: []
names = ["slabinfo", "vmallocinfo", "timer_list", "sched_debug", "kpagecount", "kpageflags", "kpagecgroup", "pagetypeinfo", "latency_stats", "kmsg"]
shown = {name: reads(f"/proc/{name}") for name in names}
emit_result([name for name, answer in shown.items() if answer not in ("EACCES", "EPERM", "ENOENT", "")])

# attack: kernel_stacks
# Where a process stands in the kernel.
# expect: ["EACCES", "EACCES"]
# expect: ["ENOENT", "ENOENT"]
emit_result([reads("/proc/self/stack"), reads("/proc/1/stack")])

# attack: kernel_command_line
# Boot parameters have carried passwords, addresses and tokens.
# expect: ""
emit_result(reads("/proc/cmdline"))

# attack: interrupt_counts
# Counts by device and processor tell of keys pressed and pages visited.
# expect: ""
emit_result(reads("/proc/interrupts"))

# attack: locks_of_other_processes
# Only those of processes in sight, and there are none.
# expect: []
emit_result(open("/proc/locks").readlines())

# attack: numbers_of_processes_outside
# Every id in a process's own status is of this namespace.
# expect: [true, true, "1"]
status, own = status_of("self"), str(os.getpid())
emit_result([status["NSpid"] == own, status["NStgid"] == own, status["PPid"]])

# attack: processes_in_the_load_average
# Its last field is the last process id, of this namespace.
# expect: true
emit_result(int(open("/proc/loadavg").read().split()[-1]) < 100)

# attack: logins
# Who is on the machine, and since when.
# expect: []
emit_result([path for path in ("/var/run/utmp", "/run/utmp", "/var/log/wtmp", "/var/log/lastlog") if os.path.exists(path)])

# attack: supplementary_groups
# Groups of root's are dropped; those of an ordinary user cannot be, and have no name here.
# expect: true
emit_result(set(os.getgroups()) <= {1000, 65534})

# attack: scratch_is_empty
# Nothing of an earlier run, and nothing of the host's.
# expect: [[], [], []]
emit_result([os.listdir(place) for place in ("/workspace", "/tmp", "/dev/shm")])

# attack: grants_that_nobody_gave
# The root holds the system, the scratch places and nothing more.
# expect: []
# The rest of the image's root, and Docker's mark; what of it has contents is said in host_files.
# expect docker: [".dockerenv", "boot", "home", "media", "mnt", "root", "sbin", "srv", "sys", "var"]
known = {"bin", "lib", "lib32", "lib64", "libx32", "dev", "etc", "opt", "proc", "run", "tmp", "tools", "usr", "workspace"}
emit_result(sorted(set(os.listdir("/")) - known))

# attack: names_of_control_groups
# Their names carry the host's process id and count its cells; seen from inside, a cell is at the
# root.
# expect: ["/"]
emit_result(sorted({line.strip().split(":", 2)[2] for line in open("/proc/self/cgroup")}))

# attack: what_the_machine_does
# Counts by device, processor and memory zone give away what others do.
# expect: {}
names = ["buddyinfo", "cgroups", "diskstats", "interrupts", "locks", "schedstat", "softirqs", "timer_list", "vmstat", "zoneinfo"]
found = {name: reads(f"/proc/{name}") for name in names}
# A stand-in, which says that nothing was ever swapped.
found = {name: text for name, text in found.items() if text not in ("", "ENOENT", "EACCES", "pswpin 0\npswpout 0\n")}
places = {place: os.listdir(f"/proc/{place}") for place in ("fs", "irq", "pressure") if os.path.isdir(f"/proc/{place}")}
emit_result(found | {place: names for place, names in places.items() if names})

# attack: interrupts_in_the_statistics
# The counts that /proc/interrupts has, in one line of another file; processors are shown, what they
# did is not.
# expect: [true, ["0"], ["0"]]
# The daemon can cover a file and not change it, and without it programs do not know how many
# processors there are.
# expect docker: [true, ["many"], ["many"]]
lines = dict(line.split(" ", 1) for line in open("/proc/stat").read().splitlines())
many = lambda name: sorted({"many" if number != "0" else "0" for number in lines[name].split()[:1]})
emit_result(["cpu0" in lines, many("intr"), many("ctxt")])

# attack: counters_among_the_settings
# How many files, terminals and asynchronous requests the whole machine has.
# expect: ["ENOENT"]
names = ["fs/file-nr", "fs/inode-nr", "fs/inode-state", "fs/dentry-state", "fs/aio-nr", "fs/quota/dquots", "kernel/pty/nr", "dev/cdrom/info"]
emit_result(sorted({attempt(open, f"/proc/sys/{name}") for name in names}))

# attack: settings_that_programs_read
# The stand-in must not be so small that honest programs fail.
# expect: [true, true, true, 36, true]
read = lambda name: reads(f"/proc/sys/{name}").strip()
emit_result([read("kernel/osrelease") == os.uname().release, int(read("kernel/pid_max")) > 0, read("vm/overcommit_memory") in "012", len(read("kernel/random/uuid")), read("kernel/random/uuid") != read("kernel/random/uuid")])
