import asyncio


async def fetch():
    return 42


async def main():
    result = fetch()  # forgot await
    print(type(result).__name__)
    result.close()
    print(await fetch())


asyncio.run(main())
