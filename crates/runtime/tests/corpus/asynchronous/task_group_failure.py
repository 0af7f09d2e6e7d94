# python: 3.11
import asyncio


async def ok():
    try:
        await asyncio.sleep(30)
    finally:
        print("ok was cleaned up")


async def bad():
    await asyncio.sleep(0)
    raise ValueError("bad task")


async def main():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(ok())
            group.create_task(bad())
    except* ValueError as eg:
        print("caught", [str(e) for e in eg.exceptions])
    raise RuntimeError("end of main")


asyncio.run(main())
