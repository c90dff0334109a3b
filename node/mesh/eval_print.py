"""What `proofmesh eval` prints at its end: the results and where they lie, or one JSON object."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from node.eval.outputs import PICTURE, PROOFS, REPORT, RESULTS, summary_lines
from node.eval.results import Results

MANY = 4
"""Files of proofs from which on they are counted."""


def printed(results: Results, folder: Path, *, json: bool) -> None:
    """Print the results, which have been written to the folder."""
    if json:
        sys.stdout.write((folder / RESULTS).read_text(encoding="utf-8"))
        return
    console = Console()
    console.print(summary_lines(results))
    further = sorted(file.name for file in folder.glob(f"{Path(PROOFS).stem}-*.lean"))
    shown = [PROOFS, *further] if len(further) < MANY else [f"{PROOFS} and {len(further)} more files of proofs"]
    console.print(f"in {folder}: {', '.join([REPORT, PICTURE, RESULTS, *shown])}", markup=False, highlight=False)
