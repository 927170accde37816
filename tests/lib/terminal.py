# SPDX-License-Identifier: MIT
"""Somebody at a terminal: runs a command (an interactive shell, as a rule) on a pseudo-terminal in a
session of its own, types, and looks at what a user would see and at its processes.

    at = Terminal("bash")
    job = Job().typed(at)
    at.stop()
    assert job.process.stopped()

Every wait has a bound and says what it waited for; a failure shows what all processes are at. Whatever
was started is killed at the end: this process is a subreaper, so nobody escapes it."""

import atexit, codecs, ctypes, fcntl, os, pty, re, select, signal, socket, struct, sys, termios, time
import unicodedata

from processes import Process, descendants, plights

CTRL_C, CTRL_Z, CTRL_BACKSLASH = "\x03", "\x1a", "\x1c"
BOUND = 20  # seconds any wait may take
PROMPT = "READY> "
SHELLS = {
    # Without line editing a shell leaves the terminal's modes as they are: echo is what it looks.
    "bash": ["bash", "--norc", "--noediting", "-i"],
    "dash": ["dash", "-i"],
}

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def until(what, condition, bound=BOUND):
    deadline = time.monotonic() + bound
    while True:
        # One more look after it: a machine that stood still has not decided anything.
        over = time.monotonic() > deadline
        result = condition()
        if result:
            return result
        if over:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.01)


def explain(kind, error, trace):
    """A failure, and what there was to see when it came."""
    sys.__excepthook__(kind, error, trace)
    sys.stderr.write(plights(os.getpid()))
    for part in Log.opened + Terminal.opened:
        sys.stderr.write(f"  {part}\n")


def take_too_long(number, frame):
    raise AssertionError("this takes too long")


sys.excepthook = explain
signal.signal(signal.SIGTERM, take_too_long)


def boot_ms():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000


class Log:
    """What terminal_job.py writes: "word" or "word time" by line."""

    opened = []

    def __init__(self, path):
        self.path = path
        Log.opened.append(self)

    def __str__(self):
        words = " ".join(line[0] for line in self.lines() if line[0] != "beat")
        return f"{self.path}: {words}; last beat {boot_ms() - self.last_beat()} ms ago"

    def lines(self):
        try:
            with open(self.path) as file:
                return [line.split() for line in file.read().splitlines() if line]
        except FileNotFoundError:
            return []

    def count(self, word):
        return sum(line[0] == word for line in self.lines())

    def wait(self, word, times=1):
        until(f"{word} in {self.path}", lambda: self.count(word) >= times)

    def value(self, word):
        self.wait(word)
        return next(line[1] for line in self.lines() if line[0] == word)

    def process(self):
        return Process(int(self.value("pid")))

    def last_beat(self):
        return max((int(line[1]) for line in self.lines() if line[0] == "beat"), default=0)

    def wait_beat(self):
        """Until the job has run on after this moment."""
        now = boot_ms()
        until("the job runs", lambda: self.last_beat() > now)

    def ask(self):
        """Lets a job that has the habit "asked" read a line."""
        with open(self.path + ".ask", "w"):
            pass

    def end(self):
        """Lets the job end."""
        with open(self.path + ".end", "w"):
            pass


