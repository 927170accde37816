#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hang_up_proxy.py PORT_FILE SOCKET WORD

Forwards connections to the Unix socket SOCKET, but hangs up on the first client that sends WORD, before the
server gets that.
"""
import select
import socket
import socketserver
import sys

PORT_FILE, SOCKET, WORD = sys.argv[1:4]
left = [1]


class HangingUp(socketserver.BaseRequestHandler):
    def handle(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(SOCKET)
            while True:
                for source in select.select([self.request, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is server:
                        self.request.sendall(data)
                    elif WORD.encode() in data and left and left.pop():
                        return
                    else:
                        server.sendall(data)


class Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


with Proxy(("127.0.0.1", 0), HangingUp) as proxy:
    with open(PORT_FILE, "w", encoding="ascii") as file:
        file.write(str(proxy.server_address[1]))
    proxy.serve_forever()
