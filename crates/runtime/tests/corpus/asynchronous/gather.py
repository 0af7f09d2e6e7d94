import asyncio


async def fetch(name, delay):
    await asyncio.sleep(delay)
    return f"{name} done"


async def main():
    results = await asyncio.gather(fetch("A", 0.03), fetch("B", 0.01), fetch("C", 0.02))
    for r in results:
        print(r)


asyncio.run(main())
