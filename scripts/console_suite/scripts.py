"""Scripts that the claims run."""

# A picture, a drawing, a table and a page, without any package.
SHOW = """
import math, struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def png(width, height, colour):
    rows = b"".join(b"\\0" + bytes(c for x in range(width) for c in colour(x, y)) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
def wave(x, y):
    level = 100 + 60 * math.sin(x / 40)
    return (20, 112, 106) if abs(200 - y - level) < 2 else (214, 236, 233) if 200 - y < level else (255, 255, 255)
class Picture:
    def _repr_png_(self): return png(420, 200, wave)
class Drawing:
    def _repr_svg_(self):
        sizes = [60, 72, 55, 90, 110, 96, 130, 141, 120, 133, 150, 165]
        bars = "".join(f'<rect x="{20 + i * 34}" y="{180 - h}" width="24" height="{h}"/>' for i, h in enumerate(sizes))
        style = "<style>rect { fill: #14706a }</style>"
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="440" height="204" viewBox="0 0 440 204">{style}{bars}</svg>'
class Table:
    def _repr_html_(self):
        rows = "".join(f"<tr><th>{n}</th><td>{a}</td><td>{b}</td></tr>" for n, a, b in [("North", 1204, 3.2), ("South", 981, -1.4)])
        return f"<table><thead><tr><th></th><th>sales</th><th>growth</th></tr></thead><tbody>{rows}</tbody></table>"
class Report:
    def _repr_html_(self): return "<h1>Report</h1><p>All is <b>well</b>.</p><ul><li>one<li>two</ul>"
print("drawing")
for thing in (Picture(), Drawing(), Table(), Report()): display(thing)
emit_log("four things were shown")
emit_intermediate("half", {"big": 12345678901234567890})
"""

DENIED = """
import urllib.request
try:
    urllib.request.urlopen("https://telemetry.example/collect", timeout=5)
except OSError as error:
    print("\\x1b[31mblocked\\x1b[0m:", error)
"""

COUNT = """
import time
for number in range(60):
    print("line", number, flush=True)
    time.sleep(0.05)
"""

FLOOD = "for number in range(25000): print('line', number, '.' * 20)"

ENDLESS = "import time\nprint('on', flush=True)\nwhile True: time.sleep(0.05)"
