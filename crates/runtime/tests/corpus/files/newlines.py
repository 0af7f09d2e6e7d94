with open("dos.txt", "wb") as f:
    f.write(b"one\r\ntwo\rthree\n")
print(open("dos.txt").read().split("\n"))
print(open("dos.txt", newline="").read().encode())
with open("dos.txt") as f:
    f.read()
    print(f.newlines)
with open("out.txt", "w", newline="\r\n") as f:
    f.write("a\nb\n")
print(open("out.txt", "rb").read())
