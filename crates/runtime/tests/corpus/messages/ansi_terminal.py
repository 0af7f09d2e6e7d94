import os
import shutil
import sys

RED, GREEN, RESET = "\033[31m", "\033[32m", "\033[0m"
print(f"{RED}error{RESET} {GREEN}ok{RESET}")
print(sys.stdout.isatty(), sys.stderr.isatty(), os.isatty(0))
print(shutil.get_terminal_size(fallback=(80, 24)))
try:
    os.get_terminal_size()
except OSError as e:
    print(e.strerror)
for i in range(0, 101, 50):
    sys.stdout.write(f"\r[{'#' * (i // 10):<10}] {i}%")
    sys.stdout.flush()
print()
