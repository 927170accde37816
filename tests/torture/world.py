# SPDX-License-Identifier: MIT
"""What torture and soak share: the world of a run with its logs, and its frame from start to verdict."""
import argparse
import asyncio
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile

import processes
from servers import Server

HERE = os.path.dirname(os.path.abspath(__file__))
STALL = 250_000_000  # nanoseconds without a turn of our own
SOURCE = os.path.dirname(os.path.dirname(HERE))


class World:
    """What the parts share: settings, the servers, the contenders, the logs.

    Who makes one adds the contenders, which need the world.
    """

    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.redlock = os.path.abspath(options.redlock)
        self.job = f"{HERE}/job"
        self.ttl = options.ttl
        self.ending = False
        self.runs = self.open_log("runs.log")
        self.events = self.open_log("events.log")
        self.servers = [Server(i, directory) for i in range(options.servers)]
        self.contenders = []

    def open_log(self, name):
        return open(f"{self.directory}/{name}", "a", buffering=1, encoding="utf-8")

    def rng(self, part):
        """Each part has its own, so that none depends on when another is asked."""
        return random.Random(f"{self.options.seed}/{part}")

    def log(self, word, *more):
        """A line for the checker."""
        print(word, processes.boot_ns(), *more, file=self.runs)

    def tell(self, text):
        """A line for whoever looks into a failure."""
        print(processes.boot_ns(), text, file=self.events)

    async def begin(self):
        for server in self.servers:
            await server.start()
        for contender in self.contenders:
            await contender.connect()

    async def suffer(self, chaos, faults, bound, watches=()):
        """Faults happen until the time is over. Then everything is in order again, and every redlock must come back
        within `bound` seconds."""
        watches = [asyncio.create_task(watch) for watch in (self.notice_stalls(), *watches)]
        loops = [asyncio.create_task(contender.loop()) for contender in self.contenders]
        trouble = asyncio.create_task(chaos.loop(faults, self.options.pace))
        ended, _ = await asyncio.wait(
            [trouble, *watches, *loops], timeout=self.options.seconds, return_when="FIRST_EXCEPTION")  # fmt: skip
        for task in ended:
            task.result()
        trouble.cancel()
        await chaos.finish()
        self.ending = True
        open(f"{self.directory}/ending", "w").close()
        self.tell("ending")
        await asyncio.wait(loops, timeout=bound)
        for contender in self.contenders:
            await contender.give_up()
        await asyncio.gather(*loops)
        for contender in self.contenders:
            contender.close()
        for watch in watches:
            watch.cancel()

    async def notice_stalls(self):
        """Whenever this very process does not get to run for a while, others will not either."""
        with self.open_log("stalls.log") as log:
            before = processes.boot_ns()
            while True:
                await asyncio.sleep(0.01)
                now = processes.boot_ns()
                if now - before > STALL:
                    print("stall", before, now, file=log)
                before = now

    async def close(self):
        """Lists what is left on the servers, and ends them."""
        with open(f"{self.directory}/keys.log", "w", encoding="utf-8") as log:
            for server in self.servers:
                keys = await server.keys()
                print("listed", server.number, len(keys), file=log)
                for ttl, key in keys:
                    print("key", server.number, ttl, key, file=log)
                await server.kill()


def duration(text):
    """Seconds from 1.5, 500ms, 1s, 2m."""
    for unit, factor in (("ms", 0.001), ("s", 1), ("m", 60)):
        if text.endswith(unit):
            return float(text[: -len(unit)]) * factor
    return float(text)


class Parser(argparse.ArgumentParser):
    """With the options that both have."""

    def __init__(self, name, about):
        super().__init__(prog=name, description=about.splitlines()[0], allow_abbrev=False)
        self.add_argument("--seconds", type=duration, default=60, metavar="S", help="how long (60)")
        self.add_argument("--seed", default="1", metavar="X")
        self.add_argument(
            "--redlock", default=os.environ.get("REDLOCK") or f"{SOURCE}/build/release/redlock",
            metavar="FILE", help="($REDLOCK, or build/release/redlock)")
        self.add_argument("--keep", action="store_true", help="keep the logs in any case")

    def parse(self):
        options = self.parse_args()
        if not os.access(options.redlock, os.X_OK):
            self.error(f"no program {options.redlock}: build it, or name it with --redlock")
        return options


def judge(name, options, who, done, directory):
    """Prints the figures of a run; the exit status. `done`: how often each fault happened."""
    verdict = subprocess.run([f"{HERE}/check", directory], stdout=subprocess.PIPE, text=True, check=False)
    faults = ", ".join(f"{count} {fault}" for fault, count in sorted(done.items())) or "no faults"
    print(f"{name}: {options.servers} servers, {who}, seed {options.seed}, {options.seconds:g} s:"
          f" {verdict.stdout.strip()}; {faults}")  # fmt: skip
    return verdict.returncode


def finish(work):
    """Runs the coroutine to its end, and leaves no process."""
    if sys.version_info < (3, 12):  # later ones do so by themselves: no thread for each child
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    try:
        return asyncio.run(work)
    finally:
        processes.sweep()


def main(name, parse, run):
    """The exit status of the program. run(options, directory) prints the figures and returns the verdict."""
    try:
        options = parse()
    except SystemExit as usage:
        return 64 if usage.code else 0
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # writing to what was cut is no news
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(2))
    processes.adopt_orphans()
    directory = tempfile.mkdtemp(prefix=f"redlock-{name}.")
    status = 2
    try:
        status = run(options, directory)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
    except (OSError, RuntimeError) as error:
        print(f"{name}: {error}", file=sys.stderr)
    finally:
        if status in (1, 2) or options.keep:
            print(f"{name}: the logs are in {directory}", file=sys.stderr)
        else:
            shutil.rmtree(directory)
    return status
