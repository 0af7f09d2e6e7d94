import sys
import threading


def worker():
    try:
        sys.exit(3)
    finally:
        print("the thread leaves")


t = threading.Thread(target=worker)
t.start()
t.join()
print("the program stays")
