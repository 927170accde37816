# SPDX-License-Identifier: MIT
"""protocol.py SCRIPTS SOCKETS PIDS

What the requests of very many hosts and waiters cost the servers, for tests/bench/herd: sends them
without processes and locks of its own. SCRIPTS is the file that src/redis/embed_scripts.cmake makes, so that
these are the very scripts of the binary; SOCKETS and PIDS are words in one argument each. Prints figures.
"""
import contextlib
import os
import random
import re
import secrets
import selectors
import socket
import statistics
import sys
import time
from collections import Counter

HOSTS = 10_000
CONNECTIONS = 200  # to each server, for all hosts
WAITERS = 1000
RUNS = 3  # of both
LINES = (10, 100, 1000)  # how many stand in line while the lock is handed over
ROUNDS, BATCHES, BATCH = 3, 12, 8  # hand-overs: so many batches of so many, in each round
LONGEST = 120  # s that anything may take
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
    """As src/redis/request.cc and queue.cc make them."""

    def __init__(self, scripts):
        self.scripts = scripts
        # How every acquire begins; nine words follow.
        keys = [LOCK, LINE + "holder", LINE + "fence", LINE + "dead"]
        self.acquire_head = b"*16\r\n" + bulk("EVAL", scripts["acquire"], len(keys), *keys)

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
        return (encode("EVAL", self.scripts["leave"], 2, LOCK, LINE + "holder", token, token, 0) + self.hand_on()
                + encode("EVAL", self.scripts["log"], 1, LINE + "log", "released", token, who, 100))


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
        return sum(map(int, re.findall(r"^cmdstat_eval:calls=(\d+)", stats, re.MULTILINE)))

    def slow(self):
        """How long each script took that took more than 100 µs, in µs; by the clock, not by its work."""
        entries = self.admin.ask("SLOWLOG", "GET", -1)
        return sorted(entry[2] for entry in entries if entry[3][0] == "EVAL")


