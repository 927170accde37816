#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""rewrite_proxy.py PORT_FILE SOCKET PATTERN REPLACEMENT

Forwards connections to the Unix socket SOCKET. In what the server says the regular expression PATTERN
becomes REPLACEMENT, which must be as long as what it replaces: the lengths in the protocol stay right.
"""
import os
import re
import socket
import socketserver
import sys
import threading

PORT_FILE, SOCKET = sys.argv[1:3]
PATTERN, REPLACEMENT = (os.fsencode(word).decode("unicode_escape").encode("latin-1")
                        for word in sys.argv[3:5])


def replacement(match):
    if len(match[0]) != len(REPLACEMENT):
        sys.exit(f"{match[0]!r} and {REPLACEMENT!r} differ in length")
    return REPLACEMENT


def forward(source, target, change):
    try:
        while data := source.recv(65536):
            target.sendall(change(data))
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Rewriting(socketserver.BaseRequestHandler):
    def handle(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(SOCKET)
            back = threading.Thread(target=forward, args=(
                server, self.request, lambda data: re.sub(PATTERN, replacement, data)))
            back.start()
            forward(self.request, server, lambda data: data)
            back.join()


class Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


with Proxy(("127.0.0.1", 0), Rewriting) as proxy:
    with open(PORT_FILE, "w", encoding="ascii") as file:
        file.write(str(proxy.server_address[1]))
    proxy.serve_forever()
