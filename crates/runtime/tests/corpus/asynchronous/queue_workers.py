import asyncio


async def worker(name, queue, done):
    while True:
        item = await queue.get()
        await asyncio.sleep(0)
        done.append(item * item)
        queue.task_done()


async def main():
    queue, done = asyncio.Queue(maxsize=3), []
    tasks = [asyncio.create_task(worker(f"w{i}", queue, done)) for i in range(3)]
    for i in range(10):
        await queue.put(i)
    await queue.join()
    for t in tasks:
        t.cancel()
    outcome = await asyncio.gather(*tasks, return_exceptions=True)
    print(sorted(done), {type(o).__name__ for o in outcome})


if __name__ == "__main__":
    asyncio.run(main())
