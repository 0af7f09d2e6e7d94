import asyncio


async def fails():
    raise KeyError("lost")


async def main():
    results = await asyncio.gather(fails(), asyncio.sleep(0, "fine"), return_exceptions=True)
    print([repr(r) for r in results])
    task = asyncio.create_task(fails())
    await asyncio.wait([task])
    print(repr(task.exception()), task.done(), task.cancelled())
    await task


asyncio.run(main())
