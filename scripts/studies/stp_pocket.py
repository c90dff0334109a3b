"""Compares self-play with expert iteration, from the same first network (`just stp-pocket`).

    python -m scripts.studies.stp_pocket [--seeds 0] [--minutes 50] [--runs runs] [--changes ...]

For each seed `stp-pocket-S` plays scripts/recipes/stp-pocket.toml, and `ei-pocket-S` the same without conjectures: it
samples more proofs of each statement in their place, as STP's own comparison does. Its first network is the other's.
Runs that are finished are passed over, and unfinished ones go on: start it again as often as needed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from common.limits import Duration
from common.recipes import recipe
from node.stp.data.initial import PREPARED
from node.stp.records import FILE
from node.stp.rounds import begin_with
from node.stp.store import StpStore

EXPERT = ("--stp.conjecturer.share", "0", "--stp.prover.first-samples", "42", "--stp.prover.samples", "22")
"""Flags of expert iteration: as many samples a round as self-play takes for statements and conjectures together."""


@dataclass
class StudySettings:
    """Self-play and expert iteration."""

    seeds: tuple[int, ...] = (0,)
    minutes: Duration = 50.0
    """Minutes of rounds for each run; the last training follows."""
    runs: Path = Path("runs")
    """Folder of the runs."""


def begin_as(source: Path, folder: Path) -> None:
    """Let a run begin with the first network and the first evaluation of another run."""
    if (folder / FILE).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source / PREPARED, folder / PREPARED, dirs_exist_ok=True)
    records = StpStore(source / FILE, read_only=True)
    row, evaluations = records.round(0), records.evaluations().get(0, {})
    records.close()
    if row is None or row.checkpoint is None:
        raise SystemExit(f"stp_pocket: {source} has no first network yet")
    store = StpStore(folder / FILE)
    begin_with(store, row.checkpoint)
    for name, numbers in evaluations.items():
        store.add_evaluation(0, name, numbers)
    store.close()


def play(settings: StudySettings, name: str, seed: int, *changes: str) -> int:
    """Do a run, or continue it; returns its exit code."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "node.command.cli", "stp", "run", str(recipe("stp-pocket")), "--run", name),
            *("--directory", str(settings.runs), "--stp.seed", str(seed), "--stp.minutes", str(settings.minutes)),
            *changes,
        ],
        check=False,
    ).returncode


def main() -> int:
    settings = tyro.cli(StudySettings, description=__doc__)
    for seed in settings.seeds:
        played, expert = f"stp-pocket-{seed}", f"ei-pocket-{seed}"
        if code := play(settings, played, seed):
            return code
        begin_as(settings.runs.absolute() / played, settings.runs.absolute() / expert)
        if code := play(settings, expert, seed, *EXPERT):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
