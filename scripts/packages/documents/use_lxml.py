# uses: XPath, XSLT, a schema, broken HTML
# expect: ['b'] <p>b</p> True ['one', 'two']
from lxml import etree, html

root = etree.fromstring("<all><item n='1'>a</item><item n='2'>b</item></all>")
sheet = etree.XSLT(
    etree.fromstring(
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output omit-xml-declaration="yes"/>'
        '<xsl:template match="/"><p><xsl:value-of select="all/item[2]"/></p></xsl:template></xsl:stylesheet>'
    )
)
schema = etree.XMLSchema(
    etree.fromstring(
        '<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"><s:element name="n" type="s:int"/></s:schema>'
    )
)
page = html.fromstring("<ul><li>one<li>two</ul>")
print(
    root.xpath("//item[@n=2]/text()"),
    str(sheet(root)).strip(),
    schema.validate(etree.fromstring("<n>5</n>")),
    page.xpath("//li/text()"),
)
