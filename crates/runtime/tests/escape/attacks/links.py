# Names that lead elsewhere: links, `..`, /proc's magic links, file handles.

# attack: symlink_to_a_host_file
# A link is followed in the guest's own tree.
# expect: ["done", "ENOENT", "ENOENT"]
# The image has one of its own, which is what the link leads to.
# expect docker: ["done", "EACCES", "EACCES"]
os.symlink("/etc/passwd", "/tmp/inside")
os.symlink("/etc/shadow", "/tmp/absolute")
os.symlink("../../../../../etc/shadow", "/tmp/relative")
emit_result([attempt(open, f"/tmp/{name}") for name in ["inside", "absolute", "relative"]])

# attack: dotdot_above_the_root
# The root is its own parent.
# expect: [true, "ENOENT"]
# The image has one of its own, which is where this leads.
# expect docker: [true, "EACCES"]
emit_result([os.path.samefile("/", "/../../.."), attempt(open, "/../../../../etc/shadow")])

# attack: dotdot_by_descriptor
# The same with a directory descriptor, where no path is there to be cleaned up.
# expect: [true, true]
at = os.open("/workspace", os.O_RDONLY | os.O_DIRECTORY)
seen = []
for _ in range(8):
    at = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
    seen.append(os.path.samestat(os.fstat(at), os.stat("/")))
emit_result([seen[0], all(seen)])

# attack: dotdot_from_a_removed_directory
# A directory that has lost its name must not have lost its place below the root.
# expect: ["ENOENT", true]
os.makedirs("/tmp/a/b")
os.chdir("/tmp/a/b")
os.rmdir("/tmp/a/b")
os.rmdir("/tmp/a")
emit_result([attempt(os.getcwd), os.path.samefile("../../../../..", "/")])

# attack: dotdot_across_mounts
# From the root of a mounted file system up is the directory that it covers, not its source's
# parent.
# expect: [true, true, ["bin", "lib", "lib64", "share"]]
# expect: [true, true, ["bin", "lib", "lib32", "lib64", "libx32", "share"]]
# expect: [true, true, ["bin", "lib", "share"]]
# expect: [true, true, ["bin", "lib", "lib64", "local", "share"]]
# The same directory in the image, on either architecture.
# expect docker: [true, true, ["bin", "games", "include", "lib", "lib64", "libexec", "local", "sbin", "share", "src"]]
# expect docker: [true, true, ["bin", "games", "include", "lib", "libexec", "local", "sbin", "share", "src"]]
emit_result([os.path.samefile("/usr/bin/..", "/usr"), os.path.samefile("/dev/shm/..", "/dev"), sorted(os.listdir("/usr/lib/.."))])

# attack: proc_self_root
# The magic link to the root is the guest's root, and `..` of it too.
# expect: [true, true, "ENOENT"]
# The image has one of its own, which is where this leads.
# expect docker: [true, true, "EACCES"]
emit_result([os.path.samefile("/proc/self/root", "/"), os.path.samefile("/proc/self/root/..", "/"), attempt(open, "/proc/self/root/../etc/shadow")])

# attack: proc_thread_self_root
# The same by way of a thread.
# expect: [true, "ENOENT"]
# The image has one of its own, which is where this leads.
# expect docker: [true, "EACCES"]
emit_result([os.path.samefile("/proc/thread-self/root/..", "/"), attempt(open, "/proc/thread-self/root/../root")])

# attack: proc_self_cwd
# runc's CVE-2024-21626 was a working directory on the host.
# expect: ["/workspace", true, "ENOENT"]
# The image has one of its own, which is where this leads.
# expect docker: ["/workspace", true, "EACCES"]
emit_result([os.readlink("/proc/self/cwd"), os.path.samefile("/proc/self/cwd/../..", "/"), attempt(os.listdir, "/proc/self/cwd/../../root")])

# attack: proc_self_fd_directories
# The other half of it: descriptors of directories, by any number.
# expect: []
found = []
for number in range(1024):
    if attempt(os.listdir, f"/proc/self/fd/{number}") == "done":
        found.append(os.readlink(f"/proc/self/fd/{number}"))