def resize(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def screen(text, columns):
    """The lines that a terminal of that width shows after `text`: no more than a carriage return, a
    backspace and a new line mean anything to it."""
    rows, row, column = [[]], 0, 0
    for character in text:
        if character == "\r":
            column = 0
        elif character == "\b":
            column = max(column - 1, 0)
        elif character == "\n":
            row += 1
            rows += [[]] * (row == len(rows))
        else:
            assert character.isprintable(), f"{character!r} in {text!r}"
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if column + width > columns:
                row, column = row + 1, 0
                rows += [[]] * (row == len(rows))
            line = rows[row]
            line += [" "] * (column + width - len(line))
            line[column:column + width] = [character] + [""] * (width - 1)
            column += width
    return ["".join(line).rstrip() for line in rows]


class Terminal:
    opened = []

    def __init__(self, command, columns=0, **environment):
        """command: the name of a shell, which is waited for, or the words of a command. columns: how
        wide the terminal is; 0: it does not know."""
        self.columns = columns
        self.decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        shell = isinstance(command, str)
        self.seen = ""  # since the last type()
        self.all = ""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            resize(0, columns)
            words = SHELLS[command] if shell else command
            os.environ.update(PS1=PROMPT, ENV="", HISTFILE="", TERM="dumb", **environment)
            # Python ignores some for itself, a shell in the background others for us, and nohup HUP.
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
            os.execvp(words[0], words)
        self.leader = Process(self.pid)
        self.shell = shell
        Terminal.opened.append(self)
        if shell:
            self.prompt()

    def __str__(self):
        return f"terminal of {self.pid}: foreground {self.foreground()}, shown {self.all[-300:]!r}"

    def has_begun(self):
        """A shell has started all commands of the last line. Its child ignores Ctrl-Z until it becomes one of them."""
        return self.leader.state() != "R" and not any(
            child.group() == self.foreground() and child.command_line() == self.leader.command_line()
            and child.ignores("TSTP") for child in self.leader.children())

    def type(self, text):
        if self.shell and text in (CTRL_C, CTRL_Z, CTRL_BACKSLASH):
            until("the shell has started its commands", self.has_begun)
        self._take(0)
        self.seen = ""
        os.write(self.master, text.encode())

    def _take(self, patience):
        while select.select([self.master], [], [], patience)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:  # nobody is at the other end
                data = b""
            if not data:
                time.sleep(patience)
                return
            text = self.decode(data)
            self.seen += text
            self.all += text
            patience = 0

    def shows(self):
        """What stands on its screen now, all that has scrolled off included."""
        self._take(0)
        return screen(self.all, self.columns)

    def resize(self, columns):
        self.columns = columns
        resize(self.master, columns)

    def until_line(self, pattern, line=-1):
        """Until a line, the last one if nothing else is said, is as it is wanted; returns the match."""
        return until(f"line /{pattern}/", lambda: re.fullmatch(pattern, self.shows()[line]))

    def expect(self, pattern):
        """Until it was shown since the last type(); returns the match."""
        def shown():
            self._take(0.01)
            return re.search(pattern, self.seen)
        return until(f"/{pattern}/", shown)

    def prompt(self):
        """Until the shell asks for the next command, having the terminal for itself."""
        self.expect(re.escape(PROMPT))
        until("the shell in the foreground", lambda: self.foreground() == self.pid)

    def back(self, status=None):
        """Until the shell asks for the next command, all in order; with that status of the last one."""
        self.prompt()
        self.in_order()
        assert status is None or self.status() == status, f"status not {status}"

    def stop(self):
        """Ctrl-Z, and the shell asks for the next command."""
        self.type(CTRL_Z)
        self.prompt()

    def run(self, command):
        """Types a command that ends by itself; returns what it showed."""
        self.type(command + "\n")
        self.prompt()
        return self.seen.partition("\n")[2].rpartition(PROMPT)[0].replace("\r", "")

    def status(self):
        """Of the last command."""
        return int(re.search(r"status=(\d+)", self.run("echo status=$?")).group(1))

    def foreground(self):
        try:
            return os.tcgetpgrp(self.master)
        except OSError:
            return -1

    def local_modes(self):
        return termios.tcgetattr(self.master)[3]

    def echoes(self):
        return bool(self.local_modes() & termios.ECHO)

    def in_order(self):
        """The shell has the terminal, and it echoes and reads lines."""
        assert self.foreground() == self.pid, f"{self.foreground()} has the foreground"
        wanted = termios.ECHO | termios.ICANON | termios.ISIG
        assert self.local_modes() & wanted == wanted, f"modes {self.local_modes():o}"

    def hang_up(self):
        Terminal.opened.remove(self)
        os.close(self.master)

    def ended(self):
        """Until the command itself has ended; returns its status, 128 + n for a signal."""
        def fetched():
            self._take(0)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return pid and (status,)
        code = os.waitstatus_to_exitcode(until("the command's end", fetched)[0])
        self._take(0)  # what it wrote last
        return 128 - code if code < 0 else code


def each_shell():
    """Yields a terminal for each shell of SHELLS."""
    for shell in SHELLS:
        yield Terminal(shell)


def redis(*words, server="A"):
    """One command to a server; returns its answer's first line."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(BOUND)
        connection.connect(os.environ[f"{server}_SOCKET"])
        connection.sendall((" ".join(words) + "\r\n").encode())
        return connection.recv(4096).decode().split("\r\n")[0]


def everywhere(*words):
    """The same command to the servers A, B and C."""
    for server in "A", "B", "C":
        answer = redis(*words, server=server)
        assert not answer.startswith("-"), answer


def held(name):
    return redis("exists", name) == ":1"


def escaped(path):
    """As a word of a command line. Backslashes also work within quotes, for a shell below this one."""
    return re.sub(r"([^\w/.-])", r"\\\1", path)


class Job:
    """terminal_job.py, started by typing at a shell, under a wrapper."""

    REDLOCK = '"$REDLOCK" run $OPTIONS L --'
    FLOCK = 'flock "$SCRATCH/file"'
    made = 0

    def __init__(self, habits="", wrapper=REDLOCK):
        Job.made += 1
        self.log = Log(f"{os.environ['SCRATCH']}/job.{Job.made}")
        here = os.path.dirname(os.path.abspath(__file__))
        self.words = (f"{wrapper} /usr/bin/python3 -SEI {escaped(here)}/terminal_job.py {escaped(self.log.path)} "
                      f"{habits}")

    def typed(self, at, form="%s"):
        """form: how the command line looks around the job, "a | %s &" for instance."""
        at.type(form % self.words + "\n")
        return self.started()

    def foreground(self, at):
        """Types fg, and returns when the job goes on."""
        at.type("fg\n")
        self.log.wait_beat()

    def started(self):
        self.log.wait("ready")
        self.process = self.log.process()
        self.worker = self.process.parent()
        self.supervisor = self.worker.parent()
        return self


def end_all():
    """Kills whatever is left of what was started, and waits for its death."""
    deadline = time.monotonic() + BOUND
    while time.monotonic() < deadline:
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


atexit.register(end_all)
