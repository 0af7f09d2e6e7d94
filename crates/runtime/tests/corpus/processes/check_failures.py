import subprocess

try:
    subprocess.run(["false"], check=True)
except subprocess.CalledProcessError as e:
    print(e)
try:
    subprocess.check_output(["no-such-program-here"])
except FileNotFoundError as e:
    print(type(e).__name__, e.filename)
try:
    subprocess.check_output("echo partial; exit 9", shell=True)
except subprocess.CalledProcessError as e:
    print(e.returncode, e.output)
print(subprocess.call(["sh", "-c", "kill -9 $$"]))
print(subprocess.getstatusoutput("echo hi; exit 2"))
