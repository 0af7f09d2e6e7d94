# files: sales.csv poem.txt
import shutil
import subprocess


def sh(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout.strip()


print(sh("cut -d, -f2 sales.csv | tail -n +2 | sort | uniq -c | sort -rn | awk '{print $2, $1}' | head -2"))
print(sh("grep -c And poem.txt"), sh("wc -w < poem.txt").strip())
print(sh("sed -n '2s/sorry/glad/p' poem.txt"))
print(sh("find . -name '*.csv' | xargs basename"))
print(sh("bash -c 'a=(1 2 3); echo ${#a[@]}'"))
print(shutil.which("ls") is not None, shutil.which("no-such-tool"))
