# SPDX-License-Identifier: MIT
"""
beating_job.py LOG [STATUS] [WORD…]: a job that writes to LOG what happens to it, with the time in ms since 1970: "beat
TIME" every 10 ms; "TERM TIME" and the like at a signal, which ends it with STATUS, or 3; "end TIME" when LOG.end exists,
which ends it with STATUS, or 0. Each of its processes that beats begins with "pid PID".

stubborn    no signal that it writes down ends it
tree        with a stubborn grandchild in a session of its own, which does the same
name=NAME   its lines begin with NAME
below       runs as a grandchild in a session of its own, while the main process waits for LOG.end
orphan      the same, but the main process ends when LOG.orphan exists
renamed     has a name that looks like the rest of its line in /proc/PID/stat
headless    its main thread has ended, another one goes on
"""
import os
import signal
import sys
import time

path, words = sys.argv[1], sys.argv[2:]
numbers = [int(word) for word in words if word.isdigit()]
prefix = "".join(word[5:] + " " for word in words if word.startswith("name="))
log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def say(word, number=None):
    os.write(log, f"{prefix}{word} {number or time.time_ns() // 1000000}\n".encode())


def told(number, frame):
    say(signal.Signals(number).name[3:])
    if "stubborn" not in words:
        os._exit(numbers[0] if numbers else 3)


def wait_for(suffix):
    while not os.path.exists(path + suffix):
        time.sleep(0.01)


def beat():
    say("pid", os.getpid())
    while not os.path.exists(path + ".end"):
        say("beat")
        time.sleep(0.01)
    say("end")
    os._exit(numbers[0] if numbers else 0)


if "orphan" in words and os.fork():
    wait_for(".orphan")
    os._exit(0)
if "below" in words and os.fork():
    wait_for(".end")
    os._exit(0)
if "below" in words:
    os.setsid()
    if os.fork():
        signal.pause()
if "tree" in words and os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    words.append("stubborn")
if "renamed" in words:
    import ctypes
    ctypes.CDLL(None).prctl(15, b"x) Z 1 1 1 (y", 0, 0, 0)
if "headless" in words:
    import ctypes
    import threading
    threading.Thread(target=beat).start()
    ctypes.CDLL(None).pthread_exit(None)
for name in "TERM", "INT", "USR1":
    signal.signal(getattr(signal, "SIG" + name), told)
beat()
