import os

filename = "example.txt"
with open(filename, "w") as file:
    file.write("Hello, World!\n")
    file.write("This is a test file.\n")
with open(filename, "a") as file:
    file.writelines(f"appended {i}\n" for i in range(3))
with open(filename) as file:
    for i, line in enumerate(file, 1):
        print(i, line.strip())
print("Size:", os.path.getsize(filename))
os.remove(filename)
print("Exists:", os.path.exists(filename))
