import asyncio
from contextlib import asynccontextmanager


async def ticker(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)


@asynccontextmanager
async def resource(name):
    print("open", name)
    try:
        yield name.upper()
    finally:
        print("close", name)


class Countdown:
    def __init__(self, n):
        self.n = n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.n <= 0:
            raise StopAsyncIteration
        self.n -= 1
        return self.n


async def main():
    print([i async for i in ticker(5) if i % 2 == 0])
    async with resource("db") as r:
        print("using", r)
    async for x in Countdown(3):
        print(x)


asyncio.run(main())
