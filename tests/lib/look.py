# SPDX-License-Identifier: MIT
"""look.py: what a process finds around itself, one item a line: all that it inherits. For
tests/job/transparent.bats, which compares what a job sees under redlock and without."""
import ctypes, fcntl, os, resource, signal

libc = ctypes.CDLL(None)
me = "/proc/self/"


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError as error:
        return f"({error.strerror})"


def say(name, value):
    print(f"{name}\t{value!r}")


# Looked at before anything is opened: the listing's own descriptor is not there any more.
for fd in [int(name) for name in os.listdir(me + "fd")]:
    try:
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        where = os.readlink(f"{me}fd/{fd}")
        offset = [line for line in read(f"{me}fdinfo/{fd}").split("\n") if line.startswith("pos")]
        say(f"descriptor {fd}", (where, oct(flags), fcntl.fcntl(fd, fcntl.F_GETFD), offset))
    except OSError:
        pass

wanted = """Umask TracerPid Uid Gid Groups NoNewPrivs Seccomp Seccomp_filters CoreDumping THP_enabled
SigPnd ShdPnd SigBlk SigIgn SigCgt CapInh CapPrm CapEff CapBnd CapAmb Cpus_allowed_list
Mems_allowed_list Speculation_Store_Bypass SpeculationIndirectBranch""".split()
for line in read(me + "status").splitlines():
    name, _, value = line.partition(":")
    if name in wanted:
        say(name, value.strip())
for name in sorted(dir(resource)):
    if name.startswith("RLIMIT_"):
        say(name, resource.getrlimit(getattr(resource, name)))
for name in "cwd", "root":
    say(name, os.readlink(me + name))
for name in "oom_score_adj", "personality", "timerslack_ns", "coredump_filter", "loginuid", "cgroup":
    say(name, read(me + name).strip())
say("nice", os.getpriority(os.PRIO_PROCESS, 0))
say("scheduling", (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority))
say("io priority", libc.syscall(252, 1, 0))  # ioprio_get(IOPRIO_WHO_PROCESS, ourselves)
say("affinity", sorted(os.sched_getaffinity(0)))
say("session", os.getsid(0))
try:
    terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    say("terminal, and is it in the foreground", os.tcgetpgrp(terminal) == os.getpgrp())
except OSError as error:
    say("terminal", error.strerror)
say("namespaces", [os.readlink(me + "ns/" + name) for name in sorted(os.listdir(me + "ns"))])
value = ctypes.c_int(0)
for name, number in ("pdeathsig", 2), ("child subreaper", 37):
    libc.prctl(number, ctypes.byref(value), 0, 0, 0)
    say(name, value.value)
for name, number in ("dumpable", 3), ("keepcaps", 7), ("securebits", 27), ("machine check", 34):
    say(name, libc.prctl(number, 0, 0, 0, 0))
say("timers", [signal.getitimer(which) for which in (0, 1, 2)])
for entry in sorted(read(me + "environ").split("\0")):
    name = entry.partition("=")[0]
    if name not in ("REDLOCK_NAME", "REDLOCK_TOKEN", "REDLOCK_FENCE", "REDLOCK_FENCES", "REDLOCK_HELD", "_"):
        say("environment", entry)
