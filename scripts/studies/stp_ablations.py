"""What the parts of self-play are worth: the same short run without one part at a time (`just stp-ablations`).

    python -m scripts.studies.stp_ablations [--seeds 0] [--rounds 6] [--statements 300] [--runs runs]

All runs of a seed begin with the same first network, attempt the same statements and sample as many proofs a round.
Runs that are finished are passed over, and unfinished ones go on. Prints a table in the end.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from common.limits import Positive
from node.stp.readers import RunSummary, open_run, summarise
from scripts.studies.stp_pocket import EXPERT, StudySettings, begin_as, play
from scripts.studies.stp_pocket_page import solved_within
from scripts.studies.tables import markdown

WHOLE = "whole"
"""The run with all parts: the others begin with its first network."""

PARTS = {
    WHOLE: (),
    "no-conjectures": EXPERT,
    "no-reweighting": ("--stp.conjecturer.no-reweight",),
    "no-elegance-cut": ("--stp.conjecturer.elegance-cut", "0"),
}
"""The flags that leave a part out, by run."""


@dataclass
class AblationSettings:
    """Short runs of self-play, each without one part."""

    seeds: tuple[int, ...] = (0,)
    rounds: Positive = 6
    """Rounds of each run. The training from the base network and an evaluation follow."""
    statements: Positive = 300
    """Number of train statements; few, so that a short run has several rounds."""
    test_statements: Positive = 160
    """Number of test statements of each evaluation."""
    runs: Path = Path("runs")
    """Folder of the runs."""


def main() -> int:
    settings = tyro.cli(AblationSettings, description=__doc__)
    study = StudySettings(runs=settings.runs, minutes=0.0)
    common = (
        *("--stp.rounds", str(settings.rounds), "--stp.statements", str(settings.statements)),
        *("--stp.evaluation.statements", str(settings.test_statements)),
    )
    for seed in settings.seeds:
        for part, changes in PARTS.items():
            if part != WHOLE:
                begin_as(_folder(settings, WHOLE, seed), _folder(settings, part, seed))
            if code := play(study, _folder(settings, part, seed).name, seed, *common, *changes):
                return code
    print(table({f"{part}, seed {seed}": _summary(settings, part, seed) for seed in settings.seeds for part in PARTS}))
    return 0


def table(runs: dict[str, RunSummary]) -> str:
    """The results of each run: solved statements at equal numbers of samples, conjectures, and the test split."""
    least = min(run.samples for run in runs.values())
    heading = ["run", f"solved within {least:,} samples", "conjectures", "proved", "barely", "test pass@1", "pass@32"]
    rows = []
    for label, run in runs.items():
        counts = [
            sum(each.elaborated for each in run.rounds),
            sum(each.proved for each in run.rounds),
            sum(each.barely for each in run.rounds),
        ]
        test = run.rounds[-1].evaluations.get("test", {})
        shares = [f"{100 * test[name]:.1f}%" if name in test else "" for name in ("pass@1", "pass@32")]
        rows.append([label, str(solved_within(run, least)), *map(str, counts), *shares])
    return markdown(heading, rows)


def _summary(settings: AblationSettings, part: str, seed: int) -> RunSummary:
    store = open_run(_folder(settings, part, seed))
    try:
        return summarise(store)
    finally:
        store.close()


def _folder(settings: AblationSettings, part: str, seed: int) -> Path:
    return settings.runs.absolute() / f"stp-{part}-{seed}"


if __name__ == "__main__":
    sys.exit(main())
