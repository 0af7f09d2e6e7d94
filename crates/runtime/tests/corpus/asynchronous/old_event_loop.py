import asyncio


async def job():
    await asyncio.sleep(0)
    return "old style"


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
try:
    print(loop.run_until_complete(job()))
    future = loop.create_future()
    loop.call_soon(future.set_result, "from a callback")
    print(loop.run_until_complete(future))
finally:
    loop.close()
print(loop.is_closed())
try:
    asyncio.get_running_loop()
except RuntimeError as e:
    print("RuntimeError:", e)
