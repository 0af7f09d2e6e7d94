# A cell is born with four descriptors: three standard ones and its private channel to the host.
# What else can be made of them?

# attack: open_descriptors
# By asking for every number, not by trusting a listing.
# expect: {"0": "device", "1": "pipe", "2": "pipe", "900": "socket"}
def kind(mode):
    kinds = {stat.S_IFCHR: "device", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFREG: "file", stat.S_IFDIR: "directory"}
    return kinds.get(stat.S_IFMT(mode), "other")


found = {}
for number in range(65536):
    try:
        found[number] = kind(os.fstat(number).st_mode)
    except OSError:
        pass
emit_result(found)

# attack: descriptors_that_a_program_inherits
# The channel is closed when another program is started, so that only Python can speak on it.
# expect: ["0", "1", "2"]
listing = subprocess.run(["/bin/sh", "-c", "for n in /proc/self/fd/*; do echo ${n##*/}; done"], capture_output=True, text=True, close_fds=False)
emit_result([n for n in sorted(listing.stdout.split(), key=int) if int(n) < 3 or int(n) >= 10])

# attack: reading_from_the_output_pipes
# Their other ends are the host's.
# expect: ["EBADF", "EBADF"]
emit_result([attempt(os.read, number, 1) for number in (1, 2)])

# attack: reopening_the_channel
# A socket is not a file: its magic link leads nowhere.
# expect: "ENXIO"
emit_result(attempt(os.open, "/proc/self/fd/900", os.O_RDWR))

# attack: who_is_at_the_other_end
# A Unix socket tells the process id of its maker: here, of no process that the guest could name.
# expect: 0
# The other end is the supervisor, which everybody in a container can name and nobody can touch: see
# the attacks on PID 1.
# expect docker: 1
channel = socket.socket(fileno=os.dup(900))
emit_result(struct.unpack("iII", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])

# attack: identity_of_the_other_end
# Nor its user: root shows up as nobody, and a user who maps to the guest as the guest.
# expect: true
channel = socket.socket(fileno=os.dup(900))
_, uid, gid = struct.unpack("iII", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
emit_result({uid, gid} <= {65534, 1000})

# attack: handle_on_the_host
# Newer kernels hand out a handle on the other end's process. It must open nothing: no signal,
# descriptor, namespace or fact.
# expect: ["EINVAL", "EPERM", "EPERM", "Pid:\t0", ["EACCES"]]
# expect: "absent"
# expect: ["EINVAL", "EPERM", "EPERM", "Pid:\t0", ["ENOTTY"]]
SO_PEERPIDFD, CLONE_NEWNS = 77, 0x00020000
channel = socket.socket(fileno=os.dup(900))
try:
    (handle,) = struct.unpack("i", channel.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD, 4))
except OSError:
    emit_result("absent")
else:
    said = [line.strip() for line in open(f"/proc/self/fdinfo/{handle}") if line.startswith("Pid")]
    namespaces = sorted({attempt(fcntl.ioctl, handle, 0xFF00 + number) for number in range(1, 11)})
    answers = [syscall("pidfd_send_signal", handle, 0, None, 0), syscall("pidfd_getfd", handle, 0, 0), syscall("setns", handle, CLONE_NEWNS)]
    emit_result(answers + said + [namespaces])

# attack: network_namespace_of_the_channel
# The socket was made by the host, and a socket keeps the network it was made in.
# expect: "ENOTTY"
SIOCGSKNS = 0x894C
emit_result(attempt(fcntl.ioctl, 900, SIOCGSKNS, 0))

# attack: file_of_the_channel
# The path that a Unix socket is bound to, opened.
# expect: "ENOTTY"
SIOCUNIXFILE = 0x89E0
emit_result(attempt(fcntl.ioctl, 900, SIOCUNIXFILE, 0))

# attack: descriptors_sent_to_the_host
# The host does not take them: they would be files of ours in its table. The run goes on.
# expect: "done"
channel = socket.socket(fileno=os.dup(900))
right = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
emit_result(attempt(channel.sendmsg, [b"\n"], [right]))

# attack: descriptors_received_from_the_host
# Nothing comes along with what the host sends.
# expect: "EAGAIN"
channel = socket.socket(fileno=os.dup(900))
emit_result(attempt(channel.recvmsg, 4096, 4096, socket.MSG_PEEK | socket.MSG_DONTWAIT))

# attack: credentials_of_the_host
# Asking to be told who sends gives nobody's number.
# expect: "EAGAIN"
channel = socket.socket(fileno=os.dup(900))
channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
emit_result(attempt(channel.recvmsg, 4096, 4096, socket.MSG_DONTWAIT))

# attack: signals_by_descriptor
# The owner of a descriptor is sent signals about it; it must be somebody the guest could signal
# anyway.
# expect: ["ESRCH", "ESRCH", "done"]
own = lambda who: attempt(fcntl.fcntl, 900, fcntl.F_SETOWN, who)
emit_result([own(4321), own(-4321), own(os.getpid())])

# attack: growing_the_output_pipe
# Its buffer is kernel memory on the host's account.
# expect: "EPERM"
F_SETPIPE_SZ = 1031
emit_result(attempt(fcntl.fcntl, 1, F_SETPIPE_SZ, 1 << 30))

# attack: status_channel_of_pid_1
# No copy of the socket on which the cell's end is reported is left in the guest.
# expect: [900]
sockets = []
for number in range(4096):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            sockets.append(number)
    except OSError:
        pass
emit_result(sockets)

# attack: control_groups_of_the_cell
# The files by which a cell joins its groups are closed: it cannot leave them by the same way.
# expect: []
links = [os.readlink(f"/proc/self/fd/{number}") for number in (0, 1, 2, 900)]
emit_result([link for link in links if "tasks" in link or "cgroup" in link])

# attack: sealing_the_fate_of_the_cell_library
# Files in memory that all cells of a template share are mapped, not open.
# expect: [true, []]
maps = [line for line in open("/proc/self/maps") if "memfd:" in line]
emit_result([True, [line for line in maps if "w" in line.split()[1] and "s" in line.split()[1]]])

# attack: asynchronous_input_for_others
# Signal-driven input is set on the open file; the host's end is another one.
# expect: "done"
flags = fcntl.fcntl(900, fcntl.F_GETFL)
fcntl.fcntl(900, fcntl.F_SETFL, flags | os.O_NONBLOCK | os.O_ASYNC)
fcntl.fcntl(900, fcntl.F_SETFL, flags)
emit_result("done")

# attack: interfaces_of_the_host_through_the_channel
# The channel belongs to the network it was made in: asked about interfaces, it must not tell of the
# host's.
# expect: []
SIOCGIFNAME = 0x8910
found = []
for index in range(1, 64):
    try:
        found.append(fcntl.ioctl(900, SIOCGIFNAME, struct.pack("16si20x", b"", index))[:16].rstrip(b"\0").decode())
    except OSError:
        pass
emit_result([name for name in found if name != "lo"])

# attack: addresses_of_the_host_through_the_channel
# The same for addresses: where the host is on the network is its own affair.
# expect: []
SIOCGIFCONF = 0x8912
room = ctypes.create_string_buffer(8192)
try:
    (length, _) = struct.unpack("iP", fcntl.ioctl(900, SIOCGIFCONF, struct.pack("iP", 8192, ctypes.addressof(room))))
except OSError:
    length = 0
rows = [room.raw[at : at + 40] for at in range(0, length, 40)]
emit_result([socket.inet_ntoa(row[20:24]) for row in rows if not row.startswith(b"lo\0")])
