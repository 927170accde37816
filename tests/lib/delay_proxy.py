#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""delay_proxy.py PORT_FILE STATS_FILE UPSTREAM MS

Forwards connections to UPSTREAM (a Unix socket's path or HOST:PORT; with several, separated by
commas, in turn), each direction MS milliseconds late and in order. STATS_FILE has the lines "connections N" and "round_trips N".
"""
import asyncio
import os
import sys

PORT_FILE, STATS_FILE, UPSTREAM = sys.argv[1:4]
DELAY = float(sys.argv[4]) / 1000
counts = {"connections": 0, "round_trips": 0}


def write_stats():
    with open(STATS_FILE + ".new", "w", encoding="ascii") as file:
        file.writelines(f"{key} {value}\n" for key, value in counts.items())
    os.replace(STATS_FILE + ".new", STATS_FILE)


class Turn:
    """Whose turn it is on one connection; a round trip ends with the server's first answer."""

    asking = False

    def client_speaks(self):
        self.asking = True

    def server_speaks(self):
        if self.asking:
            self.asking = False
            counts["round_trips"] += 1
            write_stats()


async def forward(reader, writer, spoke):
    loop = asyncio.get_running_loop()
    line = asyncio.Queue()

    async def deliver():
        while True:
            due, data = await line.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.close()

    delivery = asyncio.create_task(deliver())
    try:
        data = b"x"
        while data:
            data = await reader.read(65536)
            if data:
                spoke()
            line.put_nowait((loop.time() + DELAY, data))
        await delivery
    except OSError:
        delivery.cancel()
        writer.close()


async def serve(reader, writer):
    counts["connections"] += 1
    write_stats()
    upstreams = UPSTREAM.split(",")
    upstream = upstreams[counts["connections"] % len(upstreams)]
    try:
        if upstream.startswith("/"):
            up_reader, up_writer = await asyncio.open_unix_connection(upstream)
        else:
            host, port = upstream.rsplit(":", 1)
            up_reader, up_writer = await asyncio.open_connection(host, int(port))
    except OSError:
        writer.close()
        return
    turn = Turn()
    await asyncio.gather(
        forward(reader, up_writer, turn.client_speaks),
        forward(up_reader, writer, turn.server_speaks),
    )


async def main():
    write_stats()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    with open(PORT_FILE, "w", encoding="ascii") as file:
        file.write(str(server.sockets[0].getsockname()[1]))
    async with server:
        await server.serve_forever()


asyncio.run(main())
