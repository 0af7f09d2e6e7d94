import array
import os
import socket

a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
b.sendto(b"datagram", a.getsockname())
print(a.recvfrom(100)[0])
left, right = socket.socketpair()
left.send(b"pair")
print(right.recv(10))
r, w = os.pipe()
socket.send_fds(left, [b"fd"], [w])
_, fds, _, _ = socket.recv_fds(right, 10, 1)
os.write(fds[0], b"through a passed descriptor")
print(os.read(r, 100), array.array("i", fds).itemsize)
v6 = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
v6.bind(("::1", 0))
print(v6.getsockname()[0])
a.settimeout(0.01)
try:
    a.recv(1)
except socket.timeout:
    print("timeout")
