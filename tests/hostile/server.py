#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""server.py PORT_FILE MODE [ARG]…: a Redis server that means harm. A mode is a row of CONSTANT, or a class.

It understands requests as far as it must to give answers that look like those of redlock's scripts. The
port goes into PORT_FILE. It serves until it is killed.
"""
import functools
import itertools
import json
import socketserver
import sys
import time

INT64_MAX = 2**63 - 1
MIB = 1024 * 1024
TOKEN = "0123456789abcdef0123456789abcdef01234567"
# What must not reach a terminal: ESC, CSI as a character and as a byte, DEL, overrides of the direction of
# writing, separators, half characters.
NASTY = (
    b"\x1b]0;evil\x07\x1b[31m" + "\u009b31m\u202e\u061c\u200f\u2066\u2028\u2029\u0085".encode() + b"\x9b31m\x7f\xc3\xff"
)


class Raw(bytes):
    """Goes out as it is."""


class Status(str):
    pass


class Failure(bytes):
    pass


def encode(value):
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, Failure):
        return b"-" + bytes(value) + b"\r\n"
    if isinstance(value, Status):
        return b"+" + value.encode() + b"\r\n"
    if value is None:
        return b"$-1\r\n"
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return b"$%d\r\n%s\r\n" % (len(value), value)
    return b"*%d\r\n" % len(value) + b"".join(map(encode, value))


def read_request(file):
    """The words of a command; none at the end."""
    head = file.readline()
    if not head.startswith(b"*"):
        return None
    words = []
    for _ in range(int(head[1:])):
        length = int(file.readline()[1:])
        words.append(file.read(length + 2)[:-2])
    return words


def question(words):
    """What is asked: a command, or which of redlock's scripts."""
    command = words[0].upper().decode("latin-1")
    if command != "EVAL":
        return command
    script = words[1]
    for name, sign in (
        ("acquire", b"{'granted'"),
        ("look", b"'seen'"),
        ("waiting", b"'waiting'"),
        ("join", b"'joined'"),
        ("hand_on", b"'cools "),
        ("history", b"{'log'}"),
        ("permissions", b"local denied"),
        ("done", b"'done'"),
        ("revoke", b"'revoked'"),
        ("renew", b"'renewed'"),
        ("release", b"'released'"),
    ):
        if sign in script:
            return name
    return "script"


def record(text="somebody", number=1700000000000):
    """A holder, a line of the log, a mark: what others have written as JSON."""
    field = text.decode("latin-1") if isinstance(text, bytes) else text
    data = {key: field for key in ("host", "user", "command", "servers", "reason")}
    data |= {key: number for key in ("pid", "since", "ttl", "protocol", "waited", "held", "status", "fence")}
    data = json.dumps(data, ensure_ascii=False).encode("latin-1") if isinstance(text, bytes) else json.dumps(data).encode()
    return data


class Plausible:
    """Answers as redlock's scripts do, with one text and one number in all places."""

    text = "somebody"
    number = 1000
    time = 1700000000000
    value = TOKEN
    clock = "1700000000"  # in seconds
    latest = 1600000000000  # in the log
    told = 1  # how many heard that the lock was revoked

    def __init__(self):
        self.ids = itertools.count(self.latest, -1)

    def names(self, _cursor):
        return ["redlock:{lock}:holder"]

    def holder(self):
        return record(self.text, self.time)

    def seen(self):
        return ["seen", "string", self.value, self.number, self.holder(), "7", 1, "", 0, "run", [], 0, self.number]

    def waiters(self):
        # None of them is the holder, who would not be shown.
        who = self.holder().replace(b'"pid": ', b'"pid": 1')
        return [["waiter%d" % at, str(max(self.number, 0)), who] for at in range(3)]

    def refusal(self):
        place = max(self.number, 0)
        return ["refused", self.value, self.number, self.holder(), str(self.time), str(place), place, place]

    def line(self):
        time = next(self.ids)
        return ["%d-0" % time, "acquired", "run%d" % time, self.holder(), "1", ""]

    def page(self):
        return [self.line()]

    def answer(self, what, words):
        if what == "SCAN":
            return [self.next_cursor(words[1]), self.names(words[1])]
        if what == "SUBSCRIBE":
            return Raw(encode(["subscribe", words[1], 1]) + self.pushes(words[1]))
        if what == "TIME":
            return [self.clock, "0"]
        return {
            "look": lambda: self.seen(),
            "waiting": lambda: ["waiting", self.number, *self.waiters()],
            "history": lambda: ["log", *self.page()],
            "acquire": lambda: self.refusal(),
            "join": lambda: ["joined"],
            "hand_on": lambda: ["held"],
            "done": lambda: ["done", self.number, self.number, self.holder()],
            "revoke": lambda: ["revoked", self.told, "", 1],
            "renew": lambda: ["not_mine", self.value],
            "release": lambda: ["not_mine", self.value],
            "permissions": lambda: [],
            "INFO": lambda: self.info(),
            "CONFIG": lambda: ["appendfsync", self.text],
            "SET": lambda: Status("OK"),
            "AUTH": lambda: Status("OK"),
            "EVALSHA": lambda: Failure(b"NOSCRIPT No matching script. Please use EVAL."),
        }.get(what, lambda: 0)()

    def next_cursor(self, _cursor):
        return "0"

    def pushes(self, _channel):
        return b""

    def info(self):
        return b"redis_version:7.0.0\r\nrun_id:%s\r\nuptime_in_seconds:99999\r\nrole:master\r\n" % TOKEN.encode()


