import faulthandler
import sys
import tempfile

print(faulthandler.is_enabled())
with tempfile.TemporaryFile("w+") as f:
    faulthandler.dump_traceback(f, all_threads=False)
    f.seek(0)
    lines = f.read().splitlines()
print(lines[0], len(lines) > 1)
print(lines[1].strip().endswith("in <module>"), len(lines))
sys.stdout.flush()
