"""Set-up step for pocket Lean, run in the new environment. Prints the number of compiled modules, if any."""

from __future__ import annotations

import sys

from node.lean.toolchain.pocket import build


def main() -> int:
    """Compile pocket Lean's library unless it exists; returns the exit code."""
    lines: list[str] = []
    try:
        build.build(report=lines.append)
    except build.PocketBuildError as error:
        print(error, file=sys.stderr)
        return 1
    if len(lines) > 1:
        print(f"compiled {len(lines) - 1} modules")
    return 0


if __name__ == "__main__":
    sys.exit(main())
