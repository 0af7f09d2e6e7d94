import os
import shutil

os.mkdir("src")
for i in range(3):
    with open(f"src/file{i}.txt", "w") as f:
        f.write(f"content {i}")
shutil.copytree("src", "backup")
shutil.copy("src/file0.txt", "copy.txt")
shutil.move("src/file1.txt", "moved.txt")
print(sorted(os.listdir(".")) == sorted(["src", "backup", "copy.txt", "moved.txt", os.path.basename(__file__)]))
print(sorted(os.listdir("src")), sorted(os.listdir("backup")))
shutil.rmtree("backup")
print(os.path.isdir("backup"), open("moved.txt").read())
try:
    os.rmdir("src")
except OSError as e:
    print(e.strerror)
