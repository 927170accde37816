# SPDX-License-Identifier: MIT
#
# notified.py READY LOG ADDRESS: plays the service manager of sd_notify(3). It receives datagrams at that
# address (@NAME: abstract) and writes each to LOG, its lines joined by blanks. It writes to READY when it
# listens.
import socket
import sys

ready, log, address = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind("\0" + address[1:] if address.startswith("@") else address)
open(ready, "w").write("listens\n")
while True:
    message = listener.recv(65536).decode()
    with open(log, "a") as out:
        out.write(message.replace("\n", " ") + "\n")
