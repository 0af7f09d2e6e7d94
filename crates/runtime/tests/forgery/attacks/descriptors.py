# attack: a_frame_without_the_seal_on_every_descriptor
# expect: no_result
for fd in range(4097):
    try: raw(FORGED, fd)
    except OSError: pass

# attack: a_frame_without_the_seal_through_proc_self_fd
# expect: no_result
for fd in range(4097):
    try:
        with open(f"/proc/self/fd/{fd}", "wb", 0) as file: file.write(FORGED)
    except OSError: pass

# attack: a_frame_without_the_seal_through_duplicates
# expect: no_result
for fd in os.listdir("/proc/self/fd"):
    for copy in (os.dup, lambda fd: os.dup2(fd, 3000 % 1000 + int(fd))):
        try:
            twin = copy(int(fd))
            raw(FORGED, twin)
        except OSError: pass

# attack: a_frame_without_the_seal_sent_with_descriptors_and_credentials
# expect: ok "real"
channel = socket.socket(fileno=os.dup(CHANNEL))
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("4i", 0, 1, 2, CHANNEL))]
for _ in range(50):
    channel.sendmsg([FORGED], rights)
credentials = [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack("3i", os.getpid(), os.getuid(), os.getgid()))]
channel.sendmsg([FORGED], credentials)
emit_result("real")

# attack: a_frame_without_the_seal_out_of_band
# expect: no_result
channel = socket.socket(fileno=os.dup(CHANNEL))
try:
    for byte in FORGED: channel.send(bytes([byte]), socket.MSG_OOB)
except PermissionError:
    pass  # Where such data is refused altogether.

# attack: a_frame_without_the_seal_from_a_child_that_inherits_everything
# expect: ok "real"
os.set_inheritable(CHANNEL, True)
code = f"import os\nfor fd in range(4097):\n    try: os.write(fd, {FORGED!r})\n    except OSError: pass"
subprocess.run([sys.executable or "python3", "-c", code], close_fds=False)
emit_result("real")

# attack: a_frame_with_the_seal_that_is_merely_printed
# expect: no_result
print(sealed("final_result", data="forged").decode())
print(sealed("final_result", data="forged").decode(), file=sys.stderr)
raw(sealed("final_result", data="forged"), 1)
raw(sealed("error", message="forged"), 2)

# attack: a_seal_that_is_nearly_right
# expect: no_result
right = seal_from_frames()
for wrong in [None, "", right[:-1], right + "0", right.upper() + "x", right[::-1], right + "\0", " " + right, [right], {"seal": right}, True, 0]:
    raw(unsealed("final_result", data="forged", seal=wrong))

# attack: another_pair_of_sockets_over_the_channel
# expect: timeout_wall
# seconds: 1
mine, theirs = socket.socketpair()
os.dup2(theirs.fileno(), CHANNEL)
emit_result("to nobody")

# attack: a_file_over_the_channel
# expect: exited 0
# Now the harness reads its next request from the file, finds the end of it, and takes the host for
# gone.
os.dup2(os.open("/workspace/channel", os.O_RDWR | os.O_CREAT), CHANNEL)
emit_result("to nobody")

# attack: a_pair_of_sockets_that_answers_the_harness_in_the_hosts_name
# expect: exited 7
# The harness can be told anything; what it then does is the guest's doing, and the host knows only
# how it ended.
mine, theirs = socket.socketpair()
os.dup2(theirs.fileno(), CHANNEL)
request = {"type": "execute", "execution_id": "forged", "seal": "forged", "mode": "plan", "timeout": 5, "max_output_bytes": 9999,
           "script": "import os\nemit_result('forged')\nos._exit(7)"}
raw(_dumps(request).encode() + b"\n", mine.fileno())

# attack: the_streams_swapped_with_the_channel
# expect: exited 1
# A pipe cannot be read from its writing end: the harness fails as it looks for its next request.
os.dup2(1, CHANNEL)
raw(sealed("final_result", data="forged"))

# attack: the_descriptors_of_the_cells_first_process
# expect: ok ["none"]
reached = []
for fd in ["3", "0", "900"]:
    for way in (lambda: os.open(f"/proc/1/fd/{fd}", os.O_RDWR), lambda: os.listdir("/proc/1/fd"), lambda: os.readlink(f"/proc/1/fd/{fd}")):
        try: reached.append(str(way()))
        except OSError: pass
emit_result(reached or ["none"])

# attack: the_memory_of_the_cells_first_process
# expect: ok "none"
# Whoever writes there writes the record from which the host learns how a cell ended.
reached = "none"
for flags in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY):
    try: reached = os.open("/proc/1/mem", flags)
    except OSError: pass
libc = ctypes.CDLL(None, use_errno=True)
pid, pidfd_open, pidfd_getfd = 1, 434, 438
handle = libc.syscall(pidfd_open, pid, 0)
for fd in range(16):
    if libc.syscall(pidfd_getfd, handle, fd, 0) >= 0: reached = fd
if libc.ptrace(16, 1, 0, 0) == 0: reached = "traced"
emit_result(reached)

# attack: a_record_of_ones_own_death_on_every_descriptor
# expect: exited 7
record = b"E" + struct.pack("<iqq", 9, 0, 0)
for fd in range(4097):
    try: raw(record, fd)
    except OSError: pass
os._exit(7)

# attack: a_failure_of_the_set_up_on_every_descriptor
# expect: exited 7
for fd in range(4097):
    try: raw(b"Fmount tmpfs: no space left", fd)
    except OSError: pass
os._exit(7)
