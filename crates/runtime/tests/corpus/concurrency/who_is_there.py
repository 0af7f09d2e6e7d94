import threading

print(threading.active_count())
print([t.name for t in threading.enumerate()])
print(threading.current_thread() is threading.main_thread(), threading.main_thread().name)
t = threading.Timer(0.01, lambda: print("timer fired in", threading.current_thread().__class__.__name__))
t.start()
print(threading.active_count())
t.join()
print(threading.active_count())
