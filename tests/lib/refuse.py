# SPDX-License-Identifier: MIT
"""refuse.py CALL[:SIGNAL][,CALL...] ERROR COMMAND [ARG...]: runs the command, for which these system calls
fail with ERROR (ENOSYS, EPERM), as on an old kernel or below a seccomp filter. With a SIGNAL, only those whose
second argument it is. With KILL as the ERROR, they kill the command, as below a filter of systemd."""

import ctypes, errno, os, platform, struct, sys

# The numbers of old calls differ between architectures, those of new ones do not.
NUMBERS = {
    "pidfd_send_signal": 424,
    "pidfd_open": 434,
    "fchown": {"x86_64": 93, "aarch64": 55}[platform.machine()],
    "kill": {"x86_64": 62, "aarch64": 129}[platform.machine()],
    "wait4": {"x86_64": 61, "aarch64": 260}[platform.machine()],
    "waitid": {"x86_64": 247, "aarch64": 95}[platform.machine()],
}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # of classic BPF, see seccomp(2)
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


REFUSED = (RETURN, 0, 0, KILL if sys.argv[2] == "KILL" else ERRNO | getattr(errno, sys.argv[2]))
CALL, SECOND_ARGUMENT = 0, 24  # offsets in struct seccomp_data

code = []
for rule in sys.argv[1].split(","):
    call, _, number = rule.partition(":")
    code += [(LOAD, 0, 0, CALL), (EQUAL, 0, 3 if number else 1, NUMBERS[call])]
    code += [(LOAD, 0, 0, SECOND_ARGUMENT), (EQUAL, 0, 1, int(number))] if number else []
    code += [REFUSED]
code += [(RETURN, 0, 0, ALLOW)]
program = Program(len(code), b"".join(struct.pack("HBBI", *line) for line in code))
libc = ctypes.CDLL(None, use_errno=True)
for arguments in (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)):
    if libc.prctl(*arguments) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[3], sys.argv[3:])
