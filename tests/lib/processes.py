# SPDX-License-Identifier: MIT
"""Processes as /proc shows them.

    processes.py PID...     what all below these are at, for a test that waits in vain"""

import os, re, signal, sys


class Process:
    def __init__(self, pid):
        self.pid = pid

    def _stat(self):
        try:
            with open(f"/proc/{self.pid}/stat") as file:
                return file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return ["gone", "0", "0", "0"]

    def state(self):
        """R, S, T… as in ps(1); "gone" for a zombie, too."""
        state = self._stat()[0]
        return "gone" if state in "ZX" else state

    def stopped(self):
        return self.state() == "T"

    def running(self):
        return self.state() in ("R", "S", "D")

    def gone(self):
        return self.state() == "gone"

    def parent(self):
        return Process(int(self._stat()[1]))

    def group(self):
        return int(self._stat()[2])

    def session(self):
        return int(self._stat()[3])

    def kill(self, name):
        os.kill(self.pid, getattr(signal, "SIG" + name))

    def _read(self, name):
        try:
            with open(f"/proc/{self.pid}/{name}", errors="replace") as file:
                return file.read()
        except OSError:  # it is gone, or not ours to look at
            return ""

    def children(self):
        return [Process(int(pid)) for pid in self._read(f"task/{self.pid}/children").split()]

    def waited(self):
        """For how many ms it was ready to run and had no processor; without end if the kernel does not count."""
        fields = self._read("schedstat").split()
        return int(fields[1]) / 1e6 if fields else float("inf")

    def command_line(self):
        return self._read("cmdline")

    def ignores(self, name):
        """If it ignores that signal."""
        ignored = re.search(r"^SigIgn:\s*(\w+)", self._read("status"), re.MULTILINE)
        return bool(ignored and int(ignored.group(1), 16) >> (getattr(signal, "SIG" + name) - 1) & 1)

    def plight(self):
        """One line: what it is, what it waits for, and what it makes of which signals (in hexadecimal)."""
        state, parent, group, session = self._stat()[:4]
        words = [f"pid {self.pid} ppid {parent} pgrp {group} session {session} {state}"]
        # The number of the system call and its first argument, and where in the kernel that is.
        words += ["syscall", *self._read("syscall").split()[:2], self._read("wchan")]
        for line in self._read("status").splitlines():
            name, _, value = line.partition(":")
            if name in ("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"):
                words.append(f"{name} {int(value, 16):x}")
        return " ".join([*words, self._read("cmdline").replace("\0", " ").strip()[-120:]])


def descendants(pid):
    """All below a process, zombies too."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        process = Process(int(entry))
        children.setdefault(process.parent().pid, []).append(process.pid)
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def plights(pid):
    """All below a process, by line; the dead on one."""
    below = [Process(one) for one in sorted(descendants(pid))]
    dead = " ".join(f"{process.pid} of {process.parent().pid}" for process in below if process.gone())
    living = "".join(f"  {process.plight()}\n" for process in below if not process.gone())
    return living + (f"  zombies: {dead}\n" if dead else "")


if __name__ == "__main__":
    for root in sys.argv[1:]:
        print(plights(int(root)), end="")
