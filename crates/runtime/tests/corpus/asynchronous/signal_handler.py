import asyncio
import os
import signal


async def main():
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for s in (signal.SIGTERM, signal.SIGUSR1):
        loop.add_signal_handler(s, lambda s=s: (print("got", signal.Signals(s).name), stop.set()))
    loop.call_soon(os.kill, os.getpid(), signal.SIGTERM)
    await stop.wait()
    print("shutting down")


asyncio.run(main())
