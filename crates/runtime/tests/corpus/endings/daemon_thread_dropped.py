import threading


def forever():
    threading.Event().wait()
    print("never")


threading.Thread(target=forever, daemon=True).start()
print("main ends without waiting")
