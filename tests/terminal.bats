# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
#
# Redlock at a terminal, by tests/lib/terminal.py: whose the keys are, job control, and what the user
# finds afterwards. Where the contract is "as under flock", flock goes through the same.

load lib/common

setup() {
  start_server A
  export REDLOCK_SERVERS=$A_URI A_SOCKET SCRATCH OPTIONS=
}
teardown() { stop_all; }

# scenario: what stands on standard input, a script in the words of tests/lib/terminal.py.
scenario() {
  { echo 'from terminal import *' && cat; } >"$SCRATCH/scenario.py"
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TESTS/lib timeout -k 5 90 "$PYTHON" "$SCRATCH/scenario.py" 3>&-
}

@test "Ctrl-C and Ctrl-\\ reach the job once, and redlock lives on" {
  scenario <<'SCENARIO'
for shell in SHELLS:
    at = Terminal(shell)
    for form in "%s", "%s | cat", "true | %s", "sh -c '%s; true'":
        job = Job().typed(at, form)
        for key, name in (CTRL_C, "INT"), (CTRL_BACKSLASH, "QUIT"):
            at.type(key)
            job.log.wait(name)
        job.process.kill("USR1")  # later than what might have come twice
        job.log.wait("USR1")
        assert job.top.running() and held("L")
        job.log.end()
        if "|" in form or "sh -c" in form:  # the cat and the sh have died of it
            until("the job's end", job.process.gone)
        else:
            at.prompt()
            assert at.status() == 5
        at.type("\n")
        at.prompt()
        at.in_order()
        until("the lock is free", lambda: not held("L"))
        assert job.log.count("INT") == job.log.count("QUIT") == 1, job.log.lines()
    at.hang_up()
SCENARIO
}

@test "a job that Ctrl-C or Ctrl-\\ kills: 128 + n, the lock is free, the shell has the terminal" {
  scenario <<'SCENARIO'
for shell in SHELLS:
    at = Terminal(shell)
    at.run("ulimit -c 0")
    for key, status in (CTRL_C, 130), (CTRL_BACKSLASH, 131):
        job = Job("mortal noecho").typed(at)
        at.type(key)
        at.prompt()
        at.in_order()
        assert at.status() == status
        assert not held("L")
    at.hang_up()
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
    at.prompt()
    at.in_order()
    assert at.status() == 5
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
    at.hang_up()
SCENARIO
}

@test "Ctrl-Z: the prompt is back, the lock is held beyond its ttl, fg and bg go on" {
  OPTIONS='--ttl 1s' scenario <<'SCENARIO'
for shell in SHELLS:
    at = Terminal(shell)
    job = Job("lines").typed(at)
    for times in 1, 2:
        at.type(CTRL_Z)
        at.prompt()
        at.in_order()
        assert job.process.stopped() and job.top.stopped() and job.worker.running()
        if times == 1:
            beyond = boot_ms() + 1500
            until("the ttl is over", lambda: boot_ms() > beyond)
            assert held("L") and job.process.stopped() and job.top.stopped()
        at.type("fg\n")
        job.log.wait_beat()
        assert at.foreground() == job.process.group() != at.pid
        at.type("again\n")
        job.log.wait("line", times)
    at.type(CTRL_Z)
    at.prompt()
    at.run("bg")
    job.log.wait_beat()
    assert at.foreground() == at.pid and held("L")
    job.log.end()
    until("the job's end", job.process.gone)
    at.run("wait")
    at.in_order()
    assert not held("L")
    at.hang_up()
SCENARIO
}

@test "Ctrl-Z, fg and Ctrl-C in pipelines and scripts, as under flock" {
  scenario <<'SCENARIO'
for wrapper in Job.REDLOCK, Job.FLOCK:
    for form in "cat | %s | cat", "%s | cat", "sh -c '%s; true'", "(%s; true)":
        at = Terminal("bash")
        job = Job("mortal", wrapper).typed(at, form)
        at.type(CTRL_Z)
        at.prompt()
        until("it has stopped", job.process.stopped)
        if wrapper == Job.REDLOCK:
            until("redlock has, too", job.top.stopped)
            assert held("L") and job.worker.running()
        at.type("fg\n")
        job.log.wait_beat()
        at.type(CTRL_C)
        at.prompt()
        until("the job's end", job.process.gone)
        at.in_order()
        if wrapper == Job.REDLOCK:
            until("the lock is free", lambda: not held("L"))
        at.hang_up()
SCENARIO
}

