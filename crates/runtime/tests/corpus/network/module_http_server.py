# files: poem.txt
import socket
import subprocess
import sys
import time
import urllib.request

with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    for _ in range(400):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/poem.txt") as r:
                print(r.status, len(r.read()))
            break
        except OSError:
            time.sleep(0.05)
    else:
        print("it never came up")
finally:
    server.terminate()
    print(server.wait())
