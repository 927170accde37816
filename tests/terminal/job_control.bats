#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC1003
#
# Stopped, continued and in the background, at a terminal, by tests/lib/terminal.py. Where the contract is
# "as under flock", flock goes through the same.

load ../lib/common

setup() { servers 1 && export OPTIONS=; }
teardown() { stop_all; }

@test "Ctrl-Z: the prompt is back, the lock is held beyond its ttl, fg and bg go on" {
  OPTIONS='--ttl 2s' scenario <<'SCENARIO'
for at in each_shell():
    job = Job("lines").typed(at)
    for times in 1, 2:
        at.type(CTRL_Z)
        at.back()
        assert job.process.stopped() and job.supervisor.stopped() and job.worker.running()
        if times == 1:
            beyond = boot_ms() + 2500
            until("the ttl is over", lambda: boot_ms() > beyond)
            assert held("L") and job.process.stopped() and job.supervisor.stopped()
        job.foreground(at)
        assert at.foreground() == job.process.group() != at.pid
        at.type("again\n")
        job.log.wait("line", times)
    at.stop()
    at.run("bg")
    job.log.wait_beat()
    assert at.foreground() == at.pid and held("L")
    job.log.end()
    until("the job's end", job.process.gone)
    at.run("wait")
    at.in_order()
    assert not held("L")
SCENARIO
}

@test "Ctrl-Z, fg and Ctrl-C in pipelines and scripts, as under flock" {
  scenario <<'SCENARIO'
for wrapper in Job.REDLOCK, Job.FLOCK:
    for form in "cat | %s | cat", "%s | cat", "sh -c '%s; true'", "(%s; true)":
        at = Terminal("bash")
        job = Job("mortal", wrapper).typed(at, form)
        at.stop()
        until("it has stopped", job.process.stopped)
        if wrapper == Job.REDLOCK:
            until("redlock has, too", job.supervisor.stopped)
            assert held("L") and job.worker.running()
        job.foreground(at)
        at.type(CTRL_C)
        at.prompt()
        until("the job's end", job.process.gone)
        at.in_order()
        if wrapper == Job.REDLOCK:
            until("the lock is free", lambda: not held("L"))
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
            until("redlock is stopped", job.supervisor.stopped)
            assert job.worker.running() and held("L")
        else:  # a shell that does not know yet that flock is stopped does not continue it
            until("flock is stopped", job.worker.stopped)
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
        at.back(5)
        assert job.log.count("INT") == (wrapper == Job.REDLOCK)
SCENARIO
}

@test "started in the background, the job comes to its end there" {
  scenario <<'SCENARIO'
for at in each_shell():
    at.run("stty tostop")
    job = Job().typed(at, "%s &")
    job.log.wait_beat()
    assert at.foreground() == at.pid
    job.log.end()
    at.run("wait")
    assert job.supervisor.gone() and not held("L")
    at.in_order()
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
        at.back()
SCENARIO
}

@test "stty tostop: in the background redlock's own messages stop nobody" {
  OPTIONS='--ttl 2s --kill-after 200ms' scenario <<'SCENARIO'
at = Terminal("bash")
at.run("stty tostop")
job = Job().typed(at, "%s &")
redis("del", "L")  # lost
until("the job's end", job.process.gone)
until("redlock's end", job.supervisor.gone)
at.run("true")
assert 'lock "L" was lost' in at.all and re.search("Exit 80", at.all), at.all

# The supervisor writes before it has stopped the job: no other process is left to stop it.
job = Job("stubborn").typed(at, "%s &")
job.worker.kill("STOP")
until("the job's end", job.process.gone)
assert not held("L") or int(redis("pttl", "L")[1:]) > 0
until("redlock's end", job.supervisor.gone)
at.in_order()

# And while it waits.
redis("set", "L", "somebody")
at.type('"$REDLOCK" run -vv L -- true &\n')
at.expect('lock "L" is held by')
redis("del", "L")
at.type("wait\n")
at.prompt()
assert "topped" not in at.run("jobs"), at.all
SCENARIO
}

@test "a stopped job whose lock is lost dies, stopped as it is" {
  OPTIONS='--ttl 1s --kill-after 200ms' scenario <<'SCENARIO'
for at in each_shell():
    job = Job("stubborn").typed(at)
    at.stop()
    redis("del", "L")
    until("the job's end", job.process.gone)
    until("redlock's end", job.supervisor.gone)
    at.in_order()
    at.run("true")
    assert job.log.count("TERM") == 1
SCENARIO
}

@test "stopped beyond the lease without a worker: fg finds the job dead, not running" {
  OPTIONS='--ttl 1s --kill-after 200ms' scenario <<'SCENARIO'
at = Terminal("bash")
job = Job("stubborn").typed(at)
at.stop()
job.worker.kill("KILL")
until("the lease is over", lambda: not held("L"))
last = job.log.last_beat()
at.type("fg\n")
at.back(80)
assert job.process.gone() and job.log.last_beat() == last and job.log.count("CONT") == 0
at.in_order()
SCENARIO
}

@test "Ctrl-Z without a worker: the prompt is back, and fg goes on" {
  OPTIONS='--ttl 60s' scenario <<'SCENARIO'
for at in each_shell():
    job = Job("lines").typed(at)
    job.worker.kill("KILL")
    until("the worker's end", job.worker.gone)
    for times in 1, 2:
        at.type(CTRL_Z)
        at.back()
        assert job.process.stopped() and job.supervisor.stopped()
        job.foreground(at)
        at.type("again\n")
        job.log.wait("line", times)
    job.log.end()
    at.back()
    at.hang_up()
    redis("del", "L")
SCENARIO
}

