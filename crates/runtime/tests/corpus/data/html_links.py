from html import escape, unescape
from html.parser import HTMLParser

PAGE = """<html><head><title>Demo &amp; test</title></head><body>
<a href="/one">First</a> <a class=x href='/two?a=1&amp;b=2'>Second <b>bold</b></a><br/>
<!-- comment --><a>no link</a></body></html>"""


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.current = [], None

    def handle_starttag(self, tag, attrs):
        if tag == "a" and (href := dict(attrs).get("href")):
            self.current = [href, ""]

    def handle_data(self, data):
        if self.current:
            self.current[1] += data

    def handle_endtag(self, tag):
        if tag == "a" and self.current:
            self.links.append(tuple(self.current))
            self.current = None


p = Links()
p.feed(PAGE)
print(p.links)
print(escape("<a href='x'>"), unescape("&lt;&eacute;&#x1F389;"))
