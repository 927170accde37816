#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""listener.py PORT_FILE KIND [ARG…]: a listener on loopback, which writes its port to PORT_FILE.

closed                      takes a port and does not listen there: connections to it are refused
black_hole [ADDRESS PORT]   has a backlog that is full: connecting hangs
garbage TEXT.               answers every request with TEXT; without TEXT hangs up. The full stop after TEXT is not
                            part of it: it keeps the shell from dropping newlines at the end.
deaf SOCKET                 forwards to the Unix socket SOCKET, but hangs up as soon as a SUBSCRIBE has been answered
hang_up SOCKET WORD [always]  forwards to SOCKET, but hangs up on the first client (or on each) that sends WORD,
                            before the server gets that
"""
import os
import select
import signal
import socket
import socketserver
import sys

PORT_FILE, KIND, *ARGS = sys.argv[1:]


def write_port(listener):
    with open(PORT_FILE, "w", encoding="ascii") as file:
        file.write(str(listener.getsockname()[1]))


class Garbage(socketserver.BaseRequestHandler):
    def handle(self):
        answer = os.fsencode(ARGS[0])[:-1]
        try:
            while self.request.recv(65536):
                if not answer:
                    return
                self.request.sendall(answer)
        except OSError:
            pass


class Forwarding(socketserver.BaseRequestHandler):
    """Until `hears`, for what a client sends, or `answered`, after what the server sends, wants to hang up."""

    def handle(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(ARGS[0])
            while True:
                for source in select.select([self.request, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data or source is self.request and self.hears(data):
                        return
                    (server if source is self.request else self.request).sendall(data)
                    if source is server and self.answered():
                        return

    def answered(self):
        return False


class Deaf(Forwarding):
    listens = False

    def hears(self, data):
        self.listens = self.listens or b"SUBSCRIBE" in data
        return False

    def answered(self):
        return self.listens


class HangingUp(Forwarding):
    left = [1]

    def hears(self, data):
        return os.fsencode(ARGS[1]) in data and (ARGS[2:] == ["always"] or bool(self.left and self.left.pop()))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


if KIND in ("closed", "black_hole"):
    listener = socket.socket()
    listener.bind((ARGS[0], int(ARGS[1])) if ARGS else ("127.0.0.1", 0))
    fillers = []
    if KIND == "black_hole":
        listener.listen(0)
        # One connection fits into a backlog of 0; of the rest the kernel drops the SYN.
        for _ in range(4):
            fillers.append(socket.socket())
            fillers[-1].setblocking(False)
            fillers[-1].connect_ex(listener.getsockname())
    write_port(listener)
    signal.pause()
else:
    handler = {"garbage": Garbage, "deaf": Deaf, "hang_up": HangingUp}[KIND]
    with Server(("127.0.0.1", 0), handler) as server:
        write_port(server.socket)
        server.serve_forever()
