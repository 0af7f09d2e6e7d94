# -*- coding: utf-8 -*-
text = "naïve café – Ünïcödé 你好 🎉"
for enc in ("utf-8", "utf-16", "utf-8-sig", "utf-32-be"):
    name = f"{enc}.txt"
    with open(name, "w", encoding=enc) as f:
        f.write(text)
    with open(name, "rb") as f:
        raw = f.read()
    print(enc, len(raw), raw[:4].hex())
    assert open(name, encoding=enc).read() == text
print(text)
print(text.encode("ascii", "xmlcharrefreplace").decode())
print(text.encode("ascii", "backslashreplace").decode())
with open("default.txt", "w") as f:
    print(f.encoding.lower())
