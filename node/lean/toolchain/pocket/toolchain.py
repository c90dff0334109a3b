"""The command and the environment that run pocket Lean.

subprocess.run([*toolchain.command(), "--json", "--stdin"], env=toolchain.environment(), ...)
"""

from functools import cache
from pathlib import Path

from node.lean.toolchain.pocket import build, builds


def command() -> list[str]:
    """Command line of `lean`, for any working directory; append Lean's own arguments."""
    return build.lean_command()


def kernel_command() -> list[str]:
    """Command line of the separate kernel (`kernel.py`); append the path of a plan."""
    return build.kernel_command()


def environment() -> dict[str, str]:
    """All variables that Lean needs: LEAN_PATH, LEAN_BACKTRACE, the path of the native library. None is inherited.

    Builds the library on first use (seconds; later calls return at once). Raises build.PocketBuildError.
    """
    return build.lean_environment(library())


@cache
def library() -> Path:
    """Directory of the compiled library, which is built on first use, and locked until this process ends."""
    while not builds.hold(directory := build.build()):
        pass  # another process deleted the build before it was locked: build again
    return directory
