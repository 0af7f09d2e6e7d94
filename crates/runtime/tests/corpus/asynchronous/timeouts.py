# python: 3.11
import asyncio


async def slow():
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("slow was cancelled")
        raise


async def main():
    try:
        await asyncio.wait_for(slow(), timeout=0.05)
    except asyncio.TimeoutError:
        print("timed out")
    try:
        async with asyncio.timeout(0.05):
            await slow()
    except TimeoutError:
        print("timed out again")
    done, pending = await asyncio.wait([asyncio.create_task(slow())], timeout=0.05)
    print(len(done), len(pending))


asyncio.run(main())
