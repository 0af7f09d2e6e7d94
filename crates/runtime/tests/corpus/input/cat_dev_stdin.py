# stdin: through the shell\n
import subprocess

print(subprocess.check_output("cat /dev/stdin | tr a-z A-Z", shell=True, text=True), end="")
