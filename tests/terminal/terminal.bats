#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC1003
#
# Redlock at a terminal, by tests/lib/terminal.py: whose the keys are, and what the user finds
# afterwards. job_control.bats is about stopping and continuing. Where the contract is "as under flock", flock goes through the same.

load ../lib/common

setup() { servers 1 && export OPTIONS=; }
teardown() { stop_all; }

@test "Ctrl-C and Ctrl-\\ reach the job once, and redlock lives on" {
  scenario <<'SCENARIO'
for at in each_shell():
    for form in "%s", "%s | cat", "true | %s", "sh -c '%s; true'":
        job = Job().typed(at, form)
        for key, name in (CTRL_C, "INT"), (CTRL_BACKSLASH, "QUIT"):
            at.type(key)
            job.log.wait(name)
        job.process.kill("USR1")  # later than what might have come twice
        job.log.wait("USR1")
        assert job.supervisor.running() and held("L")
        job.log.end()
        if "|" in form or "sh -c" in form:  # the cat and the sh have died of it
            until("the job's end", job.process.gone)
        else:
            at.back(5)
        at.type("\n")
        at.back()
        until("the lock is free", lambda: not held("L"))
        assert job.log.count("INT") == job.log.count("QUIT") == 1, job.log.lines()
SCENARIO
}

@test "a job that Ctrl-C or Ctrl-\\ kills: 128 + n, the lock is free, the shell has the terminal" {
  scenario <<'SCENARIO'
for at in each_shell():
    at.run("ulimit -c 0")
    for key, status in (CTRL_C, 130), (CTRL_BACKSLASH, 131):
        job = Job("mortal noecho").typed(at)
        at.type(key)
        at.back(status)
        assert not held("L")
SCENARIO
}

@test "KILL to redlock's whole process group, as kill -9 %1: the job dies, and the lock is free" {
  scenario <<'SCENARIO'
for form in "%s", "%s &":
    at = Terminal("bash")
    job = Job("mortal").typed(at, form)
    until("the worker's group", lambda: job.worker.group() != job.supervisor.group())
    os.killpg(job.supervisor.group(), signal.SIGKILL)
    until("the job's end", job.process.gone)
    until("the lock is free", lambda: not held("L"))
SCENARIO
}

@test "Ctrl-C kills a shell whose background commands ignore it: they end before the lock is free" {
  OPTIONS='--ttl 20s --kill-after 300ms'
  scenario <<'SCENARIO'
for shell in SHELLS:
    at = Terminal(shell)
    pids = f"{os.environ['SCRATCH']}/pids.{shell}"
    at.type(f"{Job.REDLOCK} sh -c 'sleep 60 & echo $! >>{escaped(pids)}; sleep 60 & echo $! >>{escaped(pids)}; wait'\n")
    until("two commands", lambda: os.path.exists(pids) and len(open(pids).readlines()) == 2)
    at.type(CTRL_C)
    at.back(130)
    assert not held("L")
    assert all(Process(int(pid)).gone() for pid in open(pids))
SCENARIO
}

@test "raw mode, single keys, and lines read from the terminal, as under flock" {
  scenario <<'SCENARIO'
for wrapper in Job.REDLOCK, Job.FLOCK:
    at = Terminal("bash")
    job = Job("keys", wrapper).typed(at)
    at.type("a\x03\x1a")
    job.log.wait("key", 3)
    assert [line[1] for line in job.log.lines() if line[0] == "key"] == ["97", "3", "26"]
    job.log.end()
    at.back(5)
    job = Job("lines", wrapper).typed(at)
    at.type("one\n")
    job.log.wait("line")
    at.type("\x04")
    job.log.wait("eof")
    job.log.end()
    at.prompt()
    assert job.log.value("line") == "one"
    at.type(f"{wrapper} sh -c 'read answer; echo \"<$answer>\"'\n")
    at.type("yes\n")
    at.expect("<yes>")
    at.prompt()
SCENARIO
}

@test "a pager beside the job reads the terminal, whichever descriptor is its pipe, as under flock" {
  scenario <<'SCENARIO'
pager = """sh -c 'read key </dev/tty; echo "the pager got <$key>" >/dev/tty'"""
for wrapper in Job.REDLOCK, Job.FLOCK:
    for form in f"%s | {pager}", f"%s 2>&1 >/dev/null | {pager}", f"{pager} | %s", f"%s 2> >({pager}; cat)":
        at = Terminal("bash")
        job = Job(wrapper=wrapper).typed(at, form)
        at.type("a\n")
        at.expect("the pager got <a>")
        job.log.end()
        at.type("\n")
        at.back()
SCENARIO
}

@test "the terminal hangs up: the job gets HUP" {
  scenario <<'SCENARIO'
def lead(job):
    at = Terminal(["sh", "-c", "exec " + job.words])
    job.started()
    return at
def at_shell(shell, form):
    def start(job):
        at = Terminal(shell)
        job.typed(at, form)
        return at
    return start
def stopped(job):
    at = at_shell("bash", "%s")(job)
    at.stop()
    return at
starts = [lead, stopped, at_shell("bash", "%s"), at_shell("bash", "%s &"), at_shell("bash", "%s | cat"),
          at_shell("dash", "%s")]
for start in starts:
    job = Job()
    at = start(job)
    at.hang_up()
    job.log.wait("HUP")
    if start != stopped:  # bash sends TERM to what it left stopped
        job.log.wait_beat()
        assert held("L")
    job.log.end()
    until("redlock's end", job.supervisor.gone)
    until("the lock is free", lambda: not held("L"))
SCENARIO
}

