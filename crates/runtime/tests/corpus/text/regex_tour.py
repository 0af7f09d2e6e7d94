import re

log = "2024-01-05 ERROR [db] timeout after 30s; 2024-01-06 INFO [web] ok"
print(re.findall(r"(\d{4}-\d\d-\d\d) (\w+)", log))
print(re.sub(r"(\d+)s", lambda m: f"{int(m[1]) * 1000}ms", log))
m = re.search(r"(?P<level>ERROR|WARN) \[(?P<source>\w+)\]", log)
print(m.groupdict(), m.span())
print(re.split(r"[;,]\s*", "a, b;c,  d"))
print([m.start() for m in re.finditer(r"(?<=\d)-(?=\d)", log)])
pattern = re.compile(r"""
    ^\s* (?P<key>[a-z_]+) \s*=\s* (?P<value>"[^"]*"|\S+)  # key = value
""", re.VERBOSE | re.MULTILINE | re.IGNORECASE)
print([m.group("key", "value") for m in pattern.finditer('a = 1\n  Name="x y"\n')])
try:
    re.compile("(unclosed")
except re.error as e:
    print("re.error:", e)
