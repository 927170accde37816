#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Stands before a server as one that is a little slow: parting_proxy.py READY SOCKET UPSTREAM

Listens on the Unix socket SOCKET. It answers a client's first request when the client has sent another
one, and a little later; it reads the other one after that. Like a Redis server, it executes every request
that it has read, and reads nothing more from a client that it could not answer.
"""
import select
import socket
import sys
import threading
import time

ready, path, upstream_path = sys.argv[1:]


def pump(client, upstream):
    while True:
        for sock in select.select([client, upstream], [], [])[0]:
            data = sock.recv(16384)
            if not data:
                return
            (upstream if sock is client else client).sendall(data)


def command(data):
    """How long the first command in data is; 0 if its end is missing."""
    try:
        end = data.index(b"\r\n") + 2
        for _ in range(int(data[1 : end - 2])):
            line = data.index(b"\r\n", end) + 2
            end = line + int(data[end + 1 : line - 2]) + 2
    except ValueError:
        return 0
    return end if end <= len(data) else 0


def serve(client):
    with client, socket.socket(socket.AF_UNIX) as upstream:
        upstream.connect(upstream_path)
        try:
            data = client.recv(16384)
            while not command(data):
                data += client.recv(16384)
            upstream.sendall(data)
            if not data[command(data):]:
                answer = upstream.recv(16384)
                select.select([client], [], [], 10)
                time.sleep(0.06)
                client.sendall(answer)
            pump(client, upstream)
        except OSError:
            pass


listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(16)
with open(ready, "w") as file:
    file.write(path)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