@test "in the background: runs, is stopped when it reads the terminal, and fg gives it the line" {
  scenario <<'SCENARIO'
for shell in SHELLS:
    for wrapper in Job.REDLOCK, Job.FLOCK:
        at = Terminal(shell)
        job = Job("lines blocking", wrapper).typed(at, "%s &")
        until("it is stopped", job.process.stopped)
        if wrapper == Job.REDLOCK:
            until("redlock is stopped", job.top.stopped)
            assert job.worker.running() and held("L")
        at.run("true")
        at.type("fg\n")
        until("it runs", job.process.running)
        at.type("one\n")
        job.log.wait("line")
        if wrapper == Job.REDLOCK:  # flock dies of it
            at.type(CTRL_C)
            job.log.wait("INT")
        job.log.end()
        at.type("\n")
        at.prompt()
        at.in_order()
        assert at.status() == 5
        assert job.log.count("INT") == (wrapper == Job.REDLOCK)
        at.hang_up()
SCENARIO
}

@test "started in the background, the job comes to its end there" {
  scenario <<'SCENARIO'
for shell in SHELLS:
    at = Terminal(shell)
    at.run("stty tostop")
    job = Job().typed(at, "%s &")
    job.log.wait_beat()
    assert at.foreground() == at.pid
    job.log.end()
    at.run("wait")
    assert job.top.gone() and not held("L")
    at.in_order()
    at.hang_up()
SCENARIO
}

@test "stty tostop: a job that writes in the background is stopped with redlock, as under flock" {
  scenario <<'SCENARIO'
for shell in SHELLS:
    for wrapper in Job.REDLOCK, Job.FLOCK:
        at = Terminal(shell)
        at.run("stty tostop")
        at.type(f"{wrapper} echo hello &\n")
        at.prompt()
        until("it is stopped", lambda: "Stopped" in at.run("jobs"))
        assert wrapper == Job.FLOCK or held("L")
        at.type("fg\n")
        at.expect("\nhello")
        at.prompt()
        at.in_order()
        at.hang_up()
SCENARIO
}

@test "stty tostop: in the background redlock's own messages stop nobody" {
  OPTIONS='--ttl 2s --kill-after 200ms' scenario <<'SCENARIO'
at = Terminal("bash")
at.run("stty tostop")
job = Job().typed(at, "%s &")
redis("del", "L")  # lost
until("the job's end", job.process.gone)
until("redlock's end", job.top.gone)
at.run("true")
assert "lost L" in at.all and re.search("Exit 80", at.all), at.all

# The top writes before it has stopped the job: nothing but that is left to do it.
job = Job("stubborn").typed(at, "%s &")
job.worker.kill("STOP")
until("the job's end", job.process.gone)
assert not held("L") or int(redis("pttl", "L")[1:]) > 0
until("redlock's end", job.top.gone)
at.in_order()

# And while it waits.
redis("set", "L", "somebody")
at.type('"$REDLOCK" run -v L -- true &\n')
at.expect("L is held by")
redis("del", "L")
at.type("wait\n")
at.prompt()
assert "topped" not in at.run("jobs"), at.all
SCENARIO
}

@test "a stopped job whose lock is lost dies, stopped as it is" {
  OPTIONS='--ttl 1s --kill-after 200ms' scenario <<'SCENARIO'
for shell in SHELLS:
    at = Terminal(shell)
    job = Job("stubborn").typed(at)
    at.type(CTRL_Z)
    at.prompt()
    redis("del", "L")
    until("the job's end", job.process.gone)
    until("redlock's end", job.top.gone)
    at.in_order()
    at.run("true")
    assert job.log.count("TERM") == 1
    at.hang_up()
SCENARIO
}

@test "stopped beyond the lease without a worker: fg finds the job dead, not running" {
  OPTIONS='--ttl 1s --kill-after 200ms' scenario <<'SCENARIO'
at = Terminal("bash")
job = Job("stubborn").typed(at)
at.type(CTRL_Z)
at.prompt()
job.worker.kill("KILL")
until("the lease is over", lambda: not held("L"))
last = job.log.last_beat()
at.type("fg\n")
at.prompt()
assert at.status() == 80
assert job.process.gone() and job.log.last_beat() == last and job.log.count("CONT") == 0
at.in_order()
SCENARIO
}