class EndlessCursors(Plausible):
    """SCAN never comes to its end, and names the same lock again and again."""

    def next_cursor(self, cursor):
        return str(int(cursor) + 1)


class SameCursor(Plausible):
    """SCAN answers with the cursor that it was given."""

    def next_cursor(self, cursor):
        return cursor if cursor != b"0" else "5"


class EndlessNames(EndlessCursors):
    """SCAN never comes to its end, and each step names 1000 new locks."""

    def names(self, cursor):
        return ["redlock:{%s%d-%d}:holder" % ("x" * 200, int(cursor), at) for at in range(1000)]


class ManyLocks(Plausible):
    locks = 1000

    def names(self, _cursor):
        return ["redlock:{lock%d}:holder" % at for at in range(self.locks)]


class HugeHolders(ManyLocks):
    """1000 locks, each holder with 900 kB."""

    def seen(self):
        return ["seen", "string", self.value, self.number, b"x" * 900_000, "7", 1, "", 0, "run", [], 0, 900]


class HugeRecords(ManyLocks):
    """As many locks as there may be, each with records as long as may be."""

    def next_cursor(self, cursor):
        return str(int(cursor) + 1) if int(cursor) < 90 else "0"

    def names(self, cursor):
        return ["redlock:{lock%d-%d}:holder" % (int(cursor), at) for at in range(1000)]

    answers = {
        "look": Raw(encode(["seen", "string", TOKEN, 1000, b"x" * 8000, "7", 1, "", 0, "run", [], 0, 900])),
        "waiting": Raw(encode(["waiting", 20, *[["w%d" % at, "1000", b"x" * 8000] for at in range(20)]])),
    }

    def answer(self, what, words):
        return self.answers.get(what) or super().answer(what, words)


class HugeWaiters(Plausible):
    """A queue of 1000, each waiter with 1000 bytes."""

    def waiters(self):
        return [["w" * 500, "1000", b"x" * 500] for _ in range(1000)]


class Turns(Plausible):
    """The lock is free, and the turn of another waiter, which ends immediately and never."""

    def refusal(self):
        return ["turn", "w" * 500, 0, "", str(self.time), str(self.time), 1, 1]


class EndlessLog(Plausible):
    """The log never comes to its beginning; its lines are as long as may be."""

    data = b"x" * 2000

    def line(self):
        return ["%d-0" % next(self.ids), "acquired", "run", self.data, "1", ""]

    def page(self):
        return [self.line() for _ in range(101)]


class SameLine(Plausible):
    """Each page of the log is the line that was known already, and one more."""

    def answer(self, what, words):
        if what != "history":
            return super().answer(what, words)
        known = [words[4].replace(b"+", b"1-0"), "acquired", "run", self.holder(), "1", ""]
        return ["log", *[known] * 100, self.line()]


class Pushes(Plausible):
    """Who subscribes is flooded."""

    def pushes(self, channel):
        return encode(["message", channel, "x" * 1000]) * 5000


