#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC1003
#
# Death by a signal is passed on: when a signal kills the job or ends the wait, redlock dies of the
# same signal. Bash goes on with a loop or a script when a command exits with 130 instead, and systemd calls
# a stop a failure when it exits with 143.

load ../lib/common

setup() {
  servers 1
  export A_PID OPTIONS=
  ulimit -c unlimited # a signal that is passed on must leave no core of redlock's
  cd "$SCRATCH" || return
}
teardown() { stop_all; }

# endings: runs the script on standard input, which starts redlock with start() and looks at how it
# ends with ends().
endings() {
  {
    cat <<'HEAD'
import subprocess

redlock = os.environ["REDLOCK"]

def start(*words, **more):
    """redlock with these words, its own messages in a file; all signals have their default action."""
    def prepare():
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
    log = open(os.environ["SCRATCH"] + "/said", "w")
    return subprocess.Popen([redlock, *words], stdin=subprocess.DEVNULL, stderr=log, preexec_fn=prepare, **more)

def said(text):
    until(text, lambda: text in open(os.environ["SCRATCH"] + "/said").read())

def ends(process, number):
    """By this signal, without a core; a number that is negative: with that status."""
    pid, status = os.waitpid(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code == -number, f"{process.args}: {code} in place of {-number}"
    assert not os.WCOREDUMP(status), f"{process.args} left a core"
    process.returncode = code
HEAD
    cat
  } | scenario
}

@test "a job that a signal kills: redlock dies of it, with the lock released" {
  endings <<'SCRIPT'
# The job dumps no core itself: that leaves only redlock to do it.
dies = "import os, resource, signal, sys; n = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); n == 9 or signal.signal(n, 0); os.kill(os.getpid(), n)"
for number in 15, 2, 1, 3, 9, 13, 6, 11, 10, 40:
    ends(start("run", "L", "--", sys.executable, "-SEIc", dies, str(number)), number)
    assert not held("L")
SCRIPT
}

@test "redlock, which knows passwords, leaves no core; the job has the limit that it would have" {
  endings <<'SCRIPT'
ready = "ready"
process = start("run", "L", "--", "sh", "-c", "ulimit -c >ready; exec sleep 60")
until("the job is ready", lambda: os.path.exists(ready) and os.path.getsize(ready) > 0)
assert open(ready).read() == "unlimited\n"
below = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
names = {pid: open(f"/proc/{pid}/comm").read().strip() for pid in [str(process.pid), *below]}
for pid in (pid for pid in names if names[pid].startswith("redlock")):
    limit, = (line for line in open(f"/proc/{pid}/limits") if "core file" in line)
    assert limit.split()[4] == "1", limit
process.send_signal(signal.SIGSEGV)
ends(process, signal.SIGSEGV)
until("the lock is free", lambda: not held("L"))
SCRIPT
}

@test "a job that exits with 130 or 143 was not killed: redlock exits so" {
  endings <<'SCRIPT'
for status in 130, 137, 143:
    ends(start("run", "L", "--", "sh", "-c", f"exit {status}"), -status)
SCRIPT
}

@test "a TERM to redlock that kills the job ends both; where the job traps it, its status counts" {
  endings <<'SCRIPT'
for trap, ending in (":", signal.SIGTERM), ("trap 'exit 9' TERM", -9):
    ready = "ready"
    process = start("run", "L", "--", "sh", "-c", f"{trap}; echo >ready; while :; do sleep 0.02; done")
    until("the job is ready", lambda: os.path.exists(ready))
    process.terminate()
    ends(process, ending)
    os.unlink(ready)
    assert not held("L")
SCRIPT
}

@test "a signal ends the wait: run, acquire and a nested run die of it" {
  endings <<'SCRIPT'
redis("set", "L", "somebody")
waits = [
    ["run", "-vv", "L", "--", "true"],
    ["acquire", "-vv", "L"],
    ["run", "-vv", "-E", "7", "-w", "60", "L", "--", "true"],
    ["run", "M", "--", redlock, "run", "-vv", "L", "--", "true"],
]
for words in waits:
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGALRM:
        process = start(*words)
        said('lock "L" is held by')
        process.send_signal(number)
        ends(process, number)
assert not held("M")
SCRIPT
}

@test "redlock's own statuses stay: a job that is killed for them was not ended by a signal" {
  endings <<'SCRIPT'
ends(start("run", "--max-runtime", "200ms", "L", "--", "sleep", "60"), -124)
ends(start("run", "--ttl", "2s", "L", "--", "sh", "-c", 'redis-cli -s "$A_SOCKET" del L >&2; exec sleep 60'), -80)
SCRIPT
}

@test "the worker is stopped after its job was killed: the top dies of what killed the job" {
  endings <<'SCRIPT'
process = start("run", "--ttl", "60s", "--server-timeout", "100ms", "L", "--", "sleep", "60")
held("L")
until("worker, job and witness", lambda: len(descendants(process.pid)) == 3)
worker = Process(process.pid).children()[0].pid
job = Process(worker).children()[0].pid
until("the job", lambda: open(f"/proc/{job}/comm").read() == "sleep\n")
os.kill(int(os.environ["A_PID"]), signal.SIGSTOP)
os.kill(job, signal.SIGUSR1)
until("its end", lambda: not os.path.exists(f"/proc/{job}"))
until("the worker waits", lambda: open(f"/proc/{worker}/stat").read().rpartition(")")[2].split()[0] == "S")
os.kill(worker, signal.SIGSTOP)
try:
    ends(process, signal.SIGUSR1)
finally:
    os.kill(int(os.environ["A_PID"]), signal.SIGCONT)
SCRIPT
}

@test "the worker is killed: the top dies of what ends the job, too" {
  endings <<'SCRIPT'
process = start("run", "--ttl", "60s", "L", "--", "sleep", "60")
def watches():
    """The top knows that the job runs, and has closed its connections."""
    folder = f"/proc/{process.pid}/fd/"
    try:
        descriptors = [os.readlink(folder + name) for name in os.listdir(folder)]
    except FileNotFoundError:  # it closes them just now
        return False
    return len(descendants(process.pid)) == 3 and not any(name.startswith("socket:") for name in descriptors)
until("the top watches", watches)
worker = Process(process.pid).children()[0].pid
os.kill(worker, signal.SIGKILL)
until("its end", Process(worker).gone)
process.send_signal(signal.SIGUSR1)
ends(process, signal.SIGUSR1)
redis("del", "L")
SCRIPT
}

@test "a signal ends renew and release while they try, and sandbox's command" {
  endings <<'SCRIPT'
token = subprocess.run([redlock, "acquire", "--ttl", "60s", "L"], stdout=subprocess.PIPE, text=True).stdout.strip()
os.kill(int(os.environ["A_PID"]), signal.SIGKILL)
for word in "renew", "release":
    process = start(word, "-vv", "--server-wait", "30s", "L", token)
    said(f"{word}: ")
    process.terminate()
    ends(process, signal.SIGTERM)
for number in signal.SIGTERM, signal.SIGKILL:
    ends(start("sandbox", "-N", "1", "--", "sh", "-c", f"kill -{int(number)} $$"), number)
SCRIPT
}

@test "Ctrl-C ends a loop and a script around redlock, while the job runs and while it waits" {
  scenario <<'SCENARIO'
# In the loop of an interactive bash the job has a group of its own, in a script it is in the script's.
loop = 'for i in 1 2 3; do echo "round $i"; %s; done; echo "loop over"\n'
script = "bash -c '" + loop.strip() + "'\n"
wait = '"$REDLOCK" run -vv L -- true'
for form in loop, script:
    for busy in False, True:
        at = Terminal("bash")
        if busy:
            redis("set", "L", "somebody")
            at.type(form % wait)
            at.expect('lock "L" is held by')
        else:
            job = Job("mortal").typed(at, form.strip())
        at.type(CTRL_C)
        at.prompt()
        assert "round 2" not in at.all, at.all
        assert not re.search("^loop over", at.all, re.M), at.all
        assert at.status() == 130
        at.in_order()
        redis("del", "L")
SCENARIO
}

@test "Ctrl-C that the job survives ends no script" {
  scenario <<'SCENARIO'
at = Terminal("bash")
job = Job().typed(at, "bash -c '%s; echo and on; exit 3'")
at.type(CTRL_C)
job.log.wait("INT")
job.log.end()
at.expect("and on")
at.prompt()
SCENARIO
}
