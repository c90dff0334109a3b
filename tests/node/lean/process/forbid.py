"""Run as `python forbid.py WHAT PROGRAM ARGUMENTS...`: become PROGRAM on a system that forbids WHAT, as containers do.

WHAT: names of system calls, separated by commas, that answer "Operation not permitted" from now on.
"""

import ctypes
import os
import struct
import sys

NUMBERS = {
    "x86_64": {"unshare": 272, "seccomp": 157, "landlock": 444},
    "aarch64": {"unshare": 97, "seccomp": 167, "landlock": 444},
}
"""`seccomp` is prctl, and only with PR_SET_SECCOMP."""

LOAD, EQUAL, ANSWER, ALLOW, REFUSE = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050001


def main(what: list[str], program: list[str]) -> None:
    """Install the filter and become the program."""
    numbers = NUMBERS[os.uname().machine]
    lines = [(LOAD, 0, 0, 0)]
    for name in what:
        if name == "seccomp":
            lines += [(EQUAL, 0, 4, numbers[name]), (LOAD, 0, 0, 16), (EQUAL, 0, 1, 22), (ANSWER, 0, 0, REFUSE)]
            lines += [(LOAD, 0, 0, 0)]
        else:
            lines += [(EQUAL, 0, 1, numbers[name]), (ANSWER, 0, 0, REFUSE)]
    lines.append((ANSWER, 0, 0, ALLOW))
    code = b"".join(struct.pack("HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    fprog = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(buffer))
    assert libc.prctl(22, 2, fprog, 0, 0) == 0, ctypes.get_errno()  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
    os.execv(program[0], program)


if __name__ == "__main__":
    main([name for name in sys.argv[1].split(",") if name], sys.argv[2:])
