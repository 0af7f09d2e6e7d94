# A guest talks TCP, UDP and Unix sockets within its own cell; every other family is a driver nobody
# needs, and a way around the walls.

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
# Even an echo request is traffic. A network namespace lets nobody ping unless its root says so; a
# filter may say no before.
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
# TCP and UDP; SCTP, DCCP, MPTCP, UDP-Lite, L2TP and SMC are each a driver more, some loaded on
# demand.
# expect: ["done", "done", "EPERM", "EPERM", "EPERM", "EPERM", "EPERM", "EPERM"]
asked = [(1, 6), (2, 17), (1, 132), (6, 33), (1, 262), (2, 136), (2, 115), (1, 256)]
emit_result([attempt(socket.socket, socket.AF_INET, kind, protocol) for kind, protocol in asked])

# attack: out_of_band_data
# On Unix sockets it has been a way from a browser's sandbox into the kernel (CVE-2025-38236);
# nothing uses it.
# expect: ["done", "EPERM"]
one, other = socket.socketpair()
emit_result([attempt(one.send, b"x"), attempt(one.send, b"x", socket.MSG_OOB)])

# attack: types_without_a_protocol
# With protocol 0 the kernel picks one itself: SCTP, DCCP, SMC, or packets of everybody's.
# expect: ["EPERM"]
SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET = 3, 4, 5, 6, 10
kinds = (SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET, 0, 7, 15)
emit_result(sorted({syscall("socket", family, kind, 0) for family in (1, 2, 10) for kind in kinds}))

# attack: streams_of_datagram_protocols
# A type and a protocol that do not belong together, and protocols with a driver of their own.
# expect: ["EPERM"]
STREAM, DGRAM = 1, 2
pairs = [(STREAM, 17), (DGRAM, 6), (STREAM, 1), (DGRAM, 58), (STREAM, 255), (DGRAM, 2)]
emit_result(sorted({syscall("socket", family, kind, protocol) for family in (2, 10) for kind, protocol in pairs}))

# attack: drivers_on_top_of_a_connection
# TLS in the kernel, MPTCP, ESP over UDP, segmentation: each a parser that a socket option switches
# on.
# expect: ["ENOPROTOOPT"]
TCP, UDP, TLS = 6, 17, 282
stream, datagram = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
tries = [(stream, TCP, 31, b"tls"), (stream, TCP, 31, b"mptcp"), (stream, TLS, 1, bytes(40)), (stream, TLS, 2, bytes(40))]
tries += [(datagram, UDP, option, struct.pack("i", 2)) for option in (100, 101, 102, 103, 104)]
emit_result(sorted({attempt(one.setsockopt, level, option, value) for one, level, option, value in tries}))

# attack: programs_on_sockets
# A filter is a program in the kernel, out of a stock that the whole machine shares and new cells
# need.
# expect: ["ENOPROTOOPT"]
program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0xFFFF), 8)
value = struct.pack("HxxxxxxP", 1, ctypes.addressof(program))
one, other = socket.socketpair()
emit_result(sorted({attempt(each.setsockopt, 1, option, value) for each in (one, socket.socket()) for option in (26, 50, 51, 52)}))

# attack: handles_on_peers
# A process handle of whoever is at the other end, or of whoever sends.
# expect: ["ENOPROTOOPT", "ENOPROTOOPT", "ENOPROTOOPT"]
SO_PASSPIDFD, SO_PEERPIDFD = 76, 77
one, other = socket.socketpair()
channel = socket.socket(fileno=os.dup(900))
emit_result([attempt(one.setsockopt, 1, SO_PASSPIDFD, 1), attempt(one.getsockopt, 1, SO_PEERPIDFD), attempt(channel.getsockopt, 1, SO_PEERPIDFD)])

# attack: numbers_that_count_everybodys_sockets
# A cookie is unique on the machine, so two of them tell how many sockets were made in between.
# expect: ["ENOPROTOOPT", "ENOPROTOOPT", "ENOPROTOOPT"]
SO_COOKIE, SO_INCOMING_CPU, SO_NETNS_COOKIE = 57, 49, 71
emit_result([attempt(socket.socket().getsockopt, 1, option, 8) for option in (SO_COOKIE, SO_INCOMING_CPU, SO_NETNS_COOKIE)])

# attack: time_stamps
# The first socket that asks for them slows down the network of the whole machine.
# expect: ["ENOPROTOOPT"]
emit_result(sorted({attempt(socket.socket().setsockopt, 1, option, 1) for option in (29, 35, 37, 63, 64, 65)}))

