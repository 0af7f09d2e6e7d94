# differs: the interpreter of a cell starts isolated (-I -S)
import sys

print(sys.flags.isolated, sys.flags.no_site, sys.flags.ignore_environment, sys.flags.safe_path if hasattr(sys.flags, "safe_path") else False)
print(sys.dont_write_bytecode, sys.warnoptions)
print(sys.orig_argv[1:] == sys.argv, hasattr(sys, "ps1"), sys.gettrace(), sys.excepthook is sys.__excepthook__)