@test "Ctrl-Z without a worker: the prompt is back, and fg goes on" {
  OPTIONS='--ttl 60s' scenario <<'SCENARIO'
for shell in SHELLS:
    at = Terminal(shell)
    job = Job("lines").typed(at)
    job.worker.kill("KILL")
    until("the worker's end", job.worker.gone)
    for times in 1, 2:
        at.type(CTRL_Z)
        at.prompt()
        at.in_order()
        assert job.process.stopped() and job.top.stopped()
        at.type("fg\n")
        job.log.wait_beat()
        at.type("again\n")
        job.log.wait("line", times)
    job.log.end()
    at.prompt()
    at.in_order()
    at.hang_up()
    redis("del", "L")
SCENARIO
}

@test "Ctrl-Z without a worker: the job does not outlive the lease, whoever continues it" {
  OPTIONS='--ttl 3s --kill-after 200ms' scenario <<'SCENARIO'
at = Terminal("bash")
job = Job("stubborn").typed(at)
job.worker.kill("KILL")
until("the worker's end", job.worker.gone)
at.type(CTRL_Z)
at.prompt()
assert job.process.stopped() and job.top.stopped() and held("L")
job.process.kill("CONT")
until("the job's end", job.process.gone)
assert held("L")
until("redlock's end", job.top.gone)
at.in_order()
at.hang_up()
SCENARIO
}

@test "kill -STOP and -CONT of the job alone: redlock is stopped with it, and continued" {
  scenario <<'SCENARIO'
for shell in SHELLS:
    at = Terminal(shell)
    job = Job().typed(at)
    job.process.kill("STOP")
    at.prompt()
    assert job.top.stopped() and job.worker.running() and held("L")
    job.process.kill("CONT")
    job.log.wait_beat()
    until("redlock runs", job.top.running)
    assert job.log.count("CONT") == 1, "CONT came more than once"
    assert at.foreground() == at.pid
    at.type("fg\n")
    until("it has the terminal", lambda: at.foreground() in (job.top.group(), job.process.group()))
    at.type(CTRL_C)
    job.log.wait("INT")
    job.log.end()
    at.prompt()
    assert at.status() == 5 and job.log.count("INT") == 1
    at.hang_up()
SCENARIO
}

@test "Ctrl-Z, bg, fg: it can read the terminal again" {
  scenario <<'SCENARIO'
for shell in SHELLS:
    for wrapper in Job.REDLOCK, Job.FLOCK:
        at = Terminal(shell)
        job = Job("asked", wrapper).typed(at)
        at.type(CTRL_Z)
        at.prompt()
        at.run("bg")
        job.log.wait_beat()
        at.type("fg\n")
        until("the shell gave it the terminal", lambda: at.foreground() != at.pid)
        job.log.ask()
        at.type("one\n")
        job.log.wait("line")
        job.log.end()
        at.prompt()
        assert at.status() == 5
        at.in_order()
        at.hang_up()
SCENARIO
}

@test "kill -STOP and -CONT of redlock, and kill -TSTP: fg makes it whole again" {
  scenario <<'SCENARIO'
for name in "STOP", "TSTP":
    at = Terminal("bash")
    job = Job("asked").typed(at)
    job.top.kill(name)
    at.prompt()
    assert job.top.stopped() and job.worker.running() and held("L")
    at.type("fg\n")
    until("it has the terminal", lambda: at.foreground() == job.process.group())
    job.log.wait_beat()
    job.log.ask()
    at.type("one\n")
    job.log.wait("line")
    job.top.kill(name)
    at.prompt()
    job.top.kill("CONT")
    until("redlock runs", job.top.running)
    until("the job runs", job.process.running)
    assert at.foreground() == at.pid
    job.log.end()
    until("the job's end", job.process.gone)
    at.run("wait")
    at.in_order()
    assert not held("L")
    at.hang_up()
SCENARIO
}

@test "one CONT for the job by one fg" {
  scenario <<'SCENARIO'
at = Terminal("bash")
job = Job().typed(at)
for times in range(1, 6):
    at.type(CTRL_Z)
    at.prompt()
    at.type("fg\n")
    job.log.wait_beat()
    job.process.kill("USR1")
    job.log.wait("USR1", times)
    assert job.log.count("CONT") == times, job.log.count("CONT")
SCENARIO
}