@test "however it ends, the shell has the terminal, and it echoes" {
  OPTIONS='--ttl 2s --kill-after 200ms' scenario <<'SCENARIO'
def lose(job):
    redis("del", "L")
def to(who, name):
    return lambda job: getattr(job, who).kill(name)
ways = {
    "lost": (lose, 80, SHELLS),
    "job killed": (to("process", "KILL"), 137, SHELLS),
    "job terminated": (to("process", "TERM"), 143, SHELLS),
    "redlock terminated": (to("supervisor", "TERM"), 143, SHELLS),
    # A shell like bash puts the modes in order when what it started is killed. Dash does not.
    "supervisor killed": (to("supervisor", "KILL"), 137, ["bash"]),
    "worker killed": (to("worker", "KILL"), 80, ["bash"]),
    "worker stopped": (to("worker", "STOP"), 80, ["bash"]),
}
for name, (way, status, shells) in ways.items():
    for shell in shells:
        at = Terminal(shell)
        job = Job("mortal noecho").typed(at)
        assert not at.echoes()
        way(job)
        at.back()
        assert at.status() == status, name
        until("the job's end", job.process.gone)
        until("the worker's end", job.worker.gone)
        redis("del", "L")
SCENARIO
}

@test "a job that ends by itself keeps what it set, as under flock" {
  scenario <<'SCENARIO'
for wrapper in Job.REDLOCK, Job.FLOCK:
    at = Terminal("bash")
    at.run(f"{wrapper} stty -echo")
    assert not at.echoes()
    at.run("stty echo")
    assert at.echoes()
SCENARIO
}

@test "a command that cannot be run leaves the terminal where it was" {
  scenario <<'SCENARIO'
# A parent that gave the terminal away and does not take it back: what a shell would hide.
at = Terminal(["/usr/bin/python3", "-SEIc", '''
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if not child:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print("status", status, "foreground", os.tcgetpgrp(0) == child, flush=True)
''', os.environ["REDLOCK"], "run", "L", "--", "/nowhere"])
at.expect("status 127 foreground True")
assert at.ended() == 0
assert not held("L")
SCENARIO
}

@test "Ctrl-S stops the output, not the renewals nor the end" {
  OPTIONS='--ttl 2s --kill-after 200ms' scenario <<'SCENARIO'
at = Terminal("bash")
job = Job("noecho").typed(at)
at.type("\x13")
beyond = boot_ms() + 2500
until("the ttl is over", lambda: boot_ms() > beyond)
assert held("L")
redis("del", "L")  # lost, and said
until("redlock's end", job.supervisor.gone)
at.type("\x11")
at.back()
SCENARIO
}

# ---- a PID namespace --------------------------------------------------------------------------

# in_namespace: the scenario of standard input, in which inside(SCRIPT) is a terminal whose shell runs SCRIPT in a PID
# namespace. The terminal's session began outside, so getpgrp() is 0 inside. unshare(1) itself survives the signals.
in_namespace() {
  local unshare="unshare --pid --fork --kill-child --mount-proc"
  $unshare true 2>/dev/null || unshare+=" --user --map-root-user"
  $unshare true 2>/dev/null || skip "unshare(1) may not make a PID namespace here"
  { echo 'def inside(script):
    return Terminal(["sh", "-c", """trap "" INT QUIT USR1; exec $UNSHARE env --default-signal sh -c "$0" """, script])' && cat; } |
    UNSHARE=$unshare scenario
}

@test "in a PID namespace: the job reads from the terminal, and gets Ctrl-C and Ctrl-\\ once" {
  in_namespace <<'SCENARIO'
job = Job("lines")
at = inside(f"trap : INT QUIT; {job.words}; test $? = 5")
job.log.wait("ready")
at.type("hello\n")
job.log.wait("line")
for key, name in (CTRL_C, "INT"), (CTRL_BACKSLASH, "QUIT"):
    at.type(key)
    job.log.wait(name)
job.log.end()
assert at.ended() == 0
assert job.log.count("INT") == job.log.count("QUIT") == 1, job.log.lines()
assert not held("L")
SCENARIO
}

@test "in a PID namespace: what the whole process group gets reaches the job once" {
  in_namespace <<'SCENARIO'
job = Job()
inside(f"trap : USR1; {job.words} & until grep -q ready {escaped(job.log.path)}; do :; done; kill -USR1 0; "
       f"until grep -q USR1 {escaped(job.log.path)}; do :; done; kill -TERM $!; wait $!")
job.log.wait("TERM")  # redlock passes it on after what came before
assert job.log.count("USR1") == job.log.count("TERM") == 1, job.log.lines()
SCENARIO
}
