import selectors
import socket

sel = selectors.DefaultSelector()
print(type(sel).__name__)
listener = socket.create_server(("127.0.0.1", 0))
listener.setblocking(False)
sel.register(listener, selectors.EVENT_READ, "accept")
client = socket.create_connection(listener.getsockname())
client.sendall(b"ping")
answered = False
while not answered:
    for key, _ in sel.select(timeout=10):
        if key.data == "accept":
            conn, _ = key.fileobj.accept()
            conn.setblocking(False)
            sel.register(conn, selectors.EVENT_READ, "read")
        else:
            conn.sendall(key.fileobj.recv(100)[::-1])
            sel.unregister(conn)
            answered = True
print(client.recv(100))
sel.close()
