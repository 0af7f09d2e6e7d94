import os
import sys

print("aborting")
sys.stdout.flush()
os.abort()
