import os
import shutil

for i in range(1, 6):
    with open(f"f{i}.dat", "wb") as f:
        f.write(os.urandom(1000 * i))


def human(n):
    for unit in ["B", "KB", "MB"]:
        if n < 1024:
            return f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} GB"


sizes = {e.name: e.stat().st_size for e in os.scandir(".") if e.name.endswith(".dat")}
for name, size in sorted(sizes.items(), key=lambda x: -x[1]):
    print(f"{name:10} {human(size):>10}")
print("total", human(sum(sizes.values())))
usage = shutil.disk_usage(".")
print(usage.total >= usage.used + usage.free > 0)
