import mimetypes
import plistlib
import quopri
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit

doc = {"name": "app", "versions": [1, 2], "nested": {"on": True}}
xml = plistlib.dumps(doc)
print(plistlib.loads(xml) == doc, xml.decode().count("<key>"))
print(mimetypes.guess_type("a.html"), mimetypes.guess_type("b.json"), mimetypes.guess_extension("image/png"))
print(quopri.encodestring("café=".encode()).decode())
u = urlsplit("https://user@example.com:8443/a/b?x=1&y=2&x=3#frag")
print(u.hostname, u.port, parse_qs(u.query), u.fragment)
print(urlencode({"q": "a b&c", "n": 1}), quote("ä/ö"), urljoin("http://h/a/b", "../c"))
