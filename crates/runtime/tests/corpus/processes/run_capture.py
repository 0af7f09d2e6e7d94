import subprocess

result = subprocess.run(["echo", "Hello from subprocess"], capture_output=True, text=True)
print("stdout:", result.stdout.strip())
print("return code:", result.returncode)
result = subprocess.run("echo oops >&2; exit 3", shell=True, capture_output=True, text=True)
print(result.returncode, repr(result.stderr))
