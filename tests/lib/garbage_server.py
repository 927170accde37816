#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""garbage_server.py PORT_FILE TEXT.: answers every request with TEXT; without TEXT hangs up.

The full stop behind TEXT is not part of it: it keeps the shell from dropping newlines at the end.
"""
import os
import socketserver
import sys

ANSWER = os.fsencode(sys.argv[2])[:-1]


class Garbage(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            while self.request.recv(65536):
                if not ANSWER:
                    return
                self.request.sendall(ANSWER)
        except OSError:
            pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


with Server(("127.0.0.1", 0), Garbage) as server:
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write(str(server.server_address[1]))
    server.serve_forever()
