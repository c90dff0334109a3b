"""The tables and the picture of the study of methods, as Markdown.

    python -m scripts.studies.methods_page [--out evals/methods] [--pictures docs/pictures]

Prints the tables; docs/results.md holds them between words of ours. Cells that are not finished are left out, with a
line on standard error.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from node.eval.comparing import Comparison, Difference, compare
from node.eval.folder import Evaluation, FolderError, read
from node.eval.known import LEAN_ATTEMPTS, SIMULATIONS, share_open, share_within
from node.eval.pictures import draw_panels
from node.eval.results import Results, results_of
from node.eval.side_curves import side_curves
from node.eval.sides import Side
from scripts.studies.methods import METHODS

POLICIES = ("list", "warm", "warm+list", "learned", "learned+list")
SEEDS = range(3)

PAIRS = (
    (("warm", "mcts"), ("learned", "mcts")),
    (("list", "mcts"), ("learned", "mcts")),
    (("list", "mcts"), ("warm+list", "mcts")),
    (("list", "mcts"), ("learned+list", "mcts")),
    (("warm+list", "mcts"), ("learned+list", "mcts")),
    *(((policy, "best-first"), (policy, "mcts")) for policy in POLICIES),
    *(((policy, "random"), (policy, "mcts")) for policy in POLICIES),
)
"""What is compared: (policy, method) with (policy, method)."""


@dataclass
class PageSettings:
    """Tables of a study."""

    out: Path = Path("evals/methods")
    """Folder of the evaluations."""
    pictures: Path = Path("docs/pictures")


Key = tuple[str, str]
"""A policy and a method."""


def evaluations(folder: Path, policy: str, method: str) -> list[Evaluation]:
    """The finished evaluations of a cell, one for each seed. The list draws nothing: one seed does for all."""
    found = []
    for seed in SEEDS:
        try:
            evaluation = read(folder / f"{policy}-{method}-{seed}")
        except FolderError as error:
            if policy != "list" or method == "random" or seed == 0:
                print(f"left out: {error}", file=sys.stderr)
            continue
        if missing := results_of(evaluation).missing:
            print(f"left out: {evaluation.path}: {missing} attempts are missing", file=sys.stderr)
            continue
        found.append(evaluation)
    return found


def sides(folder: Path) -> dict[Key, Side]:
    """All cells that have an evaluation."""
    found = {}
    for policy in POLICIES:
        for method in METHODS:
            if several := evaluations(folder, policy, method):
                results = tuple(results_of(each) for each in several)
                found[policy, method] = Side(f"{policy}, {method}", tuple(several), results)
    return found


def markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    lines = [heading, ["---", *("---:" for _ in heading[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spread(values: Sequence[float]) -> str:
    """Mean of the seeds in percent, and their standard deviation."""
    mean = f"{100 * statistics.fmean(values):.1f}"
    return f"{mean} ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else mean


def within(results: Results, kind: str, limit: float) -> float | None:
    """Share solved within a budget; None where that is not known of every statement."""
    if any(share_open(row, results.plan, kind, limit) for row in results.statements if row.counts):
        return None
    return at_least(results, kind, limit)


def at_least(results: Results, kind: str, limit: float) -> float:
    """Share solved within a budget as far as is known."""
    return statistics.fmean(share_within(row, kind, limit) for row in results.statements if row.counts)


def cell(side: Side, value: Callable[[Results], float | None]) -> str:
    """A value over the seeds; a dash where it is not known for one of them."""
    found = [value(each) for each in side.seeds]
    known = [each for each in found if each is not None]
    return spread(known) if len(known) == len(found) else "–"


def by_method(found: dict[Key, Side]) -> str:
    """Solved with the whole budget."""
    rows = []
    for policy in POLICIES:
        cells = [
            cell(found[policy, method], lambda each: each.total.rate) for method in METHODS if (policy, method) in found
        ]
        rows.append([policy, *cells])
    return markdown(["% solved", *METHODS], rows)


def by_budget(found: dict[Key, Side], kind: str, limits: Sequence[int]) -> str:
    """Solved by MCTS with smaller budgets."""

    def solved(policy: str, limit: int) -> str:
        return cell(found[policy, "mcts"], lambda each: within(each, kind, limit))

    rows = [[policy, *(solved(policy, limit) for limit in limits)] for policy in POLICIES if (policy, "mcts") in found]
    return markdown([f"% solved within ... {kind.replace('_', ' ')}", *map(str, limits)], rows)


def compared(found: dict[Key, Side]) -> Iterator[list[str]]:
    """Rows of differences."""
    for first, second in PAIRS:
        if first in found and second in found:
            (comparison,) = compare([found[first], found[second]])
            yield [f"{', '.join(second)} − {', '.join(first)}", *difference(comparison.total), *spent(comparison)]


def difference(found: Difference) -> list[str]:
    points = [f"{100 * value:+.1f}" for value in (found.difference, found.low, found.high)]
    p = "< 0.001" if found.p < 0.001 else f"{found.p:.3f}"
    return [f"{points[0]} [{points[1]}, {points[2]}]", p]


def spent(comparison: Comparison) -> list[str]:
    """Statements that one side alone solved, and what Lean tried for an attempt on each."""
    first, second = comparison.first.spent, comparison.second.spent
    only = f"{comparison.total.only_second} / {comparison.total.only_first}"
    return [only, f"{second.lean_attempts:.0f} / {first.lean_attempts:.0f}"]


def draw(found: dict[Key, Side], keys: Sequence[Key], path: Path) -> None:
    """Curves of some cells."""
    chosen = [found[key] for key in keys if key in found]
    comparisons = compare(chosen)
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_panels([(kind, side_curves(chosen, comparisons, kind)) for kind in (LEAN_ATTEMPTS, SIMULATIONS)], path)


def main() -> int:
    settings = tyro.cli(PageSettings, description=__doc__)
    found = sides(settings.out)
    print(by_method(found), by_budget(found, LEAN_ATTEMPTS, (8, 16, 32, 64, 128)), sep="\n\n", end="\n\n")
    print(by_budget(found, SIMULATIONS, (1, 2, 4, 8, 16)), end="\n\n")
    heading = ["second − first", "points [95%]", "p", "only one solved", "Lean attempts"]
    print(markdown(heading, list(compared(found))))
    draw(found, [(policy, "mcts") for policy in POLICIES], settings.pictures / "policies.png")
    draw(found, [("learned", method) for method in METHODS], settings.pictures / "methods.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
