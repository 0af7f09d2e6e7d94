# differs: frames of the harness are below those of the script
import inspect
import sys
import traceback


def whoami():
    return sys._getframe(1).f_code.co_name


def outer():
    print("called from", whoami())
    print([f.name for f in traceback.extract_stack()])
    print([f.function for f in inspect.stack()])


outer()
