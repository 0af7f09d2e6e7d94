# uses: a server and a client in one loop, JSON, a web socket
# expect: {'name': 'bell'} echo: hi 200
import asyncio

import aiohttp
from aiohttp import web


async def hello(request):
    return web.json_response({"name": request.match_info["name"]})


async def echo(request):
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str("echo: " + message.data)
    return socket


async def main():
    app = web.Application()
    app.add_routes([web.get("/hello/{name}", hello), web.get("/socket", echo)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
        async with session.get("/hello/bell") as answer:
            said, status = await answer.json(), answer.status
        async with session.ws_connect("/socket") as socket:
            await socket.send_str("hi")
            echoed = await socket.receive_str()
    await runner.cleanup()
    print(said, echoed, status)


asyncio.run(main())
