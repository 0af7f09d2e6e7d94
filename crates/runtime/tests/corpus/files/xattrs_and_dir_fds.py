import os

os.mkdir("d")
fd = os.open("d", os.O_RDONLY | os.O_DIRECTORY)
inner = os.open("file", os.O_CREAT | os.O_RDWR, 0o600, dir_fd=fd)
os.write(inner, b"0123456789")
print(os.pread(inner, 3, 4), os.listdir(fd), os.stat("file", dir_fd=fd).st_size)
os.rename("file", "renamed", src_dir_fd=fd, dst_dir_fd=fd)
r, w = os.pipe()
print(os.sendfile(w, inner, 2, 5), os.read(r, 10))
copy = os.open("copy", os.O_CREAT | os.O_WRONLY)
print(os.copy_file_range(inner, copy, 10, offset_src=0), os.fstat(copy).st_size)
os.unlink("renamed", dir_fd=fd)
print(os.listdir("d"), os.posix_fallocate(copy, 0, 4096), os.path.getsize("copy"))
