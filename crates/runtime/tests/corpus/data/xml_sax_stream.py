# files: books.xml
import xml.sax


class Handler(xml.sax.ContentHandler):
    def __init__(self):
        self.depth = self.deepest = 0
        self.titles, self.buffer = [], None

    def startElement(self, name, attrs):
        self.depth += 1
        self.deepest = max(self.depth, self.deepest)
        if name == "title":
            self.buffer = []

    def characters(self, content):
        if self.buffer is not None:
            self.buffer.append(content)

    def endElement(self, name):
        self.depth -= 1
        if name == "title":
            self.titles.append("".join(self.buffer))
            self.buffer = None


handler = Handler()
xml.sax.parse("books.xml", handler)
print(handler.deepest, handler.titles)
