"""The tables and the picture of the study of methods, as Markdown.

    python -m scripts.studies.methods_page [--out evals/methods] [--pictures docs/pictures]

Prints the tables; docs/results.md holds them between words of ours. Cells that are not finished are left out, with a
line on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from node.eval.comparing import compare
from node.eval.folder import Evaluation, FolderError, read
from node.eval.known import LEAN_ATTEMPTS, SIMULATIONS
from node.eval.results import results_of
from node.eval.sides import Side
from scripts.studies.methods import METHODS
from scripts.studies.tables import cell, difference, draw, markdown, spent, within

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


def main() -> int:
    settings = tyro.cli(PageSettings, description=__doc__)
    found = sides(settings.out)
    print(by_method(found), by_budget(found, LEAN_ATTEMPTS, (8, 16, 32, 64, 128)), sep="\n\n", end="\n\n")
    print(by_budget(found, SIMULATIONS, (1, 2, 4, 8, 16)), end="\n\n")
    heading = ["second − first", "points [95%]", "p", "only one solved", "Lean attempts"]
    print(markdown(heading, list(compared(found))))
    by_mcts = [found[policy, "mcts"] for policy in POLICIES if (policy, "mcts") in found]
    learned = [found["learned", method] for method in METHODS if ("learned", method) in found]
    draw(by_mcts, settings.pictures / "policies.png")
    draw(learned, settings.pictures / "methods.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
