import unicodedata

for c in "é\u0301ßŁ½☃🎉":
    print(f"U+{ord(c):04X}", unicodedata.name(c, "?"), unicodedata.category(c), repr(c))
composed, decomposed = "café", unicodedata.normalize("NFD", "café")
print(composed == decomposed, len(composed), len(decomposed), unicodedata.normalize("NFC", decomposed) == composed)
print("Straße".casefold(), "ǅ".lower(), "İ".lower().encode(), unicodedata.numeric("½"))
print("".join(c for c in unicodedata.normalize("NFKD", "Crème Brûlée") if not unicodedata.combining(c)))
