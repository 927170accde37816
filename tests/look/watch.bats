#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# --watch of list and status: on a terminal, in place, until q or Ctrl-C.

load ../lib/common
load ../lib/looking

setup() {
  servers 3
  export B_SOCKET C_SOCKET
}
teardown() { stop_all; }

@test "watch: only where it can draw, and not with --json" {
  run -64 --separate-stderr "$REDLOCK" list --watch
  assert_contains "$stderr" '--watch draws on a terminal'
  run env TERM=dumb "$PYTHON" -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$REDLOCK" status --watch L
  assert_status 64
  run -64 --separate-stderr "$REDLOCK" list --watch --json
}

# The frames: the text between two of the sequences that begin one.
@test "watch: redraws in place, shows what changes, and ends with 0 by Ctrl-C and the old screen back" {
  scenario <<'CODE'
import time
at = Terminal(["/usr/bin/env", "TERM=xterm", os.environ["REDLOCK"], "list", "--watch", "--interval", "100ms"], 80)
frame = lambda: at.all.split("\x1b[H")[-1]
def frames():
    at._take(0)
    return at.all.count("\x1b[H")
until("an empty list", lambda: frames() and "no locks" in frame())
assert "\x1b[K\r" not in at.all, "the last column of a line may be erased"
assert "redlock list  " in frame() and "every 100ms" in frame(), frame()
assert at.all.count("\x1b[?1049h") == 1
everywhere("set", "work", "a" * 40, "px", "600000")
everywhere("hset", "redlock:{work}:holder", "a" * 40, "{}")
until("the lock", lambda: frames() and "work" in frame() and "held" in frame())
many = frames()
until("it is drawn again", lambda: frames() > many + 1)
at.resize(30)
until("narrower", lambda: frames() and "SERVERS" not in frame())
at.type(CTRL_C)
assert at.ended() == 0
assert at.all.endswith("\x1b[?7h\x1b[?25h\x1b[?1049l"), at.all[-100:]
# q ends it, too, and the keyboard works as before.
at = Terminal(["/usr/bin/env", "TERM=xterm", os.environ["REDLOCK"], "list", "--watch", "--interval", "1h"], 80)
until("a frame", lambda: frames() and "q ends" in frame())
echo = lambda: termios.tcgetattr(at.master)[3] & termios.ECHO
until("no echo", lambda: not echo())
at.type("xq")
assert at.ended() == 0
assert echo()
# It follows the width immediately, however long the interval is.
at = Terminal(["/usr/bin/env", "TERM=xterm", os.environ["REDLOCK"], "list", "--watch", "--interval", "1h", "w?rk"], 80)
until("the list", lambda: frames() and "SERVERS" in frame())
assert "redlock list 'w?rk'  " in frame(), frame()  # as one would type it
at.resize(30)
until("it is narrower", lambda: frames() > 1 and "SERVERS" not in frame())
at.type(CTRL_C)
assert at.ended() == 0
# Nothing of the pattern reaches the terminal that it would obey.
at = Terminal(["/usr/bin/env", "TERM=xterm", os.environ["REDLOCK"], "list", "--watch", "a\x1b[31mZ"], 80)
until("the title", lambda: frames() and "Z" in frame())
assert "\x1b[31m" not in at.all, at.all
at.type(CTRL_C)
assert at.ended() == 0
CODE
}

@test "watch: Ctrl-Z gives the screen back, TERM ends it by the signal, servers that are down are named" {
  export TERM=xterm
  scenario <<'CODE'
at = Terminal("bash", 80)
# However long the interval is, fg brings everything back.
at.type('TERM=xterm "$REDLOCK" status --watch --interval 1h L "a b"\n')
at.expect("redlock status L 'a b'  ")
at.expect("L: free")
at.type(CTRL_Z)
at.expect(r"\x1b\[\?1049l")
at.back()
at.type("fg\n")
at.expect(r"\x1b\[\?1049h(.|\n)*L: free")
until("the keyboard is taken with the screen", lambda: not at.echoes())
os.kill(at.foreground(), signal.SIGTERM)
at.expect(r"\x1b\[\?1049l")
at.back(143)
CODE
  kill_server B C
  scenario <<'CODE'
at = Terminal(["/usr/bin/env", "TERM=xterm", os.environ["REDLOCK"], "list", "--watch", "--interval", "100ms"], 60)
at.expect("connection refused")
at.expect("the list may be incomplete: 1 of 3 servers")
at.type(CTRL_C)
assert at.ended() == 0
CODE
}
