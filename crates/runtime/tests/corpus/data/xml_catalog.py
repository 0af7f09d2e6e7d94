# files: books.xml
import xml.etree.ElementTree as ET
from xml.dom import minidom

tree = ET.parse("books.xml")
root = tree.getroot()
for book in root.findall("./book"):
    print(book.get("id"), book.findtext("title"), float(book.find("price").text))
cheap = root.findall("./book[price='5.95']")
print(len(cheap))
new = ET.SubElement(root, "book", id="bk104")
ET.SubElement(new, "title").text = "A & B <C>"
print(ET.tostring(new, encoding="unicode"))
print(minidom.parseString(ET.tostring(new)).toprettyxml(indent=" "))
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as e:
    print("ParseError:", e)
