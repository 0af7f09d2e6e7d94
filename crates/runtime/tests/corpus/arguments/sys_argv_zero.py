# differs: the script runs as `python /workspace/NAME`
import os
import sys

# The name as it was given on the command line.
print(sys.argv[0])
print(os.path.basename(sys.argv[0]), os.path.basename(__file__))
print(os.path.isabs(__file__), os.path.dirname(os.path.abspath(__file__)) == os.getcwd())
