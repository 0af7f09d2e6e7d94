import asyncio
import concurrent.futures
import threading


def blocking(n):
    return n * n, threading.current_thread() is threading.main_thread()


def cpu(n):
    return sum(i * i for i in range(n))


async def main():
    loop = asyncio.get_running_loop()
    print(await loop.run_in_executor(None, blocking, 7))
    print(await asyncio.to_thread(blocking, 8))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(await asyncio.gather(*(loop.run_in_executor(pool, cpu, n) for n in (10, 100, 1000))))


if __name__ == "__main__":
    asyncio.run(main())
