from multiprocessing import Process, shared_memory


def fill(name):
    block = shared_memory.SharedMemory(name=name)
    block.buf[:5] = b"HELLO"
    block.close()


if __name__ == "__main__":
    shm = shared_memory.SharedMemory(create=True, size=64)
    p = Process(target=fill, args=(shm.name,))
    p.start()
    p.join()
    print(bytes(shm.buf[:5]), shm.size >= 64)
    shm.close()
    shm.unlink()
    items = shared_memory.ShareableList([1, "two", 3.0, None])
    print(list(items))
    items.shm.close()
    items.shm.unlink()
