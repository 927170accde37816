# SPDX-License-Identifier: MIT
"""
nothing_left.py run REPORT COMMAND…
nothing_left.py places FILE
nothing_left.py compare FILE MARK REPORT [FOLDER…]

Finds processes and files that tests leave, and does not mistake those of other work on the machine for them.

run       runs COMMAND as its only parent: orphans become children of this program, whatever their environment or session.
          Writes those that still run ten seconds after COMMAND's end to REPORT, and kills them. Ends with COMMAND's status.
places    writes to FILE what is in the folders that everyone shares: /tmp, /var/tmp, /run, /dev/shm, the user's home.
compare   appends to REPORT what the tests have left: everything in each FOLDER, which only the tests use, except .cache,
          where compilers and others keep what they want to find again; in the shared
          folders, each file newer than FILE that belongs to this user, and has MARK in its name or text; in /run also
          the file of a process that has ended. Prints what else is new there: other work may have left it.
"""
import ctypes
import json
import os
import pathlib
import pwd
import signal
import subprocess
import sys
import time

SHARED = ["/tmp", "/var/tmp", "/run", "/dev/shm", pwd.getpwuid(os.getuid()).pw_dir]
PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 10  # seconds until a process that is about to end has ended
SHOWN = 8


def children_of(pid):
    try:
        tasks = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def descendants_of(pid):
    found = []
    for child in children_of(pid):
        found += [child, *descendants_of(child)]
    return found


def described(pid):
    """The command of a process, and the test that started it."""
    try:
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
        variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    test = [value.split(b"=", 1)[1] for value in variables
            if value.startswith((b"BATS_TEST_FILENAME=", b"BATS_TEST_NAME="))]
    return b" ".join([b"process %d: %s" % (pid, command[:200]), *([b"(%s)" % b": ".join(test)] if test else [])]).decode(
        errors="replace").replace("\n", " ")


def reap():
    """Fetches the status of each child that has ended; returns them."""
    ended = {}
    try:
        while (status := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)) is not None:
            ended[status.si_pid] = status.si_status if status.si_code == os.CLD_EXITED else 128 + status.si_status
    except ChildProcessError:
        pass
    return ended


def run(report, command):
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
    wanted = [signal.SIGCHLD, signal.SIGTERM, signal.SIGINT]
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    main = subprocess.Popen(command, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, wanted)).pid
    status = None
    while status is None:
        got = signal.sigwait(wanted)
        if got == signal.SIGTERM:
            os.kill(main, got)  # a terminal sends SIGINT to all of us
        status = reap().get(main)

    deadline = time.monotonic() + PATIENCE
    while descendants_of(os.getpid()) and time.monotonic() < deadline:
        time.sleep(0.05)
        reap()
    with open(report, "a") as file:
        while left := descendants_of(os.getpid()):
            for pid in left:
                if line := described(pid):
                    print(line, file=file)
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
            reap()
    sys.exit(status)


def entries():
    found = {}
    for folder in SHARED:
        try:
            found.update({entry.path: entry.stat(follow_symlinks=False).st_mtime_ns for entry in os.scandir(folder)})
        except OSError:
            pass
    return found


def text_of(path):
    try:
        if path.is_symlink():
            return os.readlink(path).encode(errors="replace")
        return path.read_bytes()[:65536] if path.is_file() else b"".join(
            os.fsencode(entry) for entry in sorted(path.iterdir()))
    except OSError:
        return b""


def names_ended_process(path):
    text = text_of(path).strip()
    return path.suffix == ".pid" and text.isdigit() and not pathlib.Path(f"/proc/{int(text)}").exists()


def compare(file, mark, report, folders):
    before = json.loads(pathlib.Path(file).read_text())
    left = [str(path) for folder in folders for path in sorted(pathlib.Path(folder).iterdir()) if path.name != ".cache"]
    others = []
    for name in sorted(entries().keys() - before.keys()):
        path = pathlib.Path(name)
        try:
            ours = path.lstat().st_uid == os.getuid()
        except OSError:
            continue
        if any(pathlib.Path(folder) == path or path in pathlib.Path(folder).parents for folder in folders) or not ours:
            continue
        is_left = mark in name or mark.encode() in text_of(path) or name.startswith("/run/") and names_ended_process(path)
        (left if is_left else others).append(name)
    with open(report, "a") as out:
        for name in left:
            print(f"file {name}", file=out)
    if others:
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        print(f"also new, and not known to be of the tests: {' '.join(others[:SHOWN])}{more}")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "run":
        run(rest[0], rest[1:])
    elif what == "places":
        pathlib.Path(rest[0]).write_text(json.dumps(entries()))
    else:
        compare(rest[0], rest[1], rest[2], rest[3:])
