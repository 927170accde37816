# SPDX-License-Identifier: MIT
"""slow_child.py LOG SECONDS: writes "pid PID" to LOG, and "beat TIME" (ms since boot) every 10 ms. A signal that asks it
to end makes it go on for SECONDS: it saves its data first."""
import os, signal, sys, time

log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
limit = time.monotonic() + 60


def told(number, frame):
    global limit
    os.write(log, f"told {signal.Signals(number).name[3:]}\n".encode())
    limit = min(limit, time.monotonic() + float(sys.argv[2]))


for name in "TERM HUP INT QUIT USR1 ALRM".split():
    signal.signal(getattr(signal, "SIG" + name), told)
os.write(log, f"pid {os.getpid()}\n".encode())
while time.monotonic() < limit:
    os.write(log, f"beat {time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000}\n".encode())
    time.sleep(0.01)
