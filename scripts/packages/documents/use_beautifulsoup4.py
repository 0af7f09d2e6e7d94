# uses: two parsers, CSS selectors, changing a page
# expect: ['/a', '/b'] [2, 2] <p class="new">text</p>
from bs4 import BeautifulSoup

page = '<div><a href="/a">one</a><a href="/b">two</a></div>'
soup = BeautifulSoup(page, "html.parser")
counts = [len(BeautifulSoup(page, parser).find_all("a")) for parser in ("lxml", "html.parser")]
tag = soup.new_tag("p", attrs={"class": "new"})
tag.string = "text"
soup.div.append(tag)
print([link["href"] for link in soup.select("div > a")], counts, soup.select_one("p.new"))
