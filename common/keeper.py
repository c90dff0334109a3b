"""Run as `python keeper.py PARENT PROGRAM ARGUMENTS...`: die with PARENT, then become PROGRAM (see `common.process`).

Standard library only, and little of it: this runs before every child.
"""

import ctypes
import os
import signal
import sys

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the parent has gone")
    try:
        os.execvp(sys.argv[2], sys.argv[2:])
    except OSError as error:
        sys.exit(f"{sys.argv[2]}: {error.strerror}")
