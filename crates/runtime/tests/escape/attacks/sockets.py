# A guest talks TCP, UDP and Unix sockets within its own cell; every other family is a driver nobody needs, and a way around the walls.

# attack: netlink
# Routes, interfaces, netfilter, audit: the kernel's own control sockets.
# expect: ["EPERM", "EPERM", "EPERM"]
emit_result([syscall("socket", 16, 3, protocol) for protocol in (0, 9, 12)])

# attack: packet
# Everything on the wire.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("socket", 17, 3, 0x0300), syscall("socket", 17, 2, 0x0300)])

# attack: raw_ipv4
# Packets with any header; a plain socket shows that the family is there.
# expect: ["done", "EPERM", "EPERM"]
emit_result([attempt(socket.socket), syscall("socket", 2, 3, 1), syscall("socket", 2, 3, 255)])

# attack: raw_ipv6
# The same for the other version.
# expect: "EPERM"
emit_result(syscall("socket", 10, 3, 58))

# attack: raw_with_flags
# The type's flags must not hide the type.
# expect: ["EPERM", "EPERM", "EPERM"]
emit_result([syscall("socket", 2, 3 | flags, 1) for flags in (0o4000, 0o2000000, 0o2004000)])

# attack: family_with_the_upper_half_set
# The kernel reads 32 bits of it; a filter that compares 64 would be fooled.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("socket", 1 << 32 | 16, 3, 0), syscall("socket", 1 << 32 | 40, 1, 0)])

# attack: vsock
# Straight to the hypervisor, past every network namespace.
# expect: ["EPERM", "EPERM"]
emit_result([syscall("socket", 40, 1, 0), syscall("socket", 40, 2, 0)])

# attack: crypto
# AF_ALG has let guests write to the page cache of files they could only read.
# expect: "EPERM"
emit_result(syscall("socket", 38, 5, 0))

# attack: bluetooth
# A stack full of parsers.
# expect: "EPERM"
emit_result(syscall("socket", 31, 3, 1))

# attack: can
# Cars and robots.
# expect: "EPERM"
emit_result(syscall("socket", 29, 3, 1))

# attack: xdp
# Memory shared with a network driver.
# expect: "EPERM"
emit_result(syscall("socket", 44, 3, 0))

# attack: kcm
# Messages over TCP, with BPF inside.
# expect: "EPERM"
emit_result(syscall("socket", 41, 5, 0))

# attack: tipc
# A cluster protocol with a remote overflow in its past.
# expect: "EPERM"
emit_result(syscall("socket", 30, 1, 0))

# attack: every_other_family
# Including those that a later kernel adds.
# expect: [1, 2, 10]
made = [family for family in range(64) if syscall("socket", family, 2, 0) != "EPERM"]
emit_result(made)

# attack: packet_by_its_old_name
# A type of the IPv4 family, from before packet sockets.
# expect: "EPERM"
SOCK_PACKET = 10
emit_result(syscall("socket", 2, SOCK_PACKET, 0x0300))

# attack: ping
# Even an echo request is traffic. A network namespace lets nobody ping unless its root says so; a filter may say no before.
# expect: ["EACCES", "EACCES"]
# expect: ["EPERM", "EPERM"]
emit_result([syscall("socket", 2, 2, 1), syscall("socket", 10, 2, 58)])

# attack: the_internet
# There is no route to anywhere, by either version.
# expect: ["ENETUNREACH", "ENETUNREACH", "ENETUNREACH"]
def dial(family, kind, address):
    return attempt(socket.socket(family, kind).connect, address)


v4, v6 = socket.AF_INET, socket.AF_INET6
emit_result([dial(v4, 1, ("1.1.1.1", 443)), dial(v4, 2, ("8.8.8.8", 53)), dial(v6, 1, ("2606:4700:4700::1111", 443))])

# attack: cloud_metadata
# The address that hands out a machine's credentials.
# expect: ["ENETUNREACH", "ENETUNREACH"]
emit_result([attempt(socket.socket().connect, (address, 80)) for address in ("169.254.169.254", "100.100.100.200")])

# attack: private_networks
# The host's neighbours.
# expect: ["ENETUNREACH"]
addresses = ["10.0.0.1", "172.17.0.1", "192.168.0.1", "192.0.2.1"]
emit_result(sorted({attempt(socket.socket().connect, (address, 80)) for address in addresses}))

# attack: broadcast_and_multicast
# Whoever listens on the wire.
# expect: ["ENETUNREACH", "ENETUNREACH"]
speaker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
speaker.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
emit_result([attempt(speaker.sendto, b"x", (address, 9)) for address in ("255.255.255.255", "224.0.0.251")])

# attack: resolver
# Names are a channel out: there is nobody to ask.
# expect: ["ENOENT", "gaierror"]
# The daemon always writes the file; it names nobody.
# expect docker: [["nameserver 127.0.0.1"], "gaierror"]
try:
    socket.getaddrinfo("example.com", 80)
    answer = "resolved"
except socket.gaierror:
    answer = "gaierror"
names = reads("/etc/resolv.conf")
emit_result([names if names == "ENOENT" else [line for line in names.splitlines() if line.startswith("nameserver")], answer])

