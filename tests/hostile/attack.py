#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attack.py REDLOCK SECONDS MIB URI [WORD]…: lets each command of redlock meet a server.

All commands run at the same time. Each must end within SECONDS, with a status that a server may bring about, without
having used more than MIB of memory, and may write nothing that is not printable; on standard error only
whole lines of redlock's. Prints a line for each command and ends with 1 if one of them failed. With WORDs,
only the commands named so.
"""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata

TOKEN = "0123456789abcdef0123456789abcdef01234567"
COMMANDS = {
    "run": "run -n lock -- true",
    "run-v": "run -vv -w 300ms lock -- true",
    "acquire": "acquire -n lock",
    "renew": f"renew lock {TOKEN}",
    "release": f"release lock {TOKEN}",
    "force": "release --force --yes lock",
    "force-now": "release --force --now --yes lock",
    "status": "status -v lock other",
    "status-json": "status --json lock",
    "list": "list",
    "list-json": "list --json",
    "list-none": "list no-such-lock",
    "history": "history lock",
    "history-json": "history --json lock",
    "check": "check",
    "check-json": "check --json",
}
# 78: check finds the server in disorder. 64 and 71 would blame the user or this host.
STATUSES = (0, 1, 69, 78, 80)


def unprintable(text):
    """The first character of it that a terminal might obey."""
    for character in text:
        if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs"):
            return f"U+{ord(character):04X}"
    return None


def start(redlock, words, uri, directory, name):
    output = open(os.path.join(directory, name + ".out"), "w+b")
    error = open(os.path.join(directory, name + ".err"), "w+b")
    options = ["-S", uri]
    if words[0] in ("run", "acquire", "renew") or words[0] == "release" and "--force" not in words:
        options += ["--server-wait", "300ms"]
    process = subprocess.Popen(
        [redlock, words[0], *options, *words[1:]], stdin=subprocess.DEVNULL, stdout=output, stderr=error,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    return process, output, error


def complaints(name, output, error, status, memory, most):
    found = []
    if os.WIFSIGNALED(status):
        found.append(f"killed by {signal.Signals(os.WTERMSIG(status)).name}")
    elif os.WEXITSTATUS(status) not in STATUSES:
        found.append(f"status {os.WEXITSTATUS(status)}")
    if memory > most:
        found.append(f"{memory} MiB")
    texts = []
    for what, file in (("stdout", output), ("stderr", error)):
        file.seek(0)
        try:
            texts.append(file.read().decode())
            if bad := unprintable(texts[-1]):
                found.append(f"{bad} on {what}")
        except UnicodeDecodeError:
            texts.append("")
            found.append(f"no UTF-8 on {what}")
    lines = texts[1].splitlines()
    # What release --force shows of the lock goes to standard error, too.
    if not name.startswith("force") and any(not line.startswith("redlock: ") for line in lines):
        found.append("a line that is not redlock's")
    if "runtime error:" in texts[1] or "Sanitizer" in texts[1]:
        found.append("what a sanitizer says")
    if any(len(line) > 4000 for line in lines) or len(lines) > 300:
        found.append("too much on stderr")
    if name.endswith("-json"):
        try:
            json.loads(texts[0])
        except ValueError:
            found.append("no JSON")
    return found, lines


def main():
    redlock, seconds, most, uri = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    names = sys.argv[5:] or list(COMMANDS)
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        running = {}
        for name in names:
            process, output, error = start(redlock, COMMANDS[name].split(), uri, directory, name)
            running[process.pid] = (name, process, output, error)
        while running:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                if time.monotonic() - began > seconds:
                    for name, process, _, _ in running.values():
                        print(f"{name}: has not ended after {seconds} s")
                        process.kill()
                    return 1
                time.sleep(0.01)
                continue
            if pid not in running:
                continue
            name, process, output, error = running.pop(pid)
            process.returncode = status
            memory = usage.ru_maxrss // 1024
            found, lines = complaints(name, output, error, status, memory, most)
            failed = failed or bool(found)
            first = lines[0][:300] if lines else ""
            print(f"{name}: status {os.waitstatus_to_exitcode(status)}, {time.monotonic() - began:.1f} s, "
                  f"{memory} MiB{', '.join([' FAILED', *found]) if found else ''}: {first}")
    return 1 if failed else 0


sys.exit(main())
