import socket
import threading

ready = threading.Event()
address = []


def server():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("localhost", 0))
        s.listen()
        address.append(s.getsockname())
        ready.set()
        conn, _ = s.accept()
        with conn:
            while data := conn.recv(1024):
                conn.sendall(data.upper())


t = threading.Thread(target=server)
t.start()
ready.wait()
with socket.create_connection(address[0], timeout=10) as c:
    for word in (b"hello", b"world"):
        c.sendall(word)
        print(c.recv(1024).decode())
t.join()
print(address[0][0])
