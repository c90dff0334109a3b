"""Run as `python keeper.py PARENT PROGRAM ARGUMENTS...`: makes Linux kill this process when PARENT ends, then executes
PROGRAM in its place (see `common.life.process`).

Imports little, and only from the standard library: this runs at the start of every child process.
"""

import ctypes
import os
import sys

SIGKILL, PR_SET_PDEATHSIG = 9, 1
"""Importing `signal` would take 5 ms."""

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(f"the parent process ended before {sys.argv[2]} started")
    try:
        os.execvp(sys.argv[2], sys.argv[2:])
    except OSError as error:
        sys.exit(f"{sys.argv[2]}: {error.strerror}")