@test "redlock that leads its session, or is in its leader's group: Ctrl-Z changes nothing, as under flock" {
  scenario <<'SCENARIO'
for wrapper in Job.REDLOCK, Job.FLOCK:
    for form in "exec %s", "%s; exit $?", "sh -c '%s; exit 5'; exit $?", "%s | cat; exit 5":
        job = Job("lines", wrapper)
        at = Terminal(["sh", "-c", form % job.words])
        job.started()
        at.type(CTRL_Z)
        at.type("one\n" if form[0] != "c" else "")
        job.log.wait("line")
        job.log.wait_beat()
        at.type(CTRL_C)
        job.log.wait("INT")
        job.process.kill("USR1")
        job.log.wait("USR1")
        assert job.log.count("INT") == 1
        job.log.end()
        assert at.ended() in (5, 130), at.all  # a sh dies with its child's Ctrl-C
        until("the job's end", job.process.gone)
        until("the lock is free", lambda: not held("L"))
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
    at.type(CTRL_Z)
    at.prompt()
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
    until("redlock's end", job.top.gone)
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
    "redlock terminated": (to("top", "TERM"), 143, SHELLS),
    # A shell like bash puts the modes in order when what it started is killed. Dash does not.
    "top killed": (to("top", "KILL"), 137, ["bash"]),
    "worker killed": (to("worker", "KILL"), 80, ["bash"]),
    "worker stopped": (to("worker", "STOP"), 80, ["bash"]),
}
for name, (way, status, shells) in ways.items():
    for shell in shells:
        at = Terminal(shell)
        job = Job("mortal noecho").typed(at)
        assert not at.echoes()
        way(job)
        at.prompt()
        at.in_order()
        assert at.status() == status, name
        until("the job's end", job.process.gone)
        until("the worker's end", job.worker.gone)
        redis("del", "L")
        at.hang_up()
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
    at.hang_up()
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

@test "one redlock under another: Ctrl-Z, fg and Ctrl-C" {
  scenario <<'SCENARIO'
for shell in SHELLS:
    at = Terminal(shell)
    job = Job("mortal lines", '"$REDLOCK" run L -- "$REDLOCK" run M --').typed(at)
    for times in 1, 2:
        at.type(CTRL_Z)
        at.prompt()
        outer = job.top.parent().parent()
        assert job.process.stopped() and job.top.stopped() and outer.stopped()
        at.type("fg\n")
        job.log.wait_beat()
        at.type("one\n")
        job.log.wait("line", times)
    at.type(CTRL_C)
    at.prompt()
    at.in_order()
    assert at.status() == 130
    assert not held("L") and not held("M")
    at.hang_up()
SCENARIO
}

@test "a shell under redlock has its own job control" {
  scenario <<'SCENARIO'
for outer in SHELLS:
    for inner in SHELLS:
        at = Terminal(outer)
        at.type('"$REDLOCK" run L -- env PS1="INNER> " ' + " ".join(SHELLS[inner]) + "\n")
        at.expect("INNER> $")
        job = Job(wrapper="").typed(at)
        at.type(CTRL_Z)
        at.expect("INNER> $")
        until("it is stopped", job.process.stopped)
        assert held("L") and not job.process.parent().stopped()
        at.type("fg\n")
        job.log.wait_beat()
        at.type(CTRL_C)
        job.log.wait("INT")
        job.log.end()
        at.expect("INNER> $")
        if inner == "bash":
            at.type("kill -STOP $$\n")
            at.prompt()
            at.in_order()
            assert held("L")
            at.type("fg\n")
            until("it has the terminal", lambda: at.foreground() not in (at.pid, -1))
            at.type("\n")
            at.expect("INNER> $")
        at.type("exit 3\n")
        at.prompt()
        at.in_order()
        assert at.status() == 3
        assert not held("L")
        at.hang_up()
SCENARIO
}

@test "Ctrl-Z while it waits: stopped, and fg waits on" {
  scenario <<'SCENARIO'
redis("set", "L", "somebody")
for shell in SHELLS:
    at = Terminal(shell)
    at.type('"$REDLOCK" run -v L -- sh -c "exit 6"\n')
    at.expect("L is held by")
    at.type(CTRL_Z)
    at.prompt()
    at.in_order()
    at.type("fg\n")
    until("it has the terminal", lambda: at.foreground() not in (at.pid, -1))
    if shell == "bash":
        at.type(CTRL_C)
        at.prompt()
        assert at.status() == 130
    else:
        redis("del", "L")
        at.prompt()
        assert at.status() == 6
    at.in_order()
    at.hang_up()
SCENARIO
}

@test "Ctrl-S stops the output, not the renewals nor the end" {
  OPTIONS='--ttl 1s --kill-after 200ms' scenario <<'SCENARIO'
at = Terminal("bash")
job = Job("noecho").typed(at)
at.type("\x13")
beyond = boot_ms() + 1500
until("the ttl is over", lambda: boot_ms() > beyond)
assert held("L")
redis("del", "L")  # lost, and said
until("redlock's end", job.top.gone)
at.type("\x11")
at.prompt()
at.in_order()
SCENARIO
}
