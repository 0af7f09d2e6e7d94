import subprocess

# printf | sort | uniq -c
p1 = subprocess.Popen(["printf", "b\\na\\nb\\nc\\na\\nb\\n"], stdout=subprocess.PIPE)
p2 = subprocess.Popen(["sort"], stdin=p1.stdout, stdout=subprocess.PIPE)
p1.stdout.close()
p3 = subprocess.Popen(["uniq", "-c"], stdin=p2.stdout, stdout=subprocess.PIPE, text=True)
p2.stdout.close()
out, _ = p3.communicate()
for line in out.splitlines():
    n, word = line.split()
    print(word, n)
