"""An MCP server over HTTP for tests. Its tools quote the request. It prints its port."""

import http.server
import json


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(405)

    do_DELETE = do_GET

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, params, key = message.get("method"), message.get("params"), self.headers["Authorization"]
        if method == "initialize":
            info = {"name": "test", "version": "1"}
            version = params["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            tools = [(name, f"Use {key}.") for name in ("quote", "fail", "break")]
            schema = {"type": "object"}
            result = {"tools": [{"name": name, "description": d, "inputSchema": schema} for name, d in tools]}
        elif method == "tools/call" and params["name"] == "break":
            return self.answer(500, f"no luck with {key}".encode())
        elif method == "tools/call":
            text = f"{key} and {key.split()[1]}"
            is_error = params["name"] == "fail"
            result = {"content": [{"type": "text", "text": text}], "isError": is_error}
        else:
            return self.answer(202)
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
