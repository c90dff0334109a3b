"""`proofmesh eval show [FOLDER ...]`: shows the results of evaluations.

For the folder of one evaluation it shows details. For a folder of several evaluations, or several folders, it shows a
table with one row each.

Exit code: 0 shown, 2 there are no evaluations, or at least one of them cannot be read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.output.visible import say

if TYPE_CHECKING:
    from node.eval.folder import Evaluation

BAD_INPUT = 2


@dataclass
class ShowSettings:
    """Show results of evaluations."""

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional] = (Path("evals"),)
    """Evaluations, and folders of evaluations."""

    json: bool = False
    """Print one JSON document instead of tables."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    settings = tyro.cli(ShowSettings, args=list(argv), prog="proofmesh eval show", description=__doc__)
    evaluations, problems = _read(settings.folders or (Path("evals"),))
    for problem in problems:
        say(f"proofmesh eval show: {problem}", file=sys.stderr)
    if evaluations:
        alone = len(evaluations) == 1 and evaluations[0].path in settings.folders
        _show(evaluations, alone=alone, json=settings.json)
    return BAD_INPUT if problems else 0


def _read(folders: Sequence[Path]) -> tuple[list[Evaluation], list[str]]:
    """The evaluations in these folders, and error messages about unreadable ones."""
    from node.eval.folder import FolderError, read
    from node.eval.overview import evaluations_in

    evaluations: dict[Path, Evaluation] = {}
    problems = []
    for folder in folders:
        try:
            paths = evaluations_in(folder)
        except FolderError as error:
            problems.append(str(error))
            continue
        for path in paths:
            try:
                evaluations.setdefault(path.resolve(), read(path))
            except FolderError as error:
                problems.append(str(error))
    return list(evaluations.values()), problems


def _show(evaluations: Sequence[Evaluation], *, alone: bool, json: bool) -> None:
    from node.command.evaluate import show_view as view
    from node.eval.overview import in_order, row_of

    if alone and json:
        print(view.detail_as_json(evaluations[0]))
    elif alone:
        view.show_detail(evaluations[0])
    elif json:
        print(view.rows_as_json(in_order([row_of(evaluation) for evaluation in evaluations])))
    else:
        view.show_rows(in_order([row_of(evaluation) for evaluation in evaluations]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
