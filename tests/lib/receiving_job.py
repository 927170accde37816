# SPDX-License-Identifier: MIT
"""
receiving_job.py LOG [LOG_OF_CHILD]: a job that writes the number of each signal it gets to LOG, and ends at a SEGV, which
redlock does not pass on. With LOG_OF_CHILD, a child in a session of its own does the same with that file.
"""
import os
import signal
import sys

every = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}
signal.pthread_sigmask(signal.SIG_BLOCK, every)
ours = 1
if len(sys.argv) > 2 and os.fork() == 0:
    os.setsid()
    ours = 2
log = os.open(sys.argv[ours], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(log, b"pid %d\nready\n" % os.getpid())
while (number := signal.sigwaitinfo(every).si_signo) != signal.SIGSEGV:
    os.write(log, b"%d\n" % number)
