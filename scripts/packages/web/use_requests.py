# uses: a session, JSON, posting bytes, an error of the network, against a server in the cell
# expect: {'path': '/a?x=1'} 201 b'hello' ConnectionError
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"path": "%s"}' % self.path.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}"


import requests  # noqa: E402

with requests.Session() as session:
    got = session.get(f"{address}/a", params={"x": 1}, timeout=10).json()
    posted = session.post(address, data=b"hello", timeout=10)
with socket.socket() as unused:
    unused.bind(("127.0.0.1", 0))
    try:
        requests.get(f"http://127.0.0.1:{unused.getsockname()[1]}", timeout=10)
        error = None
    except requests.RequestException as failed:
        error = type(failed).__name__
print(got, posted.status_code, posted.content, error)
