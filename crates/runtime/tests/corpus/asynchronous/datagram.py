import asyncio


class Server(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        self.transport.sendto(data.upper(), addr)


class Client(asyncio.DatagramProtocol):
    def __init__(self, done):
        self.done = done

    def connection_made(self, transport):
        transport.sendto(b"hello udp")

    def datagram_received(self, data, addr):
        self.done.set_result(data)


async def main():
    loop = asyncio.get_running_loop()
    server, _ = await loop.create_datagram_endpoint(Server, local_addr=("127.0.0.1", 0))
    done = loop.create_future()
    client, _ = await loop.create_datagram_endpoint(lambda: Client(done), remote_addr=server.get_extra_info("sockname"))
    print(await done)
    client.close()
    server.close()


asyncio.run(main())
