# SPDX-License-Identifier: MIT
"""Processes as torture needs them: time, trees, stopping for certain, leaving none."""
import asyncio
import ctypes
import os
import signal
import time

PR_SET_CHILD_SUBREAPER = 36


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def environment(**variables):
    """Ours, without what redlock reads, and with these."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith(("REDLOCK_", "REDISCLI_"))}
    return {**ours, **variables}


def adopt_orphans():
    """From now on every process started below us stays below us, so that sweep() finds it."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def stat_of(pid):
    """(state, parent) of a process, or None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as stat:
            state, parent = stat.read().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return state, int(parent)


def program(pid):
    """What the process runs, or None if it is gone."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except (FileNotFoundError, ProcessLookupError):
        return None


def families():
    """{parent: its living children}, of all processes."""
    children = {}
    for name in os.listdir("/proc"):
        stat = stat_of(name) if name.isdigit() else None
        if stat and stat[0] not in "ZX":
            children.setdefault(stat[1], []).append(int(name))
    return children


def descendants(root):
    """PIDs of all living processes below `root`."""
    children = families()
    found = []
    to_visit = [root]
    while to_visit:
        below = children.get(to_visit.pop(), [])
        found += below
        to_visit += below
    return found


def send(pid, number):
    """Signals a process that may have ended; True if it was there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


async def stop(pid):
    """SIGSTOP; returns when the process has stopped or is dead."""
    if not send(pid, signal.SIGSTOP):
        return
    while (stat := stat_of(pid)) and stat[0] not in "TtZX":
        await asyncio.sleep(0.001)


async def stop_below(root):
    """Stops every process below `root`; returns their PIDs."""
    stopped = set()
    while new := set(descendants(root)) - stopped:
        for pid in new:
            await stop(pid)
        stopped |= new
    return stopped


async def until(done, bound):
    """Whether done() became true within `bound` seconds."""
    deadline = time.monotonic() + bound
    while not done():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True


async def gone(pid):
    """Waits until a process is dead (a zombie is)."""
    if not await until(lambda: not (stat := stat_of(pid)) or stat[0] in "ZX", 10):
        raise TimeoutError(f"process {pid} does not die")


def sleeps(pid):
    """How often the process has gone to sleep by itself so far, 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="latin-1") as status:
            lines = [line for line in status if line.startswith("voluntary_ctxt_switches")]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(lines[0].split()[1]) if lines else 0


def sweep():
    """Kills and reaps all that is left below us."""
    while True:
        for pid in descendants(os.getpid()):
            send(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
