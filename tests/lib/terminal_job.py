# SPDX-License-Identifier: MIT
"""terminal_job.py LOG [HABIT…]: a job that writes to LOG its PID, each signal it gets ("INT"), "beat
TIME" (ms since boot) every 10 ms, and ends with status 5 when LOG.end exists. Habits:
  lines       reads lines from standard input too, and writes "line TEXT", "eof" or "EIO"
  blocking    with lines: waits for them
  asked       reads one line when there is LOG.ask
  keys        puts the terminal in raw mode and writes "key CODE" for each; puts it back at the end
  noecho      switches echo off, and leaves it
  mortal      dies of INT, QUIT and TERM, by the signal
  stubborn    does not end at TERM
Otherwise TERM ends it with status 7."""
import os, select, signal, sys, termios, time, tty

path, habits = sys.argv[1], sys.argv[2:]
log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def say(*words):
    os.write(log, (" ".join(map(str, words)) + "\n").encode())


def told(number, frame):
    name = signal.Signals(number).name[3:]
    say(name)
    if name == "TERM" and "stubborn" not in habits:
        os._exit(7)


for name in """INT QUIT HUP TERM USR1 USR2 ALRM VTALRM PROF IO URG PWR XCPU XFSZ CONT
        WINCH""".split():
    if "mortal" in habits and name in ("INT", "QUIT", "TERM"):
        signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL)
    else:
        signal.signal(getattr(signal, "SIG" + name), told)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])

say("pid", os.getpid())
if "keys" in habits:
    before = termios.tcgetattr(0)
    tty.setraw(0)
if "noecho" in habits:
    modes = termios.tcgetattr(0)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSADRAIN, modes)
reads = "lines" in habits or "keys" in habits
# What select() has promised may be gone when it is read: Ctrl-C throws away what was typed, and a
# terminal that is asked in that very moment may say that there is something. Opened a second time, as
# O_NONBLOCK on descriptor 0 would be the shell's, too.
source = 0
if reads and "blocking" not in habits:
    source = os.open("/proc/self/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
say("ready")
while not os.path.exists(path + ".end"):
    say("beat", time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000)
    if "asked" in habits and os.path.exists(path + ".ask"):
        os.unlink(path + ".ask")
        say("line", os.read(0, 1024).decode().strip())
    if not reads:
        time.sleep(0.01)
        continue
    if source and not select.select([source], [], [], 0.01)[0]:
        continue
    try:
        data = os.read(source, 1024)
    except BlockingIOError:
        continue
    except OSError:
        say("EIO")
        reads = False
        continue
    if not data:
        say("eof")
        reads = False
    elif "keys" in habits:
        for code in data:
            say("key", code)
    else:
        for line in data.decode().splitlines():
            say("line", line)
if "keys" in habits:
    termios.tcsetattr(0, termios.TCSADRAIN, before)
say("end")
os._exit(5)
