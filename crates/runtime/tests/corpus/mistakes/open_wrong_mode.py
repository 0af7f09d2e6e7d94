import io

with open("notes.txt", "w") as f:
    f.write("hello\n")
    try:
        f.read()
    except io.UnsupportedOperation as e:
        print("UnsupportedOperation:", e)
with open("notes.txt") as f:
    print(f.read(), end="")
try:
    f.read()
except ValueError as e:
    print("ValueError:", e)
