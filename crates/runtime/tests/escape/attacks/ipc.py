# What processes share without files. Everything here is the cell's own, and empty when it starts.

# attack: shared_memory_segments
# System V segments go by number, whoever made them; one of our own shows how they are found.
# expect: [0, 1]
# expect: [0, "ENOSYS"]
def segments():
    return len(open("/proc/sysvipc/shm").readlines()) - 1


before = segments()
# Where no control group counts memory there are none.
made = syscall("shmget", 0x5EC, 4096, 0o1666)
emit_result([before, made if made == "ENOSYS" else segments()])

# attack: shared_memory_by_index
# The kernel's own table, entry by entry.
# expect: []
SHM_STAT = 13
buffer = ctypes.create_string_buffer(256)
emit_result([index for index in range(4096) if _libc.shmctl(index, SHM_STAT, buffer) >= 0])

# attack: shared_memory_of_well_known_keys
# Databases and X servers use fixed keys.
# expect: []
emit_result([key for key in (0x1, 0x5432, 0x52E2C1, 0xDEADBEEF & 0x7FFFFFFF) if _libc.shmget(key, 0, 0) >= 0])

# attack: message_queues
# As above for queues.
# expect: [0, 1]
def queues():
    return len(open("/proc/sysvipc/msg").readlines()) - 1


before = queues()
assert _libc.msgget(0x5EC, 0o1666) >= 0
emit_result([before, queues()])

# attack: semaphores
# As above for semaphores.
# expect: [0, 1]
def sets():
    return len(open("/proc/sysvipc/sem").readlines()) - 1


before = sets()
assert _libc.semget(0x5EC, 1, 0o1666) >= 0
emit_result([before, sets()])

# attack: posix_queues
# Their memory is the host user's to be charged with, so a guest gets none.
# expect: ["ENOSYS", "ENOENT"]
# Docker has the directory in every container; here it is an empty one.
# expect docker: ["ENOSYS", "EROFS"]
O_CREAT_RDWR = 0o102
emit_result([syscall("mq_open", b"queue", O_CREAT_RDWR, 0o600, None), attempt(os.mkdir, "/dev/mqueue/new")])

# attack: posix_shared_memory
# /dev/shm is a directory, and was once shared between another sandbox's boxes.
# expect: [[], "done"]
before = os.listdir("/dev/shm")
emit_result([before, attempt(open, "/dev/shm/own", "w")])

# attack: kernel_limits_of_the_namespace
# The limits of a namespace belong to its root, who is nobody here.
# expect: []
held = {"EACCES", "EPERM", "EROFS"}
names = ["kernel/shmmax", "kernel/msgmax", "kernel/sem", "fs/mqueue/queues_max"]
emit_result([name for name in names if os.path.exists(f"/proc/sys/{name}") and writes(f"/proc/sys/{name}", b"1") not in held])
