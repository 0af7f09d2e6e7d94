import threading

done = threading.Event()


def late():
    done.wait()
    print("thread finishes after main")


threading.Thread(target=late).start()
print("main ends")
done.set()
