import socket
import socketserver
import threading


class Upper(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"> " + line.upper())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


with Server(("127.0.0.1", 0), Upper) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for i in range(3):
        with socket.create_connection(server.server_address) as c:
            c.sendall(f"client {i}\n".encode())
            c.shutdown(socket.SHUT_WR)
            print(c.makefile().read(), end="")
    server.shutdown()
