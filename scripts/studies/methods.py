"""Which policy proves what, with which search, at equal Lean attempts? The fixed list, the network after its warm start
and after learning, each network also beside the list; by MCTS, best-first and random search; several runs.

    python -m scripts.studies.methods RUN [RUN ...] [--out evals/methods] [--limit 160] [--lean-attempts 128]

RUN is the folder of a finished `proofmesh demo --seed N --run NAME`. Each cell is one `proofmesh eval` in a folder of
its own, so the study may be killed and started again. `--only` plays cells whose names contain a text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from scripts.studies.cells import CellSettings, play

METHODS = ("mcts", "best-first", "random")


@dataclass(kw_only=True)
class StudySettings(CellSettings):
    """Policies and searches at equal Lean attempts."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of finished runs; their order gives the seeds of the evaluations: 0, 1, 2."""
    out: Path = Path("evals/methods")
    """Folder of the evaluations."""
    only: str = ""
    """Only evaluate the cells whose names contain this."""


@dataclass(frozen=True)
class Cell:
    """One evaluation of the study."""

    policy: str
    """`list`, `warm`, `warm+list`, `learned`, `learned+list`."""
    spec: str
    """The same for `--policy`."""
    method: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.policy}-{self.method}-{self.seed}"


def networks(run: Path) -> tuple[Path, Path]:
    """The checkpoints of a run after its warm start and at its end. Raises SystemExit with a line that says what is
    missing."""
    try:
        steps = json.loads((run / "summary.json").read_text())["warm_start"]["steps"]
    except (OSError, ValueError, KeyError) as error:
        raise SystemExit(f"{run}: no finished run with a warm start ({error})") from error
    warm = run / "checkpoints" / f"step-{steps:06d}"
    learned = max((run / "checkpoints").glob("step-*"))
    if not warm.is_dir() or warm == learned:
        raise SystemExit(f"{run}: the checkpoints after the warm start and at the end are not both there")
    return warm, learned


def cells(runs: tuple[Path, ...]) -> Iterator[Cell]:
    """All cells, run by run. The list is deterministic, so only random search needs more than one seed of it."""
    for seed, run in enumerate(runs):
        warm, learned = networks(run)
        policies = {
            "list": "tactics",
            "warm": f"own:{warm}",
            "warm+list": f"own:{warm}+tactics",
            "learned": f"own:{learned}",
            "learned+list": f"own:{learned}+tactics",
        }
        for policy, spec in policies.items():
            for method in METHODS:
                if policy != "list" or method == "random" or seed == 0:
                    yield Cell(policy, spec, method, seed)


def main() -> int:
    settings = tyro.cli(StudySettings, description=__doc__)
    wanted = [cell for cell in cells(settings.runs) if settings.only in cell.name]
    for number, cell in enumerate(wanted, 1):
        print(f"{number} of {len(wanted)}: {cell.name}", flush=True)
        if code := play(settings, cell.name, cell.spec, cell.method, "--seed", str(cell.seed)):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
