# SPDX-License-Identifier: MIT
"""redis-py's Lock, or redlock-py, as the other side of a lock: peer.py KIND NAME SECTIONS WORK PAUSE LOG WHO PORT…

As Peer.java; WORK and PAUSE in ms. redis-py uses the first port alone.
"""
import os
import sys
import time

kind, name, sections, work, pause, log, who = sys.argv[1:8]
ports = [int(port) for port in sys.argv[8:]]
out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def say(what):
    os.write(out, f"{what} {who} {time.time_ns() // 1000}\n".encode())


def sections_of(take, give):
    say("ready")
    while not os.path.exists(log + ".go"):
        time.sleep(0.001)
    for _ in range(int(sections)):
        held = take()
        say("start")
        time.sleep(int(work) / 1000)
        say("end")
        give(held)
        time.sleep(int(pause) / 1000)


if kind == "redis-py":
    import redis

    lock = redis.Redis(port=ports[0]).lock(name, timeout=30, sleep=0.01)
    sections_of(lock.acquire, lambda _: lock.release())
else:
    import redlock

    manager = redlock.Redlock([{"host": "127.0.0.1", "port": port} for port in ports], retry_count=1)

    def take():
        while not (held := manager.lock(name, 30000)):
            time.sleep(0.01)
        return held

    sections_of(take, manager.unlock)