# attack: interfaces
# A guest's own network has the loopback only.
# expect: ["lo"]
emit_result([line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]])

# attack: configuring_interfaces
# Addresses, flags, bridges.
# expect: ["ENOTTY", "EPERM", "ENOTTY"]
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
address = struct.pack("16sHH4s16x", b"lo", 2, 0, bytes([10, 0, 0, 1]))
emit_result([attempt(fcntl.ioctl, own, 0x8916, address), attempt(fcntl.ioctl, own, 0x8914, struct.pack("16sH22x", b"lo", 0)), attempt(fcntl.ioctl, own, 0x89A0, b"br0\0")])

# attack: privileged_socket_options
# Marks and forced buffers steer the host's packet filter and memory.
# expect: ["ENOPROTOOPT", "ENOPROTOOPT", "ENOPROTOOPT", "ENOPROTOOPT"]
own = socket.socket()
options = [(1, 36), (1, 33), (0, 19), (6, 19)]  # SO_MARK, SO_RCVBUFFORCE, IP_TRANSPARENT, TCP_REPAIR
emit_result([attempt(own.setsockopt, level, option, 1) for level, option in options])

# attack: packet_filter_tables
# Netfilter's old interface: years of holes reachable from any namespace's root.
# expect: ["ENOPROTOOPT", "ENOPROTOOPT"]
emit_result([attempt(socket.socket(family).getsockopt, level, 64, 84) for family, level in ((2, 0), (10, 41))])

# attack: forged_credentials
# A Unix socket vouches for its sender; a guest may not be vouched for as PID 1, or as root.
# expect: ["done", "EPERM", "EPERM"]
one, other = socket.socketpair()
other.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
SCM_CREDENTIALS = 2
forge = lambda pid, uid: attempt(one.sendmsg, [b"x"], [(1, SCM_CREDENTIALS, struct.pack("iII", pid, uid, 1000))])
answers = [forge(os.getpid(), 1000), forge(1, 1000), forge(os.getpid(), 65534)]
emit_result([answers[0]] + ["EPERM" if each == "EINVAL" else each for each in answers[1:]])

# attack: abstract_names_of_host_services
# Abstract names have no permissions, only a network namespace; one of our own shows that they work.
# expect: ["done", "ECONNREFUSED", "ECONNREFUSED", "ECONNREFUSED"]
own = socket.socket(socket.AF_UNIX)
own.bind("\0own")
own.listen()
names = ["\0own", "\0/tmp/.X11-unix/X0", "\0/tmp/dbus-test", "\0/containerd-shim/default/x.sock"]
emit_result([attempt(socket.socket(socket.AF_UNIX).connect, name) for name in names])

# attack: typing_into_the_terminal
# TIOCSTI puts characters into the input of whoever started the host.
# expect: ["ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"]
key = ctypes.create_string_buffer(b"x")
emit_result([syscall("ioctl", number, 0x5412, key) for number in (0, 1, 2, 900)])

# attack: typing_with_the_upper_half_set
# The kernel reads 32 bits of the request (CVE-2019-10063 in another sandbox).
# expect: ["ENOTTY", "ENOTTY"]
key = ctypes.create_string_buffer(b"x")
emit_result([syscall("ioctl", 0, 1 << 32 | request, key) for request in (0x5412, 0x541C)])

# attack: pasting_into_the_console
# TIOCLINUX does it with the console's selection (CVE-2023-1523 in another sandbox).
# expect: "ENOTTY"
emit_result(syscall("ioctl", 0, 0x541C, ctypes.create_string_buffer(b"\x03")))

# attack: terminals
# There are none: not the caller's, and none to be made.
# expect: ["ENOENT", "ENOENT", "ENOENT", false]
# The first is no terminal, but the name of the one that a process may have; this one has none.
# expect docker: ["ENXIO", "ENOENT", "ENOENT", false]
emit_result([attempt(os.open, path, os.O_RDWR) for path in ("/dev/tty", "/dev/ptmx", "/dev/console")] + [any(os.isatty(n) for n in range(1024))])

# attack: pairs_of_other_families
# A pair of sockets is two sockets: making one goes through the same drivers.
# expect: ["EPERM"]
pair = (ctypes.c_int * 2)()
emit_result(sorted({syscall("socketpair", family, kind, 0, pair) for family in range(2, 48) for kind in (1, 2, 5)}))

# attack: other_protocols
# TCP and UDP; SCTP, DCCP, MPTCP, UDP-Lite, L2TP and SMC are each a driver more, some loaded on demand.
# expect: ["done", "done", "EPERM", "EPERM", "EPERM", "EPERM", "EPERM", "EPERM"]
asked = [(1, 6), (2, 17), (1, 132), (6, 33), (1, 262), (2, 136), (2, 115), (1, 256)]
emit_result([attempt(socket.socket, socket.AF_INET, kind, protocol) for kind, protocol in asked])

# attack: out_of_band_data
# On Unix sockets it has been a way from a browser's sandbox into the kernel (CVE-2025-38236); nothing uses it.
# expect: ["done", "EPERM"]
one, other = socket.socketpair()
emit_result([attempt(one.send, b"x"), attempt(one.send, b"x", socket.MSG_OOB)])
