# What a guest does learn, because it runs on the host's own kernel and processor. These tests say
# what is seen, so that a change is noticed either way; SECURITY.md lists them.

# attack: time_since_boot
# Accepted: clocks are the machine's, and a time namespace would hide the number but not the
# ticking.
# expect: true
emit_result(float(open("/proc/uptime").read().split()[0]) > 0 and time.clock_gettime(time.CLOCK_BOOTTIME) > 0)

# attack: boot_id
# Accepted: one random number for the machine, the same for all who run on it until it is restarted.
# expect: 36
emit_result(len(open("/proc/sys/kernel/random/boot_id").read().strip()))

# attack: kernel_version
# Accepted: programs ask for it, and the kernel's behaviour would tell anyway.
# expect: true
emit_result(open("/proc/version").read().split()[2] == os.uname().release)

# attack: memory_of_the_machine
# Accepted for now: /proc/meminfo and sysinfo(2) show the machine's memory, not the cell's share of
# it.
# expect: true
emit_result(int(open("/proc/meminfo").readline().split()[1]) * 1024 >= os.sysconf("SC_PHYS_PAGES") * 4096 > 0)

# attack: processors_of_the_machine
# Accepted: a cell's share of the processor is a quota over all of them, not a set of its own.
# expect: true
emit_result(os.cpu_count() >= 1 and "processor" in open("/proc/cpuinfo").read())

# attack: load_of_the_machine
# Accepted: whoever shares a processor feels the load; numbers only spare the measuring.
# expect: [3, true]
emit_result([len(os.getloadavg()), "cpu " in open("/proc/stat").read()])

# attack: disk_of_the_machine
# Accepted: the system's directories lie on it, and statvfs tells size and free space.
# expect: true
emit_result(os.statvfs("/usr/bin").f_blocks > 0)

# attack: programs_of_the_machine
# Accepted: what the distribution installed can be read and run, which is how programs are there at
# all.
# expect: true
emit_result(len(os.listdir("/usr/bin")) > 10)

# attack: own_id_on_the_host
# Accepted: the map of the user namespace shows which host id the cell has. It owns nothing there,
# or is the caller's own.
# expect: ["1000", "1"]
# A container has the daemon's user namespace; its own id there is 1000 without any right.
# expect docker: ["0", "4294967295"]
# expect docker: ["0", "65536"]
inside, _, count = open("/proc/self/uid_map").read().split()
emit_result([inside, count])

# attack: time_zone_of_the_machine
# Accepted: a script's local time is the host's.
# expect: true
emit_result(os.path.exists("/etc/localtime") or time.tzname[0] == "UTC")
