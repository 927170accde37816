# SPDX-License-Identifier: MIT
"""For scenarios about signals (terminal.py has the words of a scenario): redlock with a job that notes every signal."""
import fcntl
import pathlib
import shlex
import signal
import socket
import subprocess

from terminal import *

RECEIVING_JOB = [sys.executable, "-SEI", str(pathlib.Path(__file__).with_name("receiving_job.py"))]


class Receiver:
    """redlock and its job, on a terminal below a shell with job control or without any terminal; `start`
    are words to start redlock with."""
    made = 0

    def __init__(self, on_terminal=False, start=(), options=(), stderr=None, command='"$@"', logs=1):
        Receiver.made += 1
        self.logs = [Log(f"{os.environ['SCRATCH']}/received.{Receiver.made}.{i}") for i in range(logs)]
        self.log = self.logs[0]
        words = [*start, os.environ["REDLOCK"], "run", *options, f"L{Receiver.made}", "--", *RECEIVING_JOB,
                 *(log.path for log in self.logs)]
        if on_terminal:
            self.at = Terminal(["bash", "-mc", command + "; exit $?", "sh", *words])
        else:
            self.child = subprocess.Popen(["setsid", "env", "--default-signal", *words],
                                          stdin=subprocess.DEVNULL, stderr=stderr)
        self.log.wait("ready")
        self.job = self.log.process()
        self.top = self.job.parent().parent()

    def received(self, number):
        return self.log.count(str(int(number)))

    def wait(self, number, times=1):
        self.log.wait(str(int(number)), times)

    def waited(self):
        """How long, in ms, redlock and its job have waited for a processor until now."""
        return sum(Process(pid).waited() for pid in [self.top.pid, *descendants(self.top.pid)])

    def end(self):
        self.job.kill("SEGV")
        until("its end", self.top.gone)
