import errno
import fcntl
import os

first = open("app.lock", "w")
fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
second = open("app.lock", "w")
try:
    fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError as e:
    print("locked:", errno.errorcode[e.errno])
fcntl.flock(first, fcntl.LOCK_UN)
fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("got it")
try:
    os.open("pid.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.open("pid.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
except FileExistsError as e:
    print(e.filename, e.strerror)