# attack: memory_shared_with_the_network
# Pages that are sent while the program changes them, and pages of the network mapped into a
# program.
# expect: ["ENOPROTOOPT", "ENOPROTOOPT"]
SO_ZEROCOPY, TCP_ZEROCOPY_RECEIVE = 60, 35
emit_result([attempt(socket.socket().setsockopt, 1, SO_ZEROCOPY, 1), attempt(socket.socket().getsockopt, 6, TCP_ZEROCOPY_RECEIVE, 64)])

# attack: flow_labels
# Labels outlive the socket they were made by, and the next user of the namespace can list them.
# expect: ["ENOPROTOOPT", 1]
IPV6_FLOWLABEL_MGR, CREATE, ANYBODY = 32, 1, 255
request = socket.inet_pton(socket.AF_INET6, "::1") + struct.pack("!I", 0x12345) + struct.pack("BBHHHI", 0, ANYBODY, CREATE, 0, 6, 0)
made = attempt(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).setsockopt, 41, IPV6_FLOWLABEL_MGR, request)
emit_result([made, len(open("/proc/net/ip6_flowlabel").readlines())])

# attack: headers_of_ones_own
# Options in front of a packet, which every router and receiver has to parse.
# expect: ["ENOPROTOOPT"]
v4, v6 = socket.socket(), socket.socket(socket.AF_INET6)
tries = [(v4, 0, option) for option in (3, 4, 5, 7, 16, 17)] + [(v6, 41, option) for option in (2, 4, 5, 6, 9, 54, 55, 57, 59, 68)]
emit_result(sorted({attempt(one.setsockopt, level, option, bytes(16)) for one, level, option in tries}))

# attack: every_option_that_is_not_on_the_list
# Including those that a later kernel adds.
# expect: []
fine = {
    0: {1, 2, 8, 10, 11, 12, 13, 24, 32, 33, 34},
    1: {2, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 18, 20, 21, 66, 67},
    6: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 18, 25, 36},
    41: {16, 17, 18, 19, 23, 25, 26, 49, 50, 51, 52, 62, 66, 67},
}
levels = [*range(0, 300), 65535]
made = {family: socket.socket(family) for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)}
answered = {
    (level, option)
    for level in levels
    for option in (range(0, 130) if level in fine or level in (17, 255, 263, 282, 284) else (0, 1, 2, 64))
    for one in made.values()
    if attempt(one.setsockopt, level, option, struct.pack("i", 1)) != "ENOPROTOOPT"
}
emit_result(sorted(pair for pair in answered if pair[1] not in fine.get(pair[0], ())))

# attack: connecting_by_sending
# A connection about which nobody was asked.
# expect: ["EPERM", "EPERM"]
MSG_FASTOPEN = 0x20000000
server = socket.create_server(("127.0.0.1", 0))
one, other = socket.socket(), socket.socket()
emit_result([attempt(one.sendto, b"x", MSG_FASTOPEN, server.getsockname()), attempt(other.sendmsg, [b"x"], [], MSG_FASTOPEN, server.getsockname())])

# attack: buffers_of_ones_own_size
# A listener hands its own on to connections that nobody has accepted, and those are in nobody's
# account.
# expect: [true, true]
def sizes(one):
    return [one.getsockopt(socket.SOL_SOCKET, option) for option in (socket.SO_RCVBUF, socket.SO_SNDBUF)]


same = []
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    one = socket.socket(type=kind)
    before = sizes(one)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        one.setsockopt(socket.SOL_SOCKET, option, 1 << 20)
    same.append(sizes(one) == before)
emit_result(same)

# attack: requests_to_other_drivers
# Terminals, loop devices, copies of files, handles on namespaces: what a driver does is not what
# its file may be used for.
# expect: ["ENOTTY"]
TIOCSCTTY, TCSETS, FICLONE, FIEMAP, FS_IOC_FSSETXATTR, BLKDISCARD, PIDFD_GET_NET, TUNSETIFF = (
    0x540E, 0x5402, 0x40049409, 0xC020660B, 0x401C5820, 0x1277, 0xFF04, 0x400454CA,
)
own = os.open("/workspace/file", os.O_CREAT | os.O_RDWR)
things = [own, os.open("/dev/null", os.O_RDWR), os.open("/usr/bin/env", os.O_RDONLY), os.pidfd_open(os.getpid()), socket.socket().fileno()]
requests = (TIOCSCTTY, TCSETS, FICLONE, FIEMAP, FS_IOC_FSSETXATTR, BLKDISCARD, PIDFD_GET_NET, TUNSETIFF)
emit_result(sorted({syscall("ioctl", thing, request, ctypes.create_string_buffer(64)) for thing in things for request in requests}))
