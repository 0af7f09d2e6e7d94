import sys


def work():
    try:
        print("in try")
        sys.exit(6)
    finally:
        print("in finally")


try:
    work()
finally:
    print("outer finally")
