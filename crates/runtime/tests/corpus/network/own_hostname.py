import socket

name = socket.gethostname()
print(bool(name), socket.getfqdn() != "")
try:
    print(socket.gethostbyname(name).count("."))
except socket.gaierror:
    print("cannot resolve my own name")
