# SPDX-License-Identifier: MIT
"""protocol.py SCRIPTS SOCKETS PIDS

What the requests of very many hosts and waiters cost the servers, for tests/bench/herd: sends them
without processes and locks of its own. SCRIPTS is the file that src/redis/embed_scripts.cmake makes, so that
these are the very scripts of the binary; SOCKETS and PIDS are words in one argument each. Prints figures.
"""
import random
import secrets
import selectors
import statistics
import sys
import time
import urllib.parse
from collections import Counter

sys.dont_write_bytecode = True  # leaves no files

from generator import LINE, LOCK, Connection, Requests, Server, encode, read_scripts, undisturbed

HOSTS = 10_000
CONNECTIONS = 200  # to each server, for all hosts
WAITERS = 1000
RUNS = 3  # of both
LENGTHS = (10, 100, 1000)  # how many stand in the queue while the lock is handed over
ROUNDS, BATCHES, BATCH = 3, 12, 8  # a round hands over BATCHES times BATCH locks
LONGEST = 120  # s that anything may take


def wanted(value, most):
    return f"at most {most}: {'yes' if value <= most else 'NO'}"


def longest(servers, count):
    """Of the scripts since the last clear(): the longest in ms, and a line."""
    slow = sorted(each for server in servers for each in server.slow()) or [100]
    return slow[-1] / 1e3, f"{sum(each > 1000 for each in slow)} of {count} took longer than 1 ms"


def show_longest(found, delays):
    """Of several runs the quietest: SLOWLOG goes by the clock, and counts what else goes on at that time."""
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
    print(f"  in all                {seconds:9.2f} s    {count / seconds:.0f} requests/s;"
          " with the generator's work")
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


# ---- a queue of waiters --------------------------------------------------------------------------


class Waiter:
    """One waiter's two connections to a server, and what it has to say next."""

    def __init__(self, queue, number):
        self.queue = queue
        self.token = secrets.token_hex(20)
        self.name = secrets.token_hex(10)
        self.who = queue.requests.who(number)
        self.ticket = None
        self.state = "new"  # then "waits", then "has"
        self.left = 4  # replies when it has had the lock: to its leaving the queue, and its release
        self.asking = Connection(queue.server.path)
        self.listening = Connection(queue.server.path)
        queue.selector.register(self.asking.socket, selectors.EVENT_READ, self.answered)
        queue.selector.register(self.listening.socket, selectors.EVENT_READ, self.woken)

    def arrive(self):
        self.asking.send(self.queue.requests.acquire(self.token, self.who))

    def ask(self):
        self.asking.send(self.queue.requests.acquire(self.token, self.who, self.name, self.ticket))

    def answered(self):
        self.asking.receive()
        for reply in self.asking.replies():
            if self.state in ("new", "waits"):
                self.judge(reply)
            else:
                self.left -= 1
        if self.left == 0:
            self.queue.selector.unregister(self.asking.socket)
            self.asking.close()

    def judge(self, reply):
        if reply[0] == "granted":
            self.win()
        elif reply[0] == "joined":
            pass
        elif self.ticket is None:
            self.ticket = reply[5]
            self.asking.send(self.queue.requests.join(self.name, self.who, self.ticket))
            self.listening.send(encode("SUBSCRIBE", LINE + "wake:" + self.name))
        elif self.state == "new":
            self.state = "waits"
            self.queue.waiting += 1

    def woken(self):
        self.listening.receive()
        for reply in self.listening.replies():
            # "next" says when to ask if no further word comes: not before 500 ms.
            if reply[0] == "subscribe" or reply[2] == "free":
                self.ask()

    def win(self):
        """Leaves the queue, and listens no more."""
        self.queue.waiting -= self.state == "waits"
        self.state = "has"
        self.queue.selector.unregister(self.listening.socket)
        self.listening.close()
        self.asking.send(self.queue.requests.hand_on(self.name))
        self.queue.won(self)

    def release(self):
        self.asking.send(self.queue.requests.release(self.token, self.who))


class Queue:
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
        queue = Queue(requests, server)
        before = server.spent()
        newcomers = [queue.newcomer() for _ in range(WAITERS)]
        connected = server.spent()
        began = time.perf_counter()
        queue.join(newcomers)
        took.append(time.perf_counter() - began)
        after = server.spent()
        connecting.append((connected[0] - before[0]) / WAITERS)
        work.append((after[0] - connected[0]) / WAITERS)
        delays.append(after[1] - connected[1])
        slow.append(longest([server], 3 * WAITERS))
        queue.close()
    cost = statistics.median(work)
    print(f"  in all                {statistics.median(took):9.2f} s    with the generator's work")
    print(f"  server CPU            {cost:9.0f} µs   each, {wanted(cost, 200)};"
          f" and {statistics.median(connecting):.0f} µs to connect")
    show_longest(slow, delays)


def handovers(requests, server):
    print(f"\nThe lock is handed over while waiters stand in the queue, {ROUNDS * BATCHES * BATCH} times each\n")
    work, scripts = {count: [] for count in LENGTHS}, {count: [] for count in LENGTHS}
    for _ in range(ROUNDS):
        for count in LENGTHS:
            queue = Queue(requests, server)
            for _ in range(BATCHES):
                missing = count + BATCH // 2 - queue.waiting
                queue.join([queue.newcomer() for _ in range(missing)])
                calls, before = server.scripts(), server.spent()[0]
                queue.hand_over(BATCH)
                work[count].append((server.spent()[0] - before) / BATCH)
                scripts[count].append((server.scripts() - calls) / BATCH)
            queue.close()
    print("  waiters   scripts   server CPU µs")
    for count in LENGTHS:
        print(f"  {count:7}   {statistics.mean(scripts[count]):7.2f}   {statistics.median(work[count]):13.0f}")
    for what, values in (("scripts", map(statistics.mean, scripts.values())),
                         ("server CPU", map(statistics.median, work.values()))):  # fmt: skip
        values = list(values)
        ratio = max(values) / min(values)
        print(f"  {what}: the most is {ratio:.2f} x the least, {wanted(ratio, 1.2)}")


def main():
    scripts, sockets, pids = sys.argv[1:4]
    requests = Requests(read_scripts(scripts))
    servers = [Server(urllib.parse.unquote(path), pid) for path, pid in zip(sockets.split(), map(int, pids.split()))]
    for server in servers:
        requests.load(server)
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
