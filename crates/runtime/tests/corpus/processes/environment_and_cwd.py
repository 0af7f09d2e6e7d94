import os
import subprocess
import sys

os.mkdir("elsewhere")
env = {**os.environ, "GREETING": "bonjour"}
code = "import os; print(os.environ['GREETING'], os.path.basename(os.getcwd()))"
print(subprocess.check_output([sys.executable, "-c", code], env=env, cwd="elsewhere", text=True).strip())
print(subprocess.check_output("echo $GREETING", shell=True, env={"GREETING": "solo"}, text=True).strip())
os.environ["FROM_PARENT"] = "yes"
print(subprocess.getoutput("echo $FROM_PARENT"))
os.chdir("elsewhere")
print(os.path.basename(subprocess.getoutput("pwd")))