class Unasked(Plausible):
    """Three replies to each request."""

    def answer(self, what, words):
        return Raw(encode(super().answer(what, words)) * 3)


class BigNumbers(Plausible):
    """2^63 - 1 wherever there is a number or a time, also in what others have written."""

    number = INT64_MAX
    time = INT64_MAX
    clock = str(INT64_MAX)
    told = 0


class SmallNumbers(Plausible):
    """-2^63 likewise."""

    number = -INT64_MAX - 1
    time = -INT64_MAX - 1
    told = -INT64_MAX - 1


class OddNumbers(Plausible):
    """What overflows only in nanoseconds: 300 years and more."""

    number = 300 * 365 * 86400 * 1000
    time = number
    clock = str(2**40 - 1)
    latest = 16725225599999  # the year 2500
    told = 0


class Escapes(Plausible):
    """What terminals obey, in every text."""

    text = NASTY
    value = NASTY

    def seen(self):
        return ["seen", NASTY[:20], NASTY, 1000, self.holder(), "7", 1, NASTY, 3, NASTY, [], 0, 900]

    def names(self, _cursor):
        return [b"redlock:{" + "a\u202eb\u009bc".encode() + b"\x9b}:holder"]

    def info(self):
        return b"".join(
            b"%s:%s\r\n" % (field, NASTY)
            for field in (b"redis_version", b"run_id", b"maxmemory_policy", b"master_host", b"master_port")
        ) + b"maxmemory:1\r\nrole:slave\r\n"

    def answer(self, what, words):
        if what == "permissions":
            return [NASTY, NASTY]
        return super().answer(what, words)


class EscapesHeld(Escapes):
    """The same, of a lock that is held."""

    def seen(self):
        return ["seen", "string", TOKEN, 1000, self.holder(), "7", 2, "", 0, "run", [], 0, 900]


class EscapesRevoked(Escapes):
    """The same, of a lock that was revoked."""

    value = b"revoked:" + TOKEN.encode() + b" " + record(NASTY)

    def seen(self):
        return ["seen", "string", self.value, 1000, self.holder(), "7", 1, "", 0, "run", [], 0, 900]


class HugeInfo(Plausible):
    """INFO with 50,000 fields, CONFIG with 900 kB, 1000 commands that are not permitted."""

    text = "x" * 900_000

    def holder(self):
        return b"{}"

    def info(self):
        return super().info() + b"".join(b"field%d:x\r\n" % at for at in range(50_000))

    def answer(self, what, words):
        if what == "permissions":
            return ["x" * 500] * 1000
        return super().answer(what, words)


class Types(Plausible):
    """Each reply is of another type than the one before."""

    replies = itertools.cycle(
        [None, 7, Status("OK"), [], [None], [[], []], ["seen"], ["log", 1], ["waiting", None], ["granted"] * 6,
         ["refused", 1, 2, 3, 4], ["0", "0"], [["0"], ["x"]], Raw(b"*-1\r\n"), Failure(b""), "", ["done", "a", "b", 1]]
    )

    def answer(self, what, words):
        return next(self.replies)


class Trickle(Plausible):
    """Each reply comes byte by byte."""

    pause = 0.02


class HalfReply(Plausible):
    """Hangs up in the middle of each reply."""

    half = True


class Names(Plausible):
    """A Sentinel that names the primary HOST PORT, with the config-epoch EPOCH."""

    def answer(self, what, words):
        host, port, epoch = self.arguments
        return ["name", "redlock", "ip", host, "port", port, "flags", "master", "config-epoch", epoch]


class Moved(Plausible):
    """A node of a Cluster that sends every client to the address that it is given, or to itself."""

    def answer(self, what, words):
        address = self.arguments[0] if self.arguments else "127.0.0.1:%d" % self.port
        return Failure(b"MOVED 12 " + address.encode())


class MovedFirst(Plausible):
    """One that sends to itself those who ask for a lock, but serves all else, also within one flight."""

    def answer(self, what, words):
        if what in ("acquire", "renew", "release", "SUBSCRIBE", "look", "history"):
            return Failure(b"MOVED 12 127.0.0.1:%d" % self.port)
        return super().answer(what, words)


