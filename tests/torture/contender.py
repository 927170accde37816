# SPDX-License-Identifier: MIT
"""A contender: `redlock run` in a loop, each time with another kind of patience and another job."""
import asyncio
import os
import signal

import processes
from proxy import Line

CONFLICT = 7  # what -E is given


class Contender:
    def __init__(self, number, lock, world, rng, locks=()):
        self.number = number
        self.lock = lock
        self.others = [other for other in locks if other != lock]
        self.world = world
        self.rng = rng
        self.lines = [Line(server.socket, rng) for server in world.servers]
        self.environment = {}
        self.process = None
        self.in_trouble = False  # one fault at a time
        self.fate = None  # what ended it, if not redlock itself
        self.maimed = None  # the run whose worker was killed
        self.runs = 0
        self.run = ""  # the name of the present one
        self.stderr = open(self.words(), "ab")

    def words(self):
        """Where redlock's own words go."""
        return f"{self.world.directory}/redlock.{self.number}.err"

    async def connect(self):
        for line in self.lines:
            await line.start()
        self.know_servers(f"redis://127.0.0.1:{line.port}" for line in self.lines)

    def know_servers(self, uris):
        self.environment = processes.environment(REDLOCK_SERVERS=" ".join(uris))

    async def loop(self):
        while not self.world.ending:
            await self.run_once()
            await asyncio.sleep(self.rng.uniform(0, 0.3))

    def patience(self):
        kind = self.rng.random()
        if kind < 0.25:
            words = ["-n"]
        elif kind < 0.65:
            words = ["-w", f"{self.rng.uniform(0.2, 4):.2f}"]
        else:
            words = []  # without a limit
        return words + (["-E", str(CONFLICT)] if self.rng.random() < 0.3 else [])

    def job(self):
        """Most are short; some need several renewals, and some resist."""
        ttl = self.world.ttl * 1000
        kind = self.rng.random()
        if kind < self.world.options.long_jobs:
            length = self.rng.uniform(1.2 * ttl, 3 * ttl)
        elif self.rng.random() < 0.75:
            length = self.rng.uniform(5, 80)
        else:
            length = self.rng.uniform(80, 500)
        habits = ["ignore-term"] if self.rng.random() < 0.25 else []
        if self.rng.random() < 0.2:
            habits.append("child")
        return [self.world.job, self.world.directory, str(self.number), self.run, f"{length:.0f}", *habits]

    def also(self):
        """Some runs take all locks. On the command line their own lock comes first, so the orders differ."""
        if not self.others or self.rng.random() >= self.world.options.several:
            return []
        others = self.rng.sample(self.others, len(self.others))
        return [word for other in others for word in ("--also", other)]

    async def run_once(self):
        world = self.world
        patience = self.patience() + self.also()
        self.fate = None
        self.runs += 1
        self.run = f"{self.number}.{self.runs}"
        world.log("asks", self.number, self.lock, self.run, " ".join(patience) or "for ever")
        self.process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", "--", world.redlock, "run", "-vv",
            "--ttl", f"{world.ttl}s", "--restart-grace", f"{world.options.restart_grace}s",
            "--kill-after", f"{self.rng.uniform(0.05, world.ttl / 3 - 0.01):.2f}",
            *patience, self.lock, "--", *self.job(),
            stdin=asyncio.subprocess.DEVNULL, stdout=self.stderr, stderr=self.stderr,
            env=self.environment)  # fmt: skip
        status = await self.process.wait()
        if status < 0:
            status = 128 - status  # redlock ends by the signal that ended its job or its wait
        while self.in_trouble:  # whoever plays with it has more to log
            await asyncio.sleep(0.01)
        self.process = None
        world.log("left", self.number, self.lock, self.run, self.fate or status)

    # What can be done to it.

    def victims(self):
        """Whom a kill or a stop hits: redlock and its job together, as when a host dies or is
        suspended, or one of redlock's two processes alone. "both": those, and not the job."""
        kind = self.world.options.kill_clients
        if kind == "any":
            kind = self.rng.choice(("group", "top", "worker"))
        redlock = self.redlock()
        # A second failure must not follow upon the first. (If the worker is dead, the redlock of a further lock may
        # stand in its place.)
        if kind == "group" or len(redlock) < 2 or self.maimed == self.run:
            return "group", []
        return kind, {"top": redlock[:1], "worker": redlock[1:], "both": redlock}[kind]

    def redlock(self):
        """PIDs of the one on top and of its worker, if there is one."""
        top = self.process.pid
        program = processes.program(top)
        below = processes.families().get(top, [])
        return [top, *(pid for pid in below if processes.program(pid) == program)]

    def redlocks(self):
        """The same, and those of the further locks."""
        top = self.process.pid
        program = processes.program(top)
        return [top, *(pid for pid in processes.descendants(top) if processes.program(pid) == program)]

    async def stop(self, length):
        kind, victims = self.victims()
        if kind == "group":
            top, below = await self.freeze()
            await asyncio.sleep(length)
            return await self.thaw(top, below)
        for pid in victims:
            await processes.stop(pid)
        await asyncio.sleep(length)
        for pid in victims:
            if (stat := processes.stat_of(pid)) and stat[0] == "T":
                processes.send(pid, signal.SIGCONT)

    async def freeze(self):
        """Stops redlock and all below it; the job first, so that it never runs unwatched."""
        top = self.process.pid
        below = await processes.stop_below(top)
        await processes.stop(top)
        below |= await processes.stop_below(top)  # what it started since then
        self.world.log("frozen", self.number, self.lock, self.run)
        return top, below

    async def thaw(self, top, below):
        """Lets redlock look at its lease first, as its job must not run on one that is over."""
        redlock = self.redlocks()
        before = {pid: processes.sleeps(pid) for pid in redlock}
        self.world.log("thawing", self.number, self.lock, self.run)
        for pid in redlock:
            processes.send(pid, signal.SIGCONT)
        for pid in redlock:
            while 0 < processes.sleeps(pid) <= before[pid]:
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.1)
        self.world.log("thawed", self.number, self.lock, self.run)
        for process in below:
            if (stat := processes.stat_of(process)) and stat[0] == "T":
                processes.send(process, signal.SIGCONT)

    async def kill(self):
        kind, victims = self.victims()
        if kind == "group":
            self.fate = "killed"
            top, below = await self.freeze()
            victims = [top, *below]
        elif kind == "worker":
            self.maimed = self.run
            self.world.log("maimed", self.number, self.lock, self.run)
        else:
            self.fate = "orphaned"
        for pid in victims:
            processes.send(pid, signal.SIGKILL)
        for pid in victims:
            await processes.gone(pid)
        if kind == "group":
            self.world.log("killed", self.number, self.lock, self.run)

    def terminate(self):
        processes.send(self.process.pid, signal.SIGTERM)

    async def give_up(self):
        """After the end: still there means stuck."""
        if self.process is None:
            return
        self.world.log("stuck", self.number, self.lock, self.run)
        for pid in (*processes.descendants(self.process.pid), self.process.pid):
            processes.send(pid, signal.SIGKILL)

    def close(self):
        for line in self.lines:
            line.stop()
        self.stderr.close()
        if os.path.isfile(self.stderr.name) and os.path.getsize(self.stderr.name) == 0:
            os.unlink(self.stderr.name)
