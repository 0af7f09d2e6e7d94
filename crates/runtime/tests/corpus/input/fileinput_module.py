# args: poem.txt -
# files: poem.txt
# stdin: extra one\nextra two\n
import fileinput

for line in fileinput.input():
    if fileinput.isfirstline():
        print("==", fileinput.filename())
    if "one" in line:
        print(fileinput.lineno(), fileinput.filelineno(), line.rstrip())
