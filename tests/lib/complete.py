# SPDX-License-Identifier: MIT
#
# complete.py SHELL LINE...: types each line and a tab into that shell (bash, zsh, zsh-installed or fish) on a
# terminal, and prints the words that it became, one line for each: <redlock><run>. The shell carries out one key
# after the other: the keys after the tab put a command before the line that prints it, and need no pause.
import os
import pty
import select
import sys
import tempfile
import time

COMMANDS = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "zsh-installed": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SHOW = "shown() { printf '<%s>' \"$@\" >>\"$SHOWN\"; echo >>\"$SHOWN\"; }"
SETUP = {
    "bash": [SHOW, "bind 'set bell-style none'", "source <(redlock completions bash)"],
    "zsh": [SHOW, "bindkey -e", "unsetopt beep", "autoload -U compinit && compinit -D -u",
            "source <(redlock completions zsh)"],
    "zsh-installed": [SHOW, "bindkey -e", "unsetopt beep", "fpath=($SOURCE/src/cli/completions $fpath)",
                      "autoload -U compinit && compinit -D -u"],
    "fish": ["function shown; printf '<%s>' $argv >>$SHOWN; echo >>$SHOWN; end",
             "redlock completions fish | source"],
}


def main():
    shell, lines = sys.argv[1], sys.argv[2:]
    home = tempfile.mkdtemp(dir=os.environ["SCRATCH_OF_TEST"])
    shown = os.path.join(home, "shown")
    open(shown, "w").close()
    os.environ.update(HOME=home, XDG_CONFIG_HOME=home, XDG_DATA_HOME=home, XDG_RUNTIME_DIR=home, SHOWN=shown,
                      TERM="xterm", INPUTRC="/dev/null", PS1="$ ")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(COMMANDS[shell][0], COMMANDS[shell])
    output = b""

    # type_line KEYS COUNT: types, and reads what the shell shows until the file has COUNT lines.
    def type_line(keys, count):
        nonlocal output
        os.write(terminal, keys.encode())
        deadline = time.monotonic() + 30
        while open(shown).read().count("\n") < count:
            if time.monotonic() > deadline:
                sys.exit(f"{shell} does nothing:\n{output.decode(errors='replace')}")
            if select.select([terminal], [], [], 0.02)[0]:
                output += os.read(terminal, 65536)

    for line in SETUP[shell]:
        os.write(terminal, (line + "\r").encode())
    type_line("shown ready\r", 1)
    for number, line in enumerate(lines):
        type_line(line + "\t\x01shown \r", number + 2)
    os.close(terminal)
    os.waitpid(pid, 0)
    print("\n".join(open(shown).read().splitlines()[1:]))


main()
