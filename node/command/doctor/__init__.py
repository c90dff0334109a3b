"""`proofmesh doctor`: one look at everything that proofmesh needs here."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError. Without the packages, it looks at what it can."""
    if importlib.util.find_spec("tyro") is None:
        from node.command.doctor.around import without_packages

        return without_packages(argv)
    from node.command.doctor import command

    return command.main(argv)
