"""What the parts of reinforcement learning are worth: the same short run without one part at a time.

    python -m scripts.studies.rl_ablations [--seeds 0] [--minutes 15] [--only whole control no-values]

All runs of a seed begin with the network of the whole run's warm start, and evaluate themselves before and after
learning on the same test statements with the same seeds. A run without a part of the search is also evaluated without
it. Finished runs are skipped and unfinished ones continue. Prints a table at the end (`just rl-ablations`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from common import config
from common.limits import Duration, Natural
from common.paired import mcnemar
from common.recipes import recipe
from common.records.store import Store
from node.learner.attempts.tally import solved_by
from node.learner.run.directory import RunDirectory
from node.learner.summary import Solved, compare
from scripts.studies.methods import networks
from scripts.studies.runs import CONTROL, Changes, changed, learn
from scripts.studies.tables import markdown, p_value, points

WHOLE = "whole"
"""The run with all parts. It comes first: the others begin with its warm start."""

PARTS: Mapping[str, Changes] = {
    WHOLE: {},
    "control": CONTROL,
    "no-values": {"prover.search": {"values": False}},
    "no-and-nodes": {"prover.search": {"and_nodes": False}},
    "no-exploration": {"learner.matchmaker": {"explore_chance": 0.0}},
    "best-first": {"learner": {"method": "best-first"}},
    "no-disproof": {"learner.matchmaker": {"disprove_chance": 0.0}},
    "merging-by-text": {"prover.search": {"merging": "text"}},
    "negation": {"prover.search": {"negate_below": 8.0}},
    "unlikelihood": {"learner.trainer": {"unlikelihood": 1.0}},
}
"""The keys that differ from the demo's recipe, by run.

`control` takes as many supervised steps as the whole run, on the warm start's proofs. `best-first` is expert iteration:
best-first search, which uses no values. `negation` and `unlikelihood` add a part: negations of pessimistic states, the
loss on failed tactics.
"""


@dataclass
class AblationSettings:
    """Short runs of reinforcement learning, each without one part."""

    seeds: tuple[Natural, ...] = (0,)
    minutes: Duration = 15.0
    """Of reinforcement learning in each run; the warm start and two evaluations come on top."""
    statements: Natural = 160
    """Of each evaluation; 0: all."""
    only: tuple[str, ...] = ()
    """Runs to do and to show; empty: all."""
    runs: Path = Path("runs")
    """Folder of the runs: rl-whole-0 and so on."""


@dataclass(frozen=True)
class Played:
    """A finished run."""

    summary: Mapping[str, Any]
    before: Solved
    """Whether each statement was solved before learning; None: undecided."""
    after: Solved


def main() -> int:
    settings = tyro.cli(AblationSettings, description=__doc__)
    chosen = settings.only or tuple(PARTS)
    if unknown := sorted(set(chosen) - set(PARTS)):
        print(f"rl_ablations: --only {' '.join(unknown)}: there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for seed in settings.seeds:
        for part in chosen:
            print(f"run {part}, seed {seed}", flush=True)
            if code := play(settings, part, seed):
                return code
    print(table(settings, chosen))
    return 0


def folder(settings: AblationSettings, part: str, seed: int) -> Path:
    """The folder of a run."""
    return settings.runs / f"rl-{part}-{seed}"


def play(settings: AblationSettings, part: str, seed: int) -> int:
    """Do a run, or continue it; returns its exit code."""
    run, whole = folder(settings, part, seed), folder(settings, WHOLE, seed)
    content = changed(config.read(recipe("demo")), PARTS[part])
    content["learner"]["evaluation"]["statements"] = settings.statements
    if part != WHOLE:
        warm, _ = networks(whole)
        content["learner"]["warm_start"]["checkpoint"] = str(warm.absolute())
    control_of = whole if part == "control" else None
    file = settings.runs / f"{run.name}.toml"
    return learn(run, seed, content, file, minutes=settings.minutes, control_of=control_of)


def read(run: Path) -> Played:
    """A finished run with the outcomes of its two evaluations. Raises OSError."""
    directory = RunDirectory(run.parent.absolute(), run.name)
    store = Store(directory.database)
    try:
        labels = {row.label: row.evaluation_id for row in store.evaluations()}
        outcomes = {label: solved_by(store.evaluated(labels[label])) for label in ("before", "after")}
    finally:
        store.close()
    return Played(json.loads((run / "summary.json").read_text()), outcomes["before"], outcomes["after"])


def table(settings: AblationSettings, chosen: tuple[str, ...]) -> str:
    """Solved statements of each run, and the difference from the whole run, statement by statement."""
    heading = ["run", "before -> after", "after - whole's after [95%]", "p", "steps", "transitions", "expansions/s"]
    rows = []
    for seed in settings.seeds:
        whole = read(folder(settings, WHOLE, seed))
        for part in chosen:
            played = read(folder(settings, part, seed))
            counts = [sum(each is True for each in side.values()) for side in (played.before, played.after)]
            rows.append(
                [
                    f"{part}, seed {seed}",
                    f"{counts[0]} -> {counts[1]}",
                    *(("", "") if part == WHOLE else difference(whole.after, played.after)),
                    f"{played.summary['train_steps']:,}",
                    f"{played.summary['transitions']:,}",
                    f"{played.summary['expansions_per_s']:.1f}",
                ]
            )
    return markdown(heading, rows)


def difference(first: Solved, second: Solved) -> tuple[str, str]:
    """Points between two evaluations with their interval, and the p-value of McNemar's test. Statements that one of
    them leaves undecided do not count."""
    found = compare(first, second, seed=0)
    only_first = sum(solved is True and second[name] is False for name, solved in first.items())
    only_second = sum(solved is False and second[name] is True for name, solved in first.items())
    return points(found.difference, found.low, found.high), p_value(mcnemar(only_first, only_second))


if __name__ == "__main__":
    sys.exit(main())
