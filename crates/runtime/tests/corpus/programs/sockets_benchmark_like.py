"""Many short connections, as a load test makes."""

import socketserver
import socket
import threading


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(self.request.recv(64))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


with Server(("127.0.0.1", 0), Echo) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    good = 0
    for i in range(200):
        with socket.create_connection(server.server_address) as c:
            message = b"%d" % i
            c.sendall(message)
            good += c.recv(64) == message
    server.shutdown()
print(good)
