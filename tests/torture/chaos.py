# SPDX-License-Identifier: MIT
"""The faults, chosen from the seed, and what the lock's assumptions forbid them to do.

redlock assumes that no quorum of servers forgets within one lease (--restart-grace being at least
the ttl). All else is allowed: every server dead, stopped or cut off at the same time, too.
"""
import asyncio
import time

import processes
from proxy import TO_CLIENT, TO_SERVER


class Chaos:
    def __init__(self, world, rng):
        self.world = world
        self.rng = rng
        self.forgotten = []  # when a server was killed and its data removed
        self.done = {}
        self.running = set()
        servers, clients = world.servers, world.contenders
        # name: (how often, of whom one is chosen, what to do)
        self.faults = {
            "server-killed": (3, servers, self.kill_server),
            "server-emptied": (4, servers, self.empty_server),
            "server-stopped": (3, servers, self.stop_server),
            "server-slow": (1, servers, self.slow_server),
            "server-cut-off": (2, servers, self.cut_off_server),
            "client-killed": (3, clients, self.kill_client),
            "client-stopped": (3, clients, self.stop_client),
            "client-terminated": (1, clients, self.terminate_client),
            "client-slow": (2, clients, self.slow_client),
            "client-cut-off": (8, clients, self.cut_off_client),
            "lock-revoked": (2, clients, self.revoke_lock),
        }

    async def loop(self, chosen, pace):
        """A fault every `pace` seconds on average, each going on beside the others."""
        weights = [self.faults[name][0] for name in chosen]
        while chosen:
            await asyncio.sleep(self.rng.expovariate(1 / pace))
            (name,) = self.rng.choices(chosen, weights)
            _, victims, do = self.faults[name]
            victim = self.choose(victims)
            length = self.length()
            if victim.in_trouble:
                continue
            task = asyncio.create_task(self.inflict(name, victim, do, length))
            self.running.add(task)
            task.add_done_callback(self.running.discard)

    async def finish(self):
        """Until every fault under way is over; what one of them found wrong is raised here."""
        await asyncio.gather(*self.running)

    def choose(self, victims):
        """Mostly those that hold a lock: what befalls who waits is seldom of consequence."""
        if victims is self.world.contenders and self.rng.random() < 0.7:
            parents = processes.families()
            holders = [c for c in victims if c.process is not None and c.process.pid in parents]
            victims = holders or victims
        return victims[int(self.rng.random() * len(victims))]

    async def inflict(self, name, victim, do, length):
        victim.in_trouble = True
        try:
            self.world.tell(f"{name} {victim.number} {length:.2f}")
            if await do(victim, length) is not False:
                self.done[name] = self.done.get(name, 0) + 1
                self.world.tell(f"{name} {victim.number} over")
        finally:
            victim.in_trouble = False

    def length(self):
        """Short, about a ttl, or long, in seconds."""
        ttl = self.world.ttl
        bounds = self.rng.choices(((0.02, 0.3), (0.3 * ttl, 1.5 * ttl), (1.5 * ttl, 3 * ttl)), (5, 4, 1))
        return self.rng.uniform(*bounds[0])

    # Servers.

    async def kill_server(self, server, length):
        await server.kill()
        await asyncio.sleep(length)
        await server.start()

    async def empty_server(self, server, length):
        if not self.may_forget():
            return False
        self.forgotten.append(time.monotonic())
        await server.kill()
        server.forget()
        await asyncio.sleep(length / 2)
        await server.start()

    def may_forget(self):
        """Within one lease at most N - quorum servers may, which is none of one and of two."""
        lease = 1.1 * self.world.ttl
        recent = [when for when in self.forgotten if when > time.monotonic() - lease]
        count = len(self.world.servers)
        return len(recent) < count - (count // 2 + 1)

    async def stop_server(self, server, length):
        await server.pause()
        await asyncio.sleep(length)
        server.resume()

    # Lines: all to one server, or some of one client's, which leaves the others to take its lock.

    async def slow_server(self, server, length):
        await self.delay(self.lines_to(server), 2 * length)

    async def cut_off_server(self, server, length):
        await self.cut_off(self.lines_to(server), length)

    async def slow_client(self, client, length):
        await self.delay(self.some_lines_of(client), 2 * length)

    async def cut_off_client(self, client, length):
        """Mostly for a ttl and more, so that another may well have its lock then."""
        if self.rng.random() < 0.7:
            length = self.rng.uniform(0.9, 3) * self.world.ttl
        await self.cut_off(self.some_lines_of(client), length)

    def lines_to(self, server):
        return [contender.lines[server.number] for contender in self.world.contenders]

    def some_lines_of(self, client):
        """Any number, rather more than less."""
        count = max(self.rng.randint(1, len(client.lines)) for _ in range(2))
        return self.rng.sample(client.lines, count)

    async def delay(self, lines, length):
        most = self.rng.choice((0.01, 0.05, 0.15, 0.5))
        for line in lines:
            line.delay = (most / 3, most)
        await asyncio.sleep(length)
        for line in lines:
            line.heal()

    async def cut_off(self, lines, length):
        """A moment's cut, refused connections, half-open ones, or one direction lost. Afterwards
        either all that was held arrives at last, or those connections are dead."""
        kind = self.rng.choice(("cut", "refuse", "half-open", "one way", "one way"))
        directions = (TO_SERVER, TO_CLIENT)
        if kind == "one way":
            directions = (self.rng.choice(directions),)
        dead_afterwards = self.rng.random() < 0.4
        self.world.tell(f"{kind} {directions} of {len(lines)} lines, {length:.2f}")
        for line in lines:
            if kind in ("cut", "refuse"):
                line.refusing = kind == "refuse"
                line.cut()
            else:
                line.hold(*directions)
        if kind != "cut":
            await asyncio.sleep(length)
        for line in lines:
            if dead_afterwards:
                line.cut()
            line.heal()

    # Clients.

    async def kill_client(self, client, _length):
        if client.process is None:
            return False
        await client.kill()

    async def stop_client(self, client, length):
        if client.process is None:
            return False
        await client.stop(length)

    async def terminate_client(self, client, _length):
        if client.process is None:
            return False
        client.terminate()

    async def revoke_lock(self, client, _length):
        """Somebody with this client's lines takes its lock from whoever holds it, mostly from it."""
        process = await asyncio.create_subprocess_exec(
            self.world.redlock, "release", "--force", "--yes", "--quiet", client.lock,
            stdin=asyncio.subprocess.DEVNULL, stdout=client.stderr, stderr=client.stderr,
            env=client.environment)  # fmt: skip
        await process.wait()
