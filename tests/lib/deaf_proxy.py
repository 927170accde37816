#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""deaf_proxy.py PORT_FILE SOCKET

Forwards connections to the Unix socket SOCKET, but hangs up as soon as a SUBSCRIBE has been answered.
"""
import select
import socket
import socketserver
import sys

PORT_FILE, SOCKET = sys.argv[1:3]


class Deaf(socketserver.BaseRequestHandler):
    def handle(self):
        listens = False
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(SOCKET)
            while True:
                for source in select.select([self.request, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is self.request:
                        listens = listens or b"SUBSCRIBE" in data
                        server.sendall(data)
                    else:
                        self.request.sendall(data)
                        if listens:
                            return


class Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


with Proxy(("127.0.0.1", 0), Deaf) as proxy:
    with open(PORT_FILE, "w", encoding="ascii") as file:
        file.write(str(proxy.server_address[1]))
    proxy.serve_forever()
