#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""swallow_proxy.py PORT_FILE HOST PORT, or PORT_FILE unix SOCKET

Forwards connections to that server. On SIGUSR1 it ends its connections to the server, and swallows from
then on what the clients of these send: they see neither an answer nor an end. New connections work. This
is what a client sees of haproxy, stunnel or ssh -L when the network on their other side has changed. On SIGUSR2 it
sends the server what it has swallowed, and drops the answers.
"""
import os
import selectors
import signal
import socket
import sys

PORT_FILE, HOST, WHERE = sys.argv[1:4]


def dial():
    if HOST == "unix":
        server = socket.socket(socket.AF_UNIX)
        server.connect(WHERE)
    else:
        server = socket.create_connection((HOST, int(WHERE)))
    return server


poll = selectors.DefaultSelector()
peers = {}  # socket → the other side; None: swallowed
clients = set()
swallowed = {}  # client → what it sent


def close(*sockets):
    for each in sockets:
        if each is not None and each in peers:
            poll.unregister(each)
            each.close()
            peers.pop(each)


def accept():
    client, _ = listener.accept()
    server = dial()
    clients.add(client)
    for each, other in ((client, server), (server, client)):
        peers[each] = other
        poll.register(each, selectors.EVENT_READ)


def forward(source):
    try:
        data = source.recv(65536)
        if source in swallowed:
            swallowed[source] += data
        elif data:
            peers[source].sendall(data)
    except OSError:
        data = b""
    if not data:
        close(peers.get(source), source)


def swallow():
    for each in clients & peers.keys() - swallowed.keys():
        close(peers[each])
        peers[each] = None
        swallowed[each] = b""


late = []  # connections to the server


def deliver():
    for data in list(swallowed.values()):
        late.append(dial())
        late[-1].sendall(data)


listener = socket.create_server(("127.0.0.1", 0))
poll.register(listener, selectors.EVENT_READ)
signals, signals_in = socket.socketpair()
signals_in.setblocking(False)
signal.set_wakeup_fd(signals_in.fileno())
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.signal(signal.SIGUSR2, lambda *_: None)
poll.register(signals, selectors.EVENT_READ)
with open(PORT_FILE + ".new", "w", encoding="ascii") as file:
    file.write(str(listener.getsockname()[1]))
os.rename(PORT_FILE + ".new", PORT_FILE)
while True:
    for key, _ in poll.select():
        if key.fileobj is listener:
            accept()
        elif key.fileobj is signals:
            for number in signals.recv(64):
                if number == signal.SIGUSR1:
                    swallow()
                else:
                    deliver()
                with open(PORT_FILE + ".done", "a", encoding="ascii") as file:
                    file.write(f"{number}\n")
        elif key.fileobj in peers:
            forward(key.fileobj)
