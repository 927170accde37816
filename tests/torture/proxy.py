# SPDX-License-Identifier: MIT
"""The line from one contender to one server: a proxy on a free port of 127.0.0.1 that can misbehave.

What it does to a connection is what a network can do to TCP: bytes come late but in order, or not
at all, and the rest with them. Nothing is lost from the middle of a stream.
"""
import asyncio
import socket
import struct

TO_SERVER, TO_CLIENT = 0, 1


def reset(writer):
    """Ends a connection with RST instead of FIN."""
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.family == socket.AF_INET and connection.fileno() >= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Line:
    def __init__(self, upstream, rng):
        self.upstream = upstream
        self.rng = rng
        self.port = None
        self.delay = (0.0, 0.0)  # least and most, in seconds, for each direction
        self.refusing = False
        self.connections = set()
        self.gates = (asyncio.Event(), asyncio.Event())  # closed: nothing passes that way
        for gate in self.gates:
            gate.set()
        self.listener = None

    async def start(self):
        self.listener = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.listener.sockets[0].getsockname()[1]

    def stop(self):
        self.listener.close()
        self.cut()

    # What can be done to it.

    def cut(self):
        for writer in list(self.connections):
            reset(writer)

    def hold(self, *directions):
        """Nothing passes that way any more; it is kept, as a network keeps sending it again."""
        for direction in directions:
            self.gates[direction].clear()

    def heal(self):
        self.refusing = False
        self.delay = (0.0, 0.0)
        for gate in self.gates:
            gate.set()

    # How it works.

    async def serve(self, reader, writer):
        if self.refusing:
            return reset(writer)
        try:
            up_reader, up_writer = await asyncio.open_unix_connection(self.upstream)
        except OSError:
            return reset(writer)
        self.connections |= {writer, up_writer}
        ways = (
            asyncio.create_task(self.forward(reader, up_writer, TO_SERVER)),
            asyncio.create_task(self.forward(up_reader, writer, TO_CLIENT)),
        )
        try:
            await asyncio.gather(*ways)
        except OSError:  # one side is broken: so is the other
            pass
        finally:
            for way in ways:
                way.cancel()
            reset(writer)
            reset(up_writer)
            self.connections -= {writer, up_writer}

    async def forward(self, reader, writer, direction):
        """Until the end of the stream, which is passed on in its turn like the bytes before it."""
        line = asyncio.Queue()
        delivery = asyncio.create_task(self.deliver(line, writer, direction))
        try:
            data = b"-"
            while data:
                data = await reader.read(65536)
                line.put_nowait((asyncio.get_running_loop().time() + self.lateness(), data))
            await delivery
        finally:
            delivery.cancel()

    async def deliver(self, line, writer, direction):
        loop = asyncio.get_running_loop()
        while True:
            due, data = await line.get()
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            await self.gates[direction].wait()
            if not data:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    def lateness(self):
        return self.rng.uniform(*self.delay)
