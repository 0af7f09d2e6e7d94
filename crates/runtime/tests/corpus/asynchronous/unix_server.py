import asyncio


async def main():
    async def handle(reader, writer):
        data = await reader.read(100)
        writer.write(data[::-1])
        writer.close()

    server = await asyncio.start_unix_server(handle, "demo.sock")
    reader, writer = await asyncio.open_unix_connection("demo.sock")
    writer.write(b"stressed")
    print((await reader.read()).decode())
    writer.close()
    server.close()
    await server.wait_closed()


asyncio.run(main())
