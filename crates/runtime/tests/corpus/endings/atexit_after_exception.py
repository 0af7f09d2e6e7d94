import atexit

atexit.register(lambda: print("clean up runs anyway"))
values = {}
print("about to fail")
values["missing"]
