"""What do models of every kind prove at equal Lean attempts? One table: networks of ours, models in transformers and on
servers, step by step and by whole proofs, the list of tactics, mixtures.

    python -m scripts.studies.models 'own=own:runs/demo' 'list=tactics' 'own+list=own:runs/demo+tactics' \\
        'hf=hf:small-llama@bfs-prover-v1' 'hf, whole=whole:hf:small-llama@stp' [--out evals/models] [--lean-attempts 64]

An entry is LABEL=POLICY; `whole:` before the policy has it write whole proofs. Each is one `proofmesh eval` in a folder
of its own, so the study may be killed and started again. Prints the table as Markdown; docs/results.md holds one.
"""

from __future__ import annotations

import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from common.limits import Natural, Positive
from common.protocol.attempts import Method
from node.eval.folder import read
from node.eval.known import LEAN_ATTEMPTS, limits
from node.eval.results import Results, results_of
from scripts.studies.cells import CellSettings, play
from scripts.studies.tables import at_least, markdown, within

WHOLE = "whole:"


@dataclass(kw_only=True)
class StudySettings(CellSettings):
    """Models of every kind at equal Lean attempts."""

    entries: Annotated[tuple[str, ...], tyro.conf.Positional]
    """LABEL=POLICY, or LABEL=whole:POLICY."""
    out: Path = Path("evals/models")
    """Folder of the evaluations."""
    limit: Natural = 80
    """Statements; 0: all."""
    lean_attempts: Positive = 64
    """Budget of each attempt: tactics, or whole proofs, that Lean tries."""
    seconds: Natural = 120
    """Seconds for one attempt, for models that repeat themselves and never use up the budget."""
    seeds: bool = True
    """Send servers seeds (see `proofmesh eval --models.seeds`)."""


@dataclass(frozen=True)
class Entry:
    """One row of the table."""

    label: str
    policy: str
    method: str

    @property
    def folder(self) -> str:
        """Name of its evaluation."""
        return re.sub(r"[^\w+.-]+", "-", self.label)


def entry(text: str) -> Entry:
    """Read LABEL=POLICY. Raises SystemExit."""
    label, equals, policy = text.partition("=")
    if not (label and equals and policy):
        raise SystemExit(f"`{text}`: write LABEL=POLICY, or LABEL=whole:POLICY")
    if policy.startswith(WHOLE):
        return Entry(label, policy.removeprefix(WHOLE), Method.WHOLE_PROOF)
    return Entry(label, policy, Method.MCTS)


def row(each: Entry, settings: StudySettings, budgets: list[int]) -> list[str]:
    """The result of its evaluation."""
    results = results_of(read(settings.out / each.folder))
    attempts = [attempt.statistics for statement in results.statements for attempt in statement.decided]
    mean = {
        name: statistics.fmean(getattr(statistic, name) for statistic in attempts)
        for name in ("lean_attempts", "tokens", "seconds")
    }
    return [
        each.label,
        *(solved_within(results, budget) for budget in budgets),
        f"{mean['lean_attempts']:.0f}",
        f"{mean['tokens']:,.0f}" if mean["tokens"] else "–",
        f"{mean['seconds']:.1f}",
    ]


def solved_within(results: Results, budget: int) -> str:
    """Share solved within so many Lean attempts, in percent. `≥`: some attempts ran out of time before."""
    bound = "≥ " if within(results, LEAN_ATTEMPTS, budget) is None else ""
    return f"{bound}{100 * at_least(results, LEAN_ATTEMPTS, budget):.1f}"


def main() -> int:
    settings = tyro.cli(StudySettings, description=__doc__)
    entries = [entry(text) for text in settings.entries]
    for number, each in enumerate(entries, 1):
        print(f"{number} of {len(entries)}: {each.label}", file=sys.stderr, flush=True)
        seeds = () if settings.seeds else ("--models.no-seeds",)
        if code := play(settings, each.folder, each.policy, each.method, "--seconds", str(settings.seconds), *seeds):
            return code
    budgets = [budget for budget in limits(settings.lean_attempts) if budget >= 4]
    heading = ["% solved within ... Lean attempts", *map(str, budgets), "Lean attempts", "tokens", "seconds"]
    print(markdown(heading, [row(each, settings, budgets) for each in entries]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
