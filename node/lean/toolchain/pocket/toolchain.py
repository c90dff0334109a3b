"""How to run pocket Lean: the command, and the environment that it needs.

subprocess.run([*toolchain.command(), "--json", "--stdin"], env=toolchain.environment(), ...)
"""

from functools import cache
from pathlib import Path

from node.lean.toolchain.pocket import build, builds


def command() -> list[str]:
    """Command line of a genuine `lean` executable, from any working directory; append Lean's own arguments."""
    return build.lean_command()


def kernel_command() -> list[str]:
    """Command line of Lean's kernel by itself (`kernel.py`); append the path of a plan."""
    return build.kernel_command()


def environment() -> dict[str, str]:
    """Every variable that Lean needs, taken over from no other process: LEAN_PATH, LEAN_BACKTRACE, the native library.

    Builds the library on first use (seconds; later calls return at once). Raises build.PocketBuildError.
    """
    return build.lean_environment(library())


@cache
def library() -> Path:
    """Directory of the compiled library, built on first use, and kept from being deleted while this process lives."""
    while not builds.hold(directory := build.build()):
        pass  # another process deleted it in this moment: it is built again
    return directory
