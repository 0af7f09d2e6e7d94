import sys

# Into a pipe, stdout is not line buffered.
print(sys.stdout.line_buffering)
sys.stdout.reconfigure(line_buffering=True, encoding="utf-8", errors="replace")
print(sys.stdout.line_buffering, "é")
