#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""closed_port.py PORT_FILE

A port of loopback that is taken and on which nobody listens: connections to it are refused.
"""
import signal
import socket
import sys

taken = socket.socket()
taken.bind(("127.0.0.1", 0))
with open(sys.argv[1], "w", encoding="ascii") as file:
    file.write(str(taken.getsockname()[1]))
signal.pause()