@contextlib.contextmanager
def undisturbed(servers):
    """As root: no other process takes the core from a server, so that a long script is its own."""
    try:
        for server in servers:
            os.sched_setscheduler(server.pid, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("Not root: the time of a script has in it what other processes did meanwhile.\n")
    yield
    with contextlib.suppress(PermissionError):
        for server in servers:
            os.sched_setscheduler(server.pid, os.SCHED_OTHER, os.sched_param(0))


def wanted(value, most):
    return f"at most {most}: {'yes' if value <= most else 'NO'}"


def longest(servers, count):
    """Of the scripts since the last clear(): the longest in ms, and a line."""
    slow = sorted(each for server in servers for each in server.slow()) or [100]
    return slow[-1] / 1e3, f"{sum(each > 1000 for each in slow)} of {count} took longer than 1 ms"


def show_longest(found, delays):
    """Of several runs the quietest: SLOWLOG goes by the clock, and counts what else goes on meanwhile."""
    (time_taken, line), delay = min(zip(found, delays))
    print(f"  longest script        {time_taken:9.2f} ms   {wanted(time_taken, 1)}; {line};"
          f" the servers waited {delay / 1e3:.0f} ms for a core")


# ---- 10,000 hosts with -n -----------------------------------------------------------------------


class Stream:
    """One connection of the herd: the requests of some hosts, in pieces, then PING."""

    def __init__(self, path, hosts, head, tails):
        self.hosts = hosts
        self.connection = Connection(path)
        self.connection.socket.setblocking(False)
        pieces = (piece for host in hosts for piece in (head, tails[host]))
        self.pieces = [memoryview(piece) for piece in (*pieces, b"PING\r\n")]
        self.sent = 0

    def write(self):
        """Returns whether all is sent."""
        try:
            count = self.connection.socket.sendmsg(self.pieces[self.sent : self.sent + 64])
        except BlockingIOError:
            return False
        while count:
            piece = self.pieces[self.sent]
            if count < len(piece):
                self.pieces[self.sent] = piece[count:]
                return False
            count -= len(piece)
            self.sent += 1
        return self.sent == len(self.pieces)

    def ended(self):
        return self.connection.receive() and self.connection.data.endswith(b"+PONG\r\n")


def pump(streams):
    """Sends and receives everything; how long it took, in s."""
    selector = selectors.DefaultSelector()
    for stream in streams:
        selector.register(stream.connection.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, stream)
    began = time.perf_counter()
    open_streams = len(streams)
    while open_streams and time.perf_counter() - began < LONGEST:
        for key, events in selector.select(1):
            if events & selectors.EVENT_WRITE and key.data.write():
                selector.modify(key.fileobj, selectors.EVENT_READ, key.data)
            if events & selectors.EVENT_READ and key.data.ended():
                selector.unregister(key.fileobj)
                open_streams -= 1
    if open_streams:
        raise RuntimeError("the servers do not answer all")
    return time.perf_counter() - began


def herd(requests, servers):
    count = HOSTS * len(servers)
    print(f"{HOSTS} hosts ask with -n at one instant, over {CONNECTIONS} connections to each of"
          f" {len(servers)} servers, {RUNS} times\n")
    took, work, delays, slow, votes, exactly = [], [], [], [], [], True
    for _ in range(RUNS):
        tokens = [secrets.token_hex(20) for _ in range(HOSTS)]
        tails = [requests.acquire_tail(token, requests.who(host)) for host, token in enumerate(tokens)]
        streams = []
        for server in servers:
            server.clear()
            order = random.sample(range(HOSTS), HOSTS)  # nobody is the first everywhere
            for first in range(CONNECTIONS):
                streams.append(Stream(server.path, order[first::CONNECTIONS], requests.acquire_head, tails))
        before = [server.spent() for server in servers]
        took.append(pump(streams))
        after = [server.spent() for server in servers]
        work.append(sum(new[0] - old[0] for old, new in zip(before, after)) / count)
        delays.append(sum(new[1] - old[1] for old, new in zip(before, after)))
        slow.append(longest(servers, count))
        one_each, found = count_votes(servers, streams, tokens)
        exactly = exactly and one_each
        votes.append("+".join(map(str, sorted(found.values(), reverse=True))))
        for stream in streams:
            stream.connection.close()
    seconds = statistics.median(took)
    print(f"  in all                {seconds:9.2f} s    {count / seconds:.0f} requests/s; with the generator's work")
    print(f"  server CPU            {statistics.median(work):9.0f} µs   for each request")
    show_longest(slow, delays)
    print(f"  votes by host         {', '.join(votes):>9}")
    print(f"  exactly one token got the vote of each server: {'yes' if exactly else 'NO'}")


def count_votes(servers, streams, tokens):
    """(whether each server granted to exactly one host, and has its token, {host: its votes})"""
    votes, exactly = Counter(), True
    for number, server in enumerate(servers):
        winners = []
        for stream in streams[number * CONNECTIONS : (number + 1) * CONNECTIONS]:
            replies = stream.connection.replies()[:-1]
            exactly = exactly and len(replies) == len(stream.hosts)
            winners += [host for host, reply in zip(stream.hosts, replies) if reply[0] == "granted"]
        exactly = exactly and len(winners) == 1 and server.admin.ask("GET", LOCK) == tokens[winners[0]]
        votes.update(winners)
    return exactly, votes


# ---- a line of waiters --------------------------------------------------------------------------


class Waiter:
    """One waiter's two connections to a server, and what it has to say next."""

    def __init__(self, line, number):
        self.line = line
        self.token = secrets.token_hex(20)
        self.name = secrets.token_hex(10)
        self.who = line.requests.who(number)
        self.ticket = None
        self.state = "new"  # then "waits", then "has"
        self.left = 4  # replies when it has had the lock: to its leaving the line, and its release
        self.asking = Connection(line.server.path)
        self.listening = Connection(line.server.path)
        line.selector.register(self.asking.socket, selectors.EVENT_READ, self.answered)
        line.selector.register(self.listening.socket, selectors.EVENT_READ, self.woken)

    def arrive(self):
        self.asking.send(self.line.requests.acquire(self.token, self.who))

    def ask(self):
        self.asking.send(self.line.requests.acquire(self.token, self.who, self.name, self.ticket))

    def answered(self):
        self.asking.receive()
        for reply in self.asking.replies():
            if self.state in ("new", "waits"):
                self.judge(reply)
            else:
                self.left -= 1
        if self.left == 0:
            self.line.selector.unregister(self.asking.socket)
            self.asking.close()

    def judge(self, reply):
        if reply[0] == "granted":
            self.win()
        elif reply[0] == "joined":
            pass
        elif self.ticket is None:
            self.ticket = reply[5]
            self.asking.send(self.line.requests.join(self.name, self.who, self.ticket))
            self.listening.send(encode("SUBSCRIBE", LINE + "wake:" + self.name))
        elif self.state == "new":
            self.state = "waits"
            self.line.waiting += 1

    def woken(self):
        self.listening.receive()
        for reply in self.listening.replies():
            # "next" says when to ask if no further word comes: not before 500 ms.
            if reply[0] == "subscribe" or reply[2] == "free":
                self.ask()

    def win(self):
        """Leaves the line, and listens no more."""
        self.line.waiting -= self.state == "waits"
        self.state = "has"
        self.line.selector.unregister(self.listening.socket)
        self.listening.close()
        self.asking.send(self.line.requests.hand_on(self.name))
        self.line.won(self)

    def release(self):
        self.asking.send(self.line.requests.release(self.token, self.who))


class Line:
    def __init__(self, requests, server):
        self.requests = requests
        self.server = server
        self.selector = selectors.DefaultSelector()
        self.number = 0
        self.waiting = 0
        self.holder = None
        self.to_go = 0  # hand-overs
        server.clear()
        self.newcomer().arrive()
        self.run_until(lambda: self.holder)

    def newcomer(self):
        self.number += 1
        return Waiter(self, self.number)

    def run_until(self, done):
        deadline = time.perf_counter() + LONGEST
        while not done():
            for key, _ in self.selector.select(1):
                if key.fileobj.fileno() >= 0:
                    key.data()
            if time.perf_counter() > deadline:
                raise RuntimeError("a waiter was not served")

    def join(self, newcomers):
        """All together."""
        for waiter in newcomers:
            waiter.arrive()
        length = self.waiting + len(newcomers)
        self.run_until(lambda: self.waiting == length)

    def won(self, waiter):
        self.holder = waiter
        self.to_go -= 1
        if self.to_go > 0:
            waiter.release()

    def hand_over(self, count):
        """So many times, one after the other."""
        self.to_go = count
        self.holder.release()
        self.run_until(lambda: self.to_go == 0)
        self.server.admin.ask("PING")

    def close(self):
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


def arrivals(requests, server):
    print(f"\n{WAITERS} waiters join together, {RUNS} times, with two connections each\n")
    took, work, connecting, delays, slow = [], [], [], [], []
    for _ in range(RUNS):
        line = Line(requests, server)
        before = server.spent()
        newcomers = [line.newcomer() for _ in range(WAITERS)]
        connected = server.spent()
        began = time.perf_counter()
        line.join(newcomers)
        took.append(time.perf_counter() - began)
        after = server.spent()
        connecting.append((connected[0] - before[0]) / WAITERS)
        work.append((after[0] - connected[0]) / WAITERS)
        delays.append(after[1] - connected[1])
        slow.append(longest([server], 3 * WAITERS))
        line.close()
    cost = statistics.median(work)
    print(f"  in all                {statistics.median(took):9.2f} s    with the generator's work")
    print(f"  server CPU            {cost:9.0f} µs   each, {wanted(cost, 200)};"
          f" and {statistics.median(connecting):.0f} µs to connect")
    show_longest(slow, delays)


def handovers(requests, server):
    print(f"\nThe lock is handed over while waiters stand in line, {ROUNDS * BATCHES * BATCH} times each\n")
    work, scripts = {count: [] for count in LINES}, {count: [] for count in LINES}
    for _ in range(ROUNDS):
        for count in LINES:
            line = Line(requests, server)
            for _ in range(BATCHES):
                missing = count + BATCH // 2 - line.waiting
                line.join([line.newcomer() for _ in range(missing)])
                calls, before = server.scripts(), server.spent()[0]
                line.hand_over(BATCH)
                work[count].append((server.spent()[0] - before) / BATCH)
                scripts[count].append((server.scripts() - calls) / BATCH)
            line.close()
    print("  waiters   scripts   server CPU µs")
    for count in LINES:
        print(f"  {count:7}   {statistics.mean(scripts[count]):7.2f}   {statistics.median(work[count]):13.0f}")
    for what, values in (("scripts", map(statistics.mean, scripts.values())),
                         ("server CPU", map(statistics.median, work.values()))):  # fmt: skip
        values = list(values)
        ratio = max(values) / min(values)
        print(f"  {what}: the most is {ratio:.2f} x the least, {wanted(ratio, 1.2)}")


def main():
    scripts, sockets, pids = sys.argv[1:4]
    requests = Requests(read_scripts(scripts))
    servers = [Server(path, pid) for path, pid in zip(sockets.split(), map(int, pids.split()))]
    with undisturbed(servers):
        herd(requests, servers)
        arrivals(requests, servers[0])
    handovers(requests, servers[0])
    return 0


try:
    sys.exit(main())
except (OSError, RuntimeError) as error:
    print(f"tests/bench/herd: {error}", file=sys.stderr)
    sys.exit(69)
