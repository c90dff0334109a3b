"""Run as `python keeper.py PARENT PROGRAM ARGUMENTS...`: makes Linux kill this process when PARENT ends, then executes
PROGRAM in its place (see `common.life.process`).

Imports little, and only from the standard library: this runs at the start of every child process.
"""

import ctypes
import os
import sys
from types import CodeType

SIGKILL, PR_SET_PDEATHSIG = 9, 1
"""Importing `signal` would take 5 ms."""


def script_of(program: list[str]) -> CodeType | None:
    """The code of a program that is a script for a Python like this one, as pocket Lean is: it needs no other start of
    Python, which takes 12 ms. None for other programs. Raises OSError."""
    if program[:3] != [sys.executable, "-I", "-S"] or not "".join(program[3:4]).endswith(".py"):
        return None
    with open(program[3], "rb") as file:  # noqa: PTH123 - importing pathlib would take 5 ms
        return compile(file.read(), program[3], "exec")


if __name__ == "__main__":
    program = sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(f"the parent process ended before {program[0]} started")
    try:
        script = script_of(program)
        if script is None:
            os.execvp(program[0], program)
    except OSError as error:
        sys.exit(f"{program[0]}: {error.strerror}")
    sys.argv = program[3:]
    exec(script, {"__name__": "__main__", "__file__": program[3]})
