"""Prints the tables of the study of methods as Markdown, and draws its picture.

    python -m scripts.studies.methods_page [--out evals/methods] [--pictures docs/pictures]

Prints the tables; docs/results.md holds them between words of ours. Cells that are not finished are left out, with a
line on standard error.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from node.eval.known import LEAN_ATTEMPTS, SIMULATIONS
from node.eval.sides import Side
from scripts.studies.methods import METHODS
from scripts.studies.tables import by_budget, cell, differences, draw, finished, markdown

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
"""Pairs of cells to compare: (policy, method) with (policy, method)."""


@dataclass
class PageSettings:
    """Tables of a study."""

    out: Path = Path("evals/methods")
    """Folder of the evaluations."""
    pictures: Path = Path("docs/pictures")


Key = tuple[str, str]
"""A policy and a method."""


def sides(folder: Path) -> dict[Key, Side]:
    """All cells that have an evaluation."""
    found = {}
    for policy in POLICIES:
        for method in METHODS:
            seeds = SEEDS if policy != "list" or method == "random" else SEEDS[:1]  # the list is deterministic
            side = finished(f"{policy}, {method}", (folder / f"{policy}-{method}-{seed}" for seed in seeds))
            if side is not None:
                found[policy, method] = side
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


def main() -> int:
    settings = tyro.cli(PageSettings, description=__doc__)
    found = sides(settings.out)
    by_mcts = {policy: found[policy, "mcts"] for policy in POLICIES if (policy, "mcts") in found}
    learned = [found["learned", method] for method in METHODS if ("learned", method) in found]
    print(by_method(found), by_budget(by_mcts, LEAN_ATTEMPTS, (8, 16, 32, 64, 128)), sep="\n\n", end="\n\n")
    print(by_budget(by_mcts, SIMULATIONS, (1, 2, 4, 8, 16)), end="\n\n")
    print(differences(found, PAIRS))
    draw(list(by_mcts.values()), settings.pictures / "policies.png")
    draw(learned, settings.pictures / "methods.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
