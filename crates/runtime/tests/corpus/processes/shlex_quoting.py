import shlex
import subprocess

name = "it's a file; rm -rf $HOME"
command = f"printf '%s\\n' {shlex.quote(name)}"
print(command)
print(subprocess.check_output(command, shell=True, text=True), end="")
print(shlex.split('grep -n "two words" file\\ name.txt'), shlex.join(["a b", "c"]))
