"""`proofmesh eval compare A B ...`: compares evaluations with the first one.

    eval compare evals/list evals/network             two evaluations
    eval compare evals/list evals/v1 evals/v2         two of them, each with the first
    eval compare a1,a2,a3 b1,b2,b3                    two sides with three seeds each

Statements are paired. A statement counts if both sides solved it or used up their budgets for it. The comparison is
repeated for smaller budgets of simulations and of Lean attempts.

Exit code: 0 compared, 2 a folder is not an evaluation, or there is nothing to compare.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.config import check_flags
from common.limits import Natural
from common.output.visible import say

if TYPE_CHECKING:
    from node.eval.comparing import Comparison
    from node.eval.sides import Side

BAD_INPUT = 2


@dataclass
class CompareSettings:
    """Compare evaluations with the first one."""

    evaluations: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Folders of evaluations; the first is the baseline. Folders separated by commas are one side with several
    seeds."""

    json: bool = False
    """Print one JSON document instead of tables."""

    picture: Path | None = None
    """Plot solve rates over simulations and Lean attempts, with their intervals, to this .png or .svg file."""

    seed: Natural = 0
    """Seed of the bootstrap: the same seed gives the same intervals."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    settings = tyro.cli(CompareSettings, args=list(argv), prog="proofmesh eval compare", description=__doc__)
    check_flags(settings)
    from node.eval.comparing import compare
    from node.eval.folder import FolderError
    from node.eval.sides import ComparisonError

    try:
        _check_picture(settings.picture)
        sides = _sides(settings.evaluations)
        comparisons = compare(sides, settings.seed)
        if settings.picture is not None:
            _draw(sides, comparisons, settings.picture)
    except (FolderError, ComparisonError, _BadPicture) as error:
        say(f"proofmesh eval compare: {error}", file=sys.stderr)
        return BAD_INPUT
    from node.command.evaluate.compare_view import as_json, show

    if settings.json:
        print(as_json(comparisons))
    else:
        show(comparisons)
    if settings.picture is not None:
        say(f"proofmesh eval compare: wrote {settings.picture}", file=sys.stderr)
    return 0


class _BadPicture(Exception):
    """The picture cannot be written. The message gives the reason."""


def _check_picture(path: Path | None) -> None:
    """Check the file type before any work. Raises _BadPicture."""
    if path is not None and path.suffix not in (".png", ".svg"):
        raise _BadPicture(f"--picture {path}: name a .png or .svg file")


def _draw(sides: Sequence[Side], comparisons: Sequence[Comparison], path: Path) -> None:
    """Draw the curves of all sides. Raises _BadPicture."""
    from node.eval.known import LEAN_ATTEMPTS, SIMULATIONS
    from node.eval.pictures import draw_panels
    from node.eval.side_curves import side_curves

    try:
        draw_panels([(kind, side_curves(sides, comparisons, kind)) for kind in (SIMULATIONS, LEAN_ATTEMPTS)], path)
    except OSError as error:
        raise _BadPicture(f"--picture {path}: cannot be written: {error.strerror or error}") from error


def _sides(names: Sequence[str]) -> list[Side]:
    """Read the evaluations of each side. Raises FolderError, ComparisonError."""
    from node.eval.folder import read
    from node.eval.sides import sides_of

    groups = [[name] if Path(name).is_dir() else [part for part in name.split(",") if part] for name in names]
    return sides_of([[read(Path(name)) for name in group] for group in groups if group])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
