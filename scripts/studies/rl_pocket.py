"""What an hour of reinforcement learning on two cores is worth, beside its controls (`just rl-pocket`).

    python -m scripts.studies.rl_pocket [--seeds 0 1 2] [--minutes 60] [--limit 0] [--only CELL] [--bank witness]

For each seed three runs from the same warm start: `rl` (an hour of the mesh), `control` (as many supervised steps on
the warm start's proofs) and `expert` (an hour of expert iteration: best-first search, no values). Then their networks,
and the fixed list of tactics alone and by turns with them, are evaluated at equal Lean attempts on every test
statement, and on statements that no generator made (`textbook`). Two cells have ten times the Lean attempts: statements
that neither of them proves, but the hour's network and list do, are beyond the list.

`--bank witness` learns from the bank `witness` as well, whose statements ask for witnesses that the list seldom
proposes, and evaluates on its test statements.

Finished runs and evaluations are skipped, and unfinished ones continue: start it again as often as needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import tyro

from common import config
from common.limits import Duration, Natural
from common.recipes import recipe
from scripts.studies.cells import CellSettings, play
from scripts.studies.methods import networks
from scripts.studies.runs import CONTROL, Changes, changed, learn

RUNS: tuple[Literal["rl", "control", "expert"], ...] = ("rl", "control", "expert")

BENCHES = {"test": "pocket:test", "textbook": "textbook"}
WITNESS_BENCHES = {"test": "witness:test"}

MORE = 10
"""Factor of the Lean attempts of the policies to be beaten."""

KINDS: Mapping[str, Changes] = {"rl": {}, "control": CONTROL, "expert": {"learner": {"method": "best-first"}}}
"""The keys that differ from the recipe, by kind of run."""


@dataclass(kw_only=True)
class StudySettings(CellSettings):
    """An hour of reinforcement learning and its controls."""

    out: Path = Path("evals/rl-pocket")
    """Folder of the evaluations."""
    runs: Path = Path("runs")
    """Folder of the runs: rl-pocket-rl-0 and so on."""
    limit: Natural = 0
    """Statements of each evaluation; 0: all."""
    seeds: tuple[int, ...] = (0,)
    """Seeds; one run of each kind for each of them."""
    minutes: Duration = 60.0
    """Minutes of reinforcement learning, and of expert iteration."""
    kinds: tuple[Literal["rl", "control", "expert"], ...] = RUNS
    """Runs to do and to evaluate."""
    only: str = ""
    """Only evaluate the cells whose names contain this."""
    bank: Literal["pocket", "witness"] = "pocket"
    """Bank to learn from and to evaluate on."""

    @property
    def benches(self) -> dict[str, str]:
        """Benchmarks of the evaluations, by the first part of the names of their cells."""
        return BENCHES if self.bank == "pocket" else WITNESS_BENCHES


@dataclass(frozen=True)
class Cell:
    """One evaluation."""

    policy: str
    spec: str
    """The same for `--policy`."""
    method: str
    bench: str
    """`test` or `textbook`."""
    seed: int
    more: int = 1
    """Times the study's Lean attempts."""

    @property
    def name(self) -> str:
        budget = f"-x{self.more}" if self.more > 1 else ""
        return f"{self.bench}-{self.policy.replace(' ', '-')}-{self.method}{budget}-{self.seed}"


def folder(settings: StudySettings, kind: str, seed: int) -> Path:
    """The folder of a run."""
    return settings.runs / f"rl-{settings.bank}-{kind}-{seed}"


def play_run(settings: StudySettings, kind: str, seed: int) -> int:
    """Do a run, or continue it; returns its exit code."""
    content = changed(config.read(recipe(f"rl-{settings.bank}")), KINDS[kind])
    control_of = folder(settings, "rl", seed) if kind == "control" else None
    file = settings.out / f"{kind}.toml"
    return learn(folder(settings, kind, seed), seed, content, file, minutes=settings.minutes, control_of=control_of)


def cells(settings: StudySettings) -> Iterator[Cell]:
    """All cells of the runs, which must be finished."""
    first = settings.seeds[0]
    for seed in settings.seeds:
        done = {kind: networks(folder(settings, kind, seed)) for kind in settings.kinds}
        warm = f"own:{next(iter(done.values()))[0]}"
        ends = {"learned" if kind == "rl" else kind: f"own:{end}" for kind, (_, end) in done.items()}
        policies = {"list": "tactics", "warm": warm, **ends, "warm and list": f"{warm},tactics"}
        if "learned" in ends:
            policies["learned and list"] = f"{ends['learned']},tactics"
        if seed != first:
            del policies["list"]  # it is deterministic
        for bench in settings.benches:
            for policy, spec in policies.items():
                yield Cell(policy, spec, "best-first" if policy == "expert" else "mcts", bench, seed)
        yield Cell("warm", warm, "best-first", "test", seed)
        for policy in ("list", "warm and list"):
            if policy in policies:
                yield Cell(policy, policies[policy], "mcts", "test", seed, MORE)


def main() -> int:
    settings = tyro.cli(StudySettings, description=__doc__)
    if not (settings.seeds and settings.kinds):
        print("rl_pocket: give --seeds and --kinds at least one value each, or leave them out", file=sys.stderr)
        return 2
    for seed in settings.seeds:
        for kind in settings.kinds:
            print(f"run {kind}, seed {seed}", flush=True)
            if code := play_run(settings, kind, seed):
                return code
    chosen = [cell for cell in cells(settings) if settings.only in cell.name]
    if not chosen:
        print(f"rl_pocket: no cell is called like --only {settings.only!r}", file=sys.stderr)
        return 2
    for number, cell in enumerate(chosen, 1):
        print(f"{number} of {len(chosen)}: {cell.name}", flush=True)
        budget = replace(settings, bench=settings.benches[cell.bench], lean_attempts=settings.lean_attempts * cell.more)
        if code := play(budget, cell.name, cell.spec, cell.method, "--seed", str(cell.seed)):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