emit_result(found)

# attack: working_directory_by_descriptor_path
# CVE-2024-21626 as it was used: chdir to /proc/self/fd/<n>, for every n.
# expect: []
emit_result([number for number in range(1024) if attempt(os.chdir, f"/proc/self/fd/{number}") == "done"])

# attack: proc_map_files
# Mapped files, the cell library's among them, reopened by their addresses.
# expect: ["EPERM"]
names = os.listdir("/proc/self/map_files")
assert len(names) > 5
emit_result(sorted({attempt(os.open, f"/proc/self/map_files/{name}", os.O_RDWR) for name in names}))

# attack: reopening_a_read_only_descriptor
# A magic link asks for permission again, and gets none.
# expect: ["done", []]
held = {"EACCES", "EROFS", "ETXTBSY"}
file = os.open("/usr/bin/env", os.O_RDONLY)
place = os.open("/usr/bin/env", os.O_PATH)
answers = [attempt(os.open, f"/proc/self/fd/{number}", os.O_RDWR) for number in (file, place)]
emit_result([attempt(os.open, f"/proc/self/fd/{file}", os.O_RDONLY), [each for each in answers if each not in held]])

# attack: descriptor_0_reopened_for_writing
# The standard input is the null device, not something of the host's.
# expect: ["/dev/null", "done", ""]
emit_result([os.readlink("/proc/self/fd/0"), attempt(os.open, "/proc/self/fd/0", os.O_RDWR), os.read(0, 10).decode()])

# attack: hard_link_to_a_system_program
# A hard link would keep a set-user-id program alive, or make it ours to change.
# expect: ["done", "EXDEV"]
# expect: ["done", "EPERM"]
open("/tmp/own", "w").close()
emit_result([attempt(os.link, "/tmp/own", "/tmp/link"), attempt(os.link, "/usr/bin/env", "/tmp/env")])

# attack: hard_link_through_a_magic_link
# linkat with AT_SYMLINK_FOLLOW gives an open file a new name.
# expect: "EXDEV"
# expect: "EPERM"
file = os.open("/usr/bin/env", os.O_RDONLY)
emit_result(attempt(os.link, f"/proc/self/fd/{file}", "/tmp/env", follow_symlinks=True))

# attack: exchanging_names_with_the_system
# renameat2 with RENAME_EXCHANGE would put our file in the other's place.
# expect: ["EXDEV", "EXDEV"]
AT_FDCWD, RENAME_EXCHANGE, RENAME_WHITEOUT = -100, 2, 4
open("/tmp/own", "w").close()
emit_result([syscall("renameat2", AT_FDCWD, b"/tmp/own", AT_FDCWD, b"/usr/bin/env", flag) for flag in (RENAME_EXCHANGE, RENAME_WHITEOUT)])

# attack: handle_of_an_own_file
# Handles name files past all directories; without making them there are none to try.
# expect: "EPERM"
handle, mount = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 256), ctypes.c_int()
emit_result(syscall("name_to_handle_at", -100, b"/tmp", handle, ctypes.byref(mount), 0))

# attack: handle_of_the_hosts_root
# Inode 2 is the root of an ext4 disk: how "shocker" got out of early containers.
# expect: "EPERM"
place = os.open("/usr/bin", os.O_RDONLY)
handle = ctypes.create_string_buffer(struct.pack("IiII", 8, 1, 2, 0), 64)
emit_result(syscall("open_by_handle_at", place, handle, os.O_RDONLY))

# attack: moving_a_directory_from_under_a_walk
# A directory moved up while it is open must not become a way above the root.
# expect: true
os.makedirs("/tmp/a/b/c/d")
at = os.open("/tmp/a/b/c/d", os.O_RDONLY | os.O_DIRECTORY)
os.rename("/tmp/a/b/c", "/tmp/c")
for _ in range(8):
    at = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
emit_result(os.path.samestat(os.fstat(at), os.stat("/")))
