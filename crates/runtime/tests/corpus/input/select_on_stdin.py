# stdin: ready\n
import select
import sys

ready, _, _ = select.select([sys.stdin], [], [], 10)
if ready:
    print("stdin said", ready[0].readline().strip())
else:
    print("timed out")
