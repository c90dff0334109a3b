"""The final output of `proofmesh eval`: the results and their files, or one JSON object."""

from __future__ import annotations

import sys
from pathlib import Path

from common.output.terminal import Console, line
from common.output.visible import escaped_json
from node.eval.outputs import PICTURE, PROOFS, REPORT, RESULTS, summary_lines
from node.eval.results import Results

MANY = 4
"""From this number of additional proof files on, only their number is printed."""


def printed(results: Results, folder: Path, *, json: bool) -> None:
    """Print the results. They must already be in the folder."""
    if json:
        sys.stdout.write(escaped_json((folder / RESULTS).read_text(encoding="utf-8")))
        return
    console = Console()
    console.print(summary_lines(results))
    more_files = sorted(file.name for file in folder.glob(f"{Path(PROOFS).stem}-*.lean"))
    many = f"{PROOFS} and {len(more_files)} more files of proofs"
    shown = [PROOFS, *more_files] if len(more_files) < MANY else [many]
    console.print(line(f"in {folder}: {', '.join([REPORT, PICTURE, RESULTS, *shown])}"))
