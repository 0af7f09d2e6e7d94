import socket
import urllib.error
import urllib.request

with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
try:
    socket.create_connection(("127.0.0.1", port), timeout=5)
except ConnectionRefusedError as e:
    print(e.strerror)
try:
    urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5)
except urllib.error.URLError as e:
    print(type(e.reason).__name__)
try:
    socket.getaddrinfo("no-such-host.invalid", 80)
except socket.gaierror:
    print("cannot resolve")
print(socket.gethostbyname("localhost"), socket.inet_aton("10.0.0.1"), socket.htons(80))
