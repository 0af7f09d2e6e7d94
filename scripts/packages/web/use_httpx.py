# uses: a client, twenty requests at once with asyncio, against a server in the cell
# expect: {'path': '/sync'} 20 True
import asyncio
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


import httpx  # noqa: E402


async def many():
    async with httpx.AsyncClient(base_url=address) as client:
        answers = await asyncio.gather(*(client.get(f"/{number}") for number in range(20)))
    return [answer.json()["path"] for answer in answers]


with httpx.Client(base_url=address) as client:
    first = client.get("/sync").json()
paths = asyncio.run(many())
print(first, len(paths), paths[7] == "/7")
