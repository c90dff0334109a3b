"""What the parts of reinforcement learning are worth: the same short run without one part at a time.

    python -m scripts.studies.rl_ablations [--seeds 0] [--minutes 15] [--only whole control no-values]

All runs of a seed begin with the network of the whole run's warm start, and evaluate themselves before and after
learning on the same test statements with the same seeds. A run without a part of the search is also evaluated without
it. Finished runs are skipped and unfinished ones continue. Prints a table at the end (`just rl-ablations`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
import tyro

from common import config
from common.limits import Duration, Natural
from common.paired import bootstrap_interval, mcnemar
from common.recipes import recipe
from node.learner.run.directory import RunDirectory
from node.learner.store.store import Store
from node.learner.tally import solved_by
from scripts.studies.methods import networks
from scripts.studies.tables import markdown

WHOLE = "whole"
"""The run with all parts. It comes first: the others begin with its warm start."""

CONTROL = "control"
"""As many supervised steps as the whole run takes, on the warm start's proofs."""

CONTROL_RATE = 0.1
"""The control's factor of the learning rates: at the rate of reinforcement learning more steps on known proofs do harm
(docs/results.md)."""

Changes = Mapping[str, Mapping[str, Any]]
"""Table of the configuration ("learner.matchmaker") to the keys that differ from the demo's recipe."""

PARTS: Mapping[str, Changes] = {
    WHOLE: {},
    CONTROL: {"learner.trainer": {"rl_factor": CONTROL_RATE}},
    "no-values": {"prover.search": {"values": False}},
    "no-and-nodes": {"prover.search": {"and_nodes": False}},
    "no-exploration": {"learner.matchmaker": {"explore_chance": 0.0}},
    "best-first": {"learner": {"method": "best-first"}},
    "no-disproof": {"learner.matchmaker": {"disprove_chance": 0.0}},
    "merging-by-text": {"prover.search": {"merging": "text"}},
}
"""By run, what is different. `best-first` is expert iteration: best-first search, which uses no values."""


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
    before: Mapping[str, bool | None]
    """Whether each statement was solved before learning; None: undecided."""
    after: Mapping[str, bool | None]


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
    run = folder(settings, part, seed)
    if (run / "summary.json").exists():
        return 0
    content = changed(config.read(recipe("demo")), PARTS[part])
    content["learner"]["evaluation"]["statements"] = settings.statements
    arguments = ["--run", run.name, "--directory", str(settings.runs), "--seed", str(seed), "--port", "0"]
    if part != WHOLE:
        whole = folder(settings, WHOLE, seed)
        warm, _ = networks(whole)
        content["learner"]["warm_start"]["checkpoint"] = str(warm.absolute())
    if part == CONTROL:
        steps = msgspec.json.decode((whole / "summary.json").read_bytes())["train_steps"]
        arguments += ["--control", "--steps", str(steps)]
    else:
        arguments += ["--minutes", str(settings.minutes)]
    settings.runs.mkdir(parents=True, exist_ok=True)
    file = settings.runs / f"{run.name}.toml"
    file.write_text(tomli_w.dumps(content), encoding="utf-8")
    command = [sys.executable, "-m", "node.mesh.cli", "demo", "--recipe", str(file), *arguments]
    return subprocess.run(command, check=False).returncode


def changed(content: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """A configuration with some of its keys replaced; the given one stays as it is."""
    result: dict[str, Any] = json.loads(json.dumps(content))
    for path, keys in changes.items():
        section = result
        for name in path.split("."):
            section = section.setdefault(name, {})
        section.update(keys)
    return result


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


def difference(first: Mapping[str, bool | None], second: Mapping[str, bool | None]) -> tuple[str, str]:
    """Points between two evaluations with their interval, and the p-value of McNemar's test. Statements that one of
    them leaves undecided do not count."""
    both = [(value, second.get(name)) for name, value in first.items()]
    pairs = [(float(one), float(other)) for one, other in both if one is not None and other is not None]
    points = [f"{100 * value:+.1f}" for value in bootstrap_interval(pairs, seed=0)]
    p = mcnemar(sum(one > other for one, other in pairs), sum(one < other for one, other in pairs))
    return f"{points[0]} [{points[1]}, {points[2]}]", "< 0.001" if p < 0.001 else f"{p:.3f}"


if __name__ == "__main__":
    sys.exit(main())
