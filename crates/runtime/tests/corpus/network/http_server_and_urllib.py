import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/ok":
            self.send_error(404)
            return
        self.reply({"method": "GET", "agent": self.headers["User-Agent"]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply({"method": "POST", "body": body.decode()})

    def reply(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
request = urllib.request.Request(base + "/ok", headers={"User-Agent": "demo"})
with urllib.request.urlopen(request, timeout=10) as r:
    print(r.status, json.load(r))
with urllib.request.urlopen(base, data=b"a=1", timeout=10) as r:
    print(r.headers["Content-Type"], json.load(r))
try:
    urllib.request.urlopen(base + "/missing", timeout=10)
except urllib.error.HTTPError as e:
    print(e.code, e.reason)
server.shutdown()
