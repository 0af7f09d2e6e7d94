import asyncio

active = peak = 0


async def limited(sem, n):
    global active, peak
    async with sem:
        active += 1
        peak = max(peak, active)
        await asyncio.sleep(0.005)
        active -= 1
        return n


async def main():
    sem = asyncio.Semaphore(3)
    results = [await f for f in asyncio.as_completed([limited(sem, i) for i in range(10)])]
    print(sorted(results), "peak", peak)
    lock, event = asyncio.Lock(), asyncio.Event()
    async with lock:
        print("locked", lock.locked())
    asyncio.get_running_loop().call_later(0.01, event.set)
    await event.wait()
    print("event set")


asyncio.run(main())
