import re

m = re.match(r"(\d+)-(\d+)", "no digits here")
try:
    print(m.group(1))
except AttributeError as e:
    print("AttributeError:", e)
print(m.groups())
