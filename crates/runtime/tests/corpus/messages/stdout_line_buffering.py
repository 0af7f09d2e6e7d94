# differs: stdout is written line by line, as to a terminal
import sys

# Into a pipe, stdout of Python is not line buffered.
print(sys.stdout.line_buffering, sys.stderr.line_buffering)
