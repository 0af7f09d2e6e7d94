import asyncio


async def handle(reader, writer):
    while line := await reader.readline():
        writer.write(b"echo: " + line)
        await writer.drain()
    writer.close()
    await writer.wait_closed()


async def client(port, name):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    replies = []
    for i in range(2):
        writer.write(f"{name} {i}\n".encode())
        replies.append((await reader.readline()).decode().strip())
    writer.close()
    await writer.wait_closed()
    return replies


async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        for replies in await asyncio.gather(*(client(port, n) for n in ("a", "b", "c"))):
            print(replies)


asyncio.run(main())