@test "Ctrl-Z without a worker: the job does not outlive the lease, whoever continues it" {
  OPTIONS='--ttl 5s --kill-after 200ms' scenario <<'SCENARIO'
at = Terminal("bash")
job = Job("stubborn").typed(at)
job.worker.kill("KILL")
until("the worker's end", job.worker.gone)
at.stop()
assert job.process.stopped() and job.supervisor.stopped()
left = int(redis("pttl", "L")[1:])
expiry = boot_ms() + left
assert left > 0, "the lease is over before the test is where it wants to be"
job.process.kill("CONT")
job.log.wait_beat()
until("the job's end", job.process.gone)
assert job.log.last_beat() < expiry, "the job ran without the lock"
until("redlock's end", job.supervisor.gone)
at.in_order()
SCENARIO
}

@test "kill -STOP and -CONT of the job alone: redlock is stopped with it, and continued" {
  scenario <<'SCENARIO'
for at in each_shell():
    job = Job().typed(at)
    job.process.kill("STOP")
    at.prompt()
    assert job.supervisor.stopped() and job.worker.running() and held("L")
    job.process.kill("CONT")
    job.log.wait_beat()
    until("redlock runs", job.supervisor.running)
    assert job.log.count("CONT") == 1, "CONT came more than once"
    assert at.foreground() == at.pid
    at.type("fg\n")
    until("it has the terminal", lambda: at.foreground() in (job.supervisor.group(), job.process.group()))
    at.type(CTRL_C)
    job.log.wait("INT")
    job.log.end()
    at.prompt()
    assert at.status() == 5 and job.log.count("INT") == 1
SCENARIO
}

@test "Ctrl-Z, bg, fg: it can read the terminal again" {
  scenario <<'SCENARIO'
for shell in SHELLS:
    for wrapper in Job.REDLOCK, Job.FLOCK:
        at = Terminal(shell)
        job = Job("asked", wrapper).typed(at)
        at.stop()
        at.run("bg")
        job.log.wait_beat()
        at.type("fg\n")
        until("the shell gave it the terminal", lambda: at.foreground() != at.pid)
        job.log.ask()
        at.type("one\n")
        job.log.wait("line")
        job.log.end()
        at.back(5)
        at.in_order()
SCENARIO
}

@test "Ctrl-Z, kill %1: a stopped job that reads the terminal ends, as without redlock" {
  scenario <<'SCENARIO'
# Bash sends TERM, then CONT.
at = Terminal("bash")
job = Job("lines blocking mortal").typed(at)
at.stop()
at.run("kill %1")
until("the job's end", job.process.gone)
until("redlock's end", job.supervisor.gone)
at.run("true")
at.in_order()
assert not held("L")
SCENARIO
}

@test "kill -STOP and -CONT of redlock, and kill -TSTP: fg makes it whole again" {
  scenario <<'SCENARIO'
for name in "STOP", "TSTP":
    at = Terminal("bash")
    job = Job("asked").typed(at)
    job.supervisor.kill(name)
    at.prompt()
    assert job.supervisor.stopped() and job.worker.running() and held("L")
    at.type("fg\n")
    until("it has the terminal", lambda: at.foreground() == job.process.group())
    job.log.wait_beat()
    job.log.ask()
    at.type("one\n")
    job.log.wait("line")
    job.supervisor.kill(name)
    at.prompt()
    job.supervisor.kill("CONT")
    until("redlock runs", job.supervisor.running)
    until("the job runs", job.process.running)
    assert at.foreground() == at.pid
    job.log.end()
    until("the job's end", job.process.gone)
    at.run("wait")
    at.in_order()
    assert not held("L")
SCENARIO
}

@test "one CONT for the job by one fg" {
  scenario <<'SCENARIO'
at = Terminal("bash")
job = Job().typed(at)
for times in range(1, 6):
    at.stop()
    job.foreground(at)
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
        at.type("one\n")
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

@test "one redlock under another: Ctrl-Z, fg and Ctrl-C" {
  scenario <<'SCENARIO'
for at in each_shell():
    job = Job("mortal lines", '"$REDLOCK" run L -- "$REDLOCK" run M --').typed(at)
    for times in 1, 2:
        at.stop()
        outer = job.supervisor.parent().parent()
        assert job.process.stopped() and job.supervisor.stopped() and outer.stopped()
        job.foreground(at)
        at.type("one\n")
        job.log.wait("line", times)
    at.type(CTRL_C)
    at.back(130)
    assert not held("L") and not held("M")
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
        job.foreground(at)
        at.type(CTRL_C)
        job.log.wait("INT")
        job.log.end()
        at.expect("INNER> $")
        if inner == "bash":
            at.type("kill -STOP $$\n")
            at.back()
            assert held("L")
            at.type("fg\n")
            until("it has the terminal", lambda: at.foreground() not in (at.pid, -1))
            at.type("\n")
            at.expect("INNER> $")
        at.type("exit 3\n")
        at.back(3)
        assert not held("L")
SCENARIO
}

@test "Ctrl-Z while it waits: stopped, and fg waits on" {
  scenario <<'SCENARIO'
redis("set", "L", "somebody")
for shell in SHELLS:
    at = Terminal(shell)
    at.type('"$REDLOCK" run -vv L -- sh -c "exit 6"\n')
    at.expect('lock "L" is held by')
    at.type(CTRL_Z)
    at.back()
    at.type("fg\n")
    until("it has the terminal", lambda: at.foreground() not in (at.pid, -1))
    if shell == "bash":
        at.type(CTRL_C)
        at.back(130)
    else:
        redis("del", "L")
        at.back(6)
    at.in_order()
SCENARIO
}