class MovedFlood(Plausible):
    """One that sends to itself, ten thousand times in answer to each request."""

    def answer(self, what, words):
        return Raw(encode(Failure(b"MOVED 12 127.0.0.1:%d" % self.port)) * 10_000)


class Asks(Plausible):
    """One that sends each request for a lock, and no other, to the address that it is given, for that request alone."""

    def answer(self, what, words):
        if what == "acquire":
            return Failure(b"ASK 12 " + self.arguments[0].encode())
        return super().answer(what, words)


class EndsSubscriptions(Plausible):
    """One that ends each subscription immediately, as if the slot had moved. It adds a byte to a file for each."""

    def answer(self, what, words):
        if what != "SSUBSCRIBE":
            return super().answer(what, words)
        with open(self.arguments[0], "ab") as file:
            file.write(b".")
        return Raw(encode(["ssubscribe", words[1], 1]) + encode(["sunsubscribe", words[1], 0]))


ONE_LINE = NASTY.replace(b"\r", b"")
# Modes that answer whatever they are asked with the same.
CONSTANT = {
    # What terminals obey, as the address of a primary, and in an error.
    "escapes-replica": ["replica", NASTY],
    "escapes-error": Failure(b"ERR " + ONE_LINE),
    "huge-error": Failure(b"ERR " + b"x" * (MIB // 2)),
    # Sizes that cannot be, or have no end.
    "deep-arrays": Raw(b"*1\r\n" * 250_000),
    "wide-arrays": Raw(b"*1024\r\n" + (b"*1024\r\n" + b"*0\r\n" * 1024) * 200),
    "huge-bulk": Raw(b"$536870912\r\n" + b"x" * (4 * MIB)),  # 512 MiB are announced, and begin to come
    "huge-array": Raw(b"*2147483647\r\n:1\r\n"),
    "lengths": Raw(b"*-7\r\n$-5\r\n:999999999999999999999999\r\n*99999999999999999999\r\n"),
    "endless-line": Raw(b"+" + b"x" * (4 * MIB)),
    # A TLS server, and one that never answers.
    "tls": Raw(b"\x15\x03\x01\x00\x02\x02\x46"),
    "silence": Raw(),
    # A Sentinel that names such an address, 4 MiB, or 200,000 fields and the primary after them.
    "names-escapes": ["ip", NASTY, "port", NASTY, "config-epoch", NASTY],
    "names-much": ["ip", "x" * MIB, "port", "y" * MIB, "flags", "z" * MIB, "config-epoch", "9" * MIB],
    "names-fields": [*["field", "value"] * 200_000, "ip", "127.0.0.1", "port", "1"],
    # A node of a Cluster that sends to such an address or to one of half a MiB, and one whose slot stays half moved.
    "moved-escapes": Failure(b"MOVED 12 " + ONE_LINE + b":6379"),
    "moved-huge": Failure(b"MOVED 12 " + b"x" * (MIB // 2) + b":6379"),
    "try-again": Failure(b"TRYAGAIN Multiple keys request during rehashing of slot"),
}


class Constant:
    def __init__(self, reply):
        self.reply = reply

    def answer(self, _what, _words):
        return self.reply


MODES = {
    "".join("-" + c.lower() if c.isupper() else c for c in kind.__name__).lstrip("-"): kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Plausible) and kind is not ManyLocks
} | {mode: functools.partial(Constant, reply) for mode, reply in CONSTANT.items()}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        play = self.server.play
        try:
            while words := read_request(self.rfile):
                reply = encode(play.answer(question(words), words))
                if getattr(play, "pause", 0):
                    for byte in reply:
                        self.wfile.write(bytes([byte]))
                        time.sleep(play.pause)
                elif getattr(play, "half", False):
                    self.wfile.write(reply[: len(reply) // 2])
                    return
                else:
                    self.wfile.write(reply)
        except (OSError, ValueError):
            pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[2] not in MODES:
        sys.exit("usage: server.py PORT_FILE MODE [ARG]…, MODE being one of: " + " ".join(MODES))
    with Server(("127.0.0.1", 0), Handler) as server:
        server.play = MODES[sys.argv[2]]()
        server.play.arguments = sys.argv[3:]
        server.play.port = server.server_address[1]
        with open(sys.argv[1], "w", encoding="ascii") as file:
            file.write(str(server.server_address[1]))
        server.serve_forever()
