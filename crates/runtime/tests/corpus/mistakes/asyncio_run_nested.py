import asyncio


async def inner():
    return 1


async def outer():
    coro = inner()
    try:
        asyncio.run(coro)
    except RuntimeError as e:
        coro.close()
        print("RuntimeError:", e)


asyncio.run(outer())
