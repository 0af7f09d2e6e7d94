import io
import zipfile

with zipfile.ZipFile("bundle.zip", "w", compression=zipfile.ZIP_DEFLATED) as z:
    z.writestr("a.txt", "aaa" * 100)
    z.writestr("dir/b.txt", "bbb")
    z.writestr(zipfile.ZipInfo("fixed.txt", (2020, 1, 2, 3, 4, 6)), "dated")
with zipfile.ZipFile("bundle.zip") as z:
    print(z.namelist(), z.testzip())
    for info in z.infolist():
        print(info.filename, info.file_size, info.compress_size < 20)
    print(z.getinfo("fixed.txt").date_time)
    z.extractall("out")
print(open("out/dir/b.txt").read(), zipfile.is_zipfile("bundle.zip"))
try:
    zipfile.ZipFile(io.BytesIO(b"not a zip"))
except zipfile.BadZipFile as e:
    print("BadZipFile:", e)
