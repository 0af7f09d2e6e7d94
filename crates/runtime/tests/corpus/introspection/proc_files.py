import re

status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(status["Name"].strip().startswith("python"), int(status["VmRSS"].split()[0]) > 0, status["Threads"].strip())
print(int(re.search(r"MemTotal:\s+(\d+)", open("/proc/meminfo").read())[1]) > 0)
print(open("/proc/cpuinfo").read().count("processor") >= 1, float(open("/proc/uptime").read().split()[0]) > 0)
print(open("/proc/self/cmdline", "rb").read().split(b"\0")[0] != b"")
with open("/etc/passwd") as f:
    print(any(line.startswith("root:") for line in f))
print("localhost" in open("/etc/hosts").read())
