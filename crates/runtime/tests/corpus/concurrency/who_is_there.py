import threading

print(threading.active_count())
print([t.name for t in threading.enumerate()])
print(threading.current_thread() is threading.main_thread(), threading.main_thread().name)
go = threading.Event()
t = threading.Timer(0.01, lambda: go.wait() and print("fired in a", type(threading.current_thread()).__name__))
t.start()
print(threading.active_count())
go.set()
t.join()
print(threading.active_count())
