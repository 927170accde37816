#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""black_hole.py PORT_FILE [ADDRESS PORT]

A listener on loopback whose backlog is full, so that connecting hangs.
"""
import signal
import socket
import sys

listener = socket.socket()
where = (sys.argv[2], int(sys.argv[3])) if len(sys.argv) > 2 else ("127.0.0.1", 0)
listener.bind(where)
listener.listen(0)

# One connection fits into a backlog of 0; of the rest the kernel drops the SYN.
fillers = []
for _ in range(4):
    filler = socket.socket()
    filler.setblocking(False)
    filler.connect_ex(listener.getsockname())
    fillers.append(filler)

with open(sys.argv[1], "w", encoding="ascii") as file:
    file.write(str(listener.getsockname()[1]))
signal.pause()
