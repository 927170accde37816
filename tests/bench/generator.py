# SPDX-License-Identifier: MIT
"""Servers and the requests of redlock, without redlock: for tests/bench/protocol.py."""
import contextlib
import hashlib
import os
import re
import socket

LOCK = "herd"
LINE = f"redlock:{{{LOCK}}}:"


def read_scripts(path):
    with open(path, encoding="utf-8") as file:
        return dict(re.findall(r'string_view (\w+) =\s+R"lua\((.*?)\)lua";', file.read(), re.DOTALL))


def bulk(*words):
    parts = [str(word).encode() for word in words]
    return b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def encode(*words):
    return b"*%d\r\n" % len(words) + bulk(*words)


class Incomplete(Exception):
    pass


def parse(data, at):
    """(a reply, where the next one begins)"""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Incomplete
    kind, head, at = data[at : at + 1], data[at + 1 : end], end + 2
    if kind == b"*":
        values = []
        for _ in range(int(head)):
            value, at = parse(data, at)
            values.append(value)
        return values, at
    if kind == b"$" and int(head) >= 0:
        end = at + int(head)
        if len(data) < end + 2:
            raise Incomplete
        return bytes(data[at:end]).decode(), end + 2
    if kind == b"-":
        raise RuntimeError(bytes(head).decode())
    return int(head) if kind == b":" else bytes(head).decode(), at


class Requests:
    """As src/redis/requests/request.cc and queue.cc make them."""

    def __init__(self, scripts):
        self.scripts = scripts
        # How every acquire begins; nine words follow.
        digest = hashlib.sha1(scripts["acquire"].encode()).hexdigest()
        keys = [LOCK, LINE + "holder", LINE + "fence", LINE + "dead"]
        self.acquire_head = b"*16\r\n" + bulk("EVALSHA", digest, len(keys), *keys)

    def load(self, server):
        server.admin.ask("SCRIPT", "LOAD", self.scripts["acquire"])

    @staticmethod
    def who(number):
        return (f'{{"command":"nightly-report","host":"host{number}.example","pid":{number},"protocol":1,'
                f'"servers":"24227c29e16efbda","since":1795352244681,"ttl":30000,"user":"root"}}')

    def acquire_tail(self, token, who, waiter="", ticket=""):
        return bulk(token, 30000, who, 0, 30000, token, waiter, ticket, LINE)

    def acquire(self, *args):
        return self.acquire_head + self.acquire_tail(*args)

    def join(self, waiter, who, ticket):
        return encode("EVAL", self.scripts["join_queue"], 1, LOCK, LINE, waiter, who, ticket)

    def hand_on(self, waiter=""):
        return encode("EVAL", self.scripts["hand_on"], 1, LOCK, LINE, waiter)

    def release(self, token, who):
        """Three replies."""
        leave = encode("EVAL", self.scripts["leave"], 2, LOCK, LINE + "holder", token, token, 0)
        log = encode("EVAL", self.scripts["log"], 1, LINE + "log", "released", token, who, 100)
        return leave + self.hand_on() + log


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.data = bytearray()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """Whether something has come."""
        data = self.socket.recv(1 << 20)
        self.data += data
        return bool(data)

    def replies(self):
        """Those that have come."""
        found, at = [], 0
        try:
            while at < len(self.data):
                reply, at = parse(self.data, at)
                found.append(reply)
        except Incomplete:
            pass
        del self.data[:at]
        return found

    def ask(self, *words):
        self.send(encode(*words))
        while not (replies := self.replies()):
            if not self.receive():
                raise RuntimeError("a server has closed the connection")
        return replies[0]

    def close(self):
        self.socket.close()


class Server:
    def __init__(self, path, pid):
        self.path = path
        self.pid = pid
        self.admin = Connection(path)
        self.admin.ask("CONFIG", "SET", "slowlog-log-slower-than", 100)
        self.admin.ask("CONFIG", "SET", "slowlog-max-len", 100000)

    def clear(self):
        self.admin.ask("FLUSHALL")
        self.admin.ask("SLOWLOG", "RESET")

    def spent(self):
        """In µs: its work, and how long it was ready to work and had no core. It is idle now."""
        self.admin.ask("PING")
        with open(f"/proc/{self.pid}/schedstat", encoding="ascii") as file:
            work, delay, _ = map(int, file.read().split())
        return work / 1e3, delay / 1e3

    def scripts(self):
        """How many it has run."""
        stats = self.admin.ask("INFO", "commandstats")
        return sum(map(int, re.findall(r"^cmdstat_eval(?:sha)?:calls=(\d+)", stats, re.MULTILINE)))

    def slow(self):
        """How long each script took that took more than 100 µs, in µs; by the clock, not by its work."""
        entries = self.admin.ask("SLOWLOG", "GET", -1)
        return sorted(entry[2] for entry in entries if entry[3][0] in ("EVAL", "EVALSHA"))


@contextlib.contextmanager
def undisturbed(servers):
    """As root: no other process takes the core from a server, so that a long script is its own."""
    try:
        for server in servers:
            os.sched_setscheduler(server.pid, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("Not root: the time of a script has in it what other processes did at that time.\n")
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            for server in servers:
                os.sched_setscheduler(server.pid, os.SCHED_OTHER, os.sched_param(0))
