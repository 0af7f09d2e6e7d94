import sys

# Often the first lines of a script that was once tried on Windows.
if hasattr(sys.stdout, "reconfigure"):
    sys.stdout.reconfigure(encoding="utf-8", errors="replace", line_buffering=True)
    sys.stderr.reconfigure(encoding="utf-8")
print("✓ works", sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering)
sys.stdout.reconfigure(encoding="ascii", errors="xmlcharrefreplace")
print("✓ works")
