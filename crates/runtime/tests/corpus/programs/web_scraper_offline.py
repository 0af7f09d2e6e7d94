"""Scrapes a site that it serves itself, politely, and writes a CSV."""

import csv
import http.server
import re
import sys
import threading
import urllib.parse
import urllib.request

PAGES = {
    "/": '<a href="/p/1">one</a> <a href="/p/2">two</a>',
    "/p/1": '<h1>Chair</h1><span class="price">49.90</span> <a href="/">home</a>',
    "/p/2": '<h1>Table</h1><span class="price">120.00</span> <a href="/p/3">next</a>',
    "/p/3": '<h1>Lamp</h1><span class="price">15.50</span>',
}


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = PAGES.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_address[1]}/"
seen, queue, rows = set(), [base], []
while queue:
    url = queue.pop(0)
    if url in seen:
        continue
    seen.add(url)
    html = urllib.request.urlopen(url, timeout=10).read().decode()
    queue += [urllib.parse.urljoin(url, link) for link in re.findall(r'href="([^"]+)"', html)]
    if title := re.search(r"<h1>(.*?)</h1>", html):
        rows.append((title[1], re.search(r'price">([\d.]+)', html)[1]))
server.shutdown()
csv.writer(sys.stdout, lineterminator="\n").writerows(sorted(rows))
print(len(seen), "pages")
