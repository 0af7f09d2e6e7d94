import sys

print("checking licence")
sys.exit("error: no licence found")
