# files: poem.txt
import functools
import http.client
import http.server
import threading


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


with http.server.ThreadingHTTPServer(("localhost", 0), functools.partial(Quiet, directory=".")) as httpd:
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    c = http.client.HTTPConnection("localhost", httpd.server_port, timeout=10)
    for method, path in (("GET", "/poem.txt"), ("HEAD", "/poem.txt"), ("GET", "/nope"), ("DELETE", "/poem.txt")):
        c.request(method, path)
        r = c.getresponse()
        print(method, path, r.status, r.getheader("Content-type"), len(r.read()) > 0)
    c.close()
    httpd.shutdown()
