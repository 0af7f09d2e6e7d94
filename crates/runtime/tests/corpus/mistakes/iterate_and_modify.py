d = {"a": 1, "b": 2, "c": 3}
try:
    for k in d:
        if d[k] == 2:
            del d[k]
except RuntimeError as e:
    print("RuntimeError:", e)
print(d)
lst = [1, 2, 3, 4, 5, 6]
for x in lst:
    if x % 2 == 0:
        lst.remove(x)
print(lst)
