"""Prints the tables of an hour of reinforcement learning (`scripts.studies.rl_pocket`), and draws its picture.

    python -m scripts.studies.rl_pocket_page [--out evals/rl-pocket] [--seeds 0] [--bank pocket]

docs/results.md has these tables. Unfinished cells are left out, with a line on standard error.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from node.eval.known import LEAN_ATTEMPTS
from node.eval.sides import Side
from scripts.studies.rl_pocket import BENCHES, MORE
from scripts.studies.tables import by_budget, differences, draw, finished

MCTS = ("list", "warm", "control", "learned", "warm and list", "learned and list")
"""Policies that are searched by MCTS, in the order of the tables."""

BEST_FIRST = {"warm, best-first": "warm-best-first", "expert iteration": "expert-best-first"}

LIMITS = (8, 16, 32, 64, 128)

PAIRS = (
    ("control", "learned"),
    ("expert iteration", "learned"),
    ("warm", "learned"),
    ("list", "learned"),
    ("list", "learned and list"),
    ("warm and list", "learned and list"),
)


@dataclass
class PageSettings:
    """Tables of the study."""

    out: Path = Path("evals/rl-pocket")
    """Folder of the evaluations."""
    seeds: tuple[int, ...] = (0,)
    bank: Literal["pocket", "witness"] = "pocket"
    """Bank of the study; it names the picture."""
    pictures: Path = Path("docs/pictures")


def side(settings: PageSettings, label: str, name: str) -> Side | None:
    """The finished evaluations of a cell."""
    return finished(label, (settings.out / f"{name}-{seed}" for seed in settings.seeds))


def sides(settings: PageSettings, bench: str) -> dict[str, Side]:
    """All cells of a bench at the study's budget."""
    names = {policy: f"{bench}-{policy.replace(' ', '-')}-mcts" for policy in MCTS}
    names |= {label: f"{bench}-{name}" for label, name in BEST_FIRST.items()}
    found = {label: side(settings, label, name) for label, name in names.items()}
    return {label: each for label, each in found.items() if each is not None}


def solved(each: Side) -> set[str]:
    """Statements that some seed solves."""
    return {row.statement.name for results in each.seeds for row in results.statements if row.solved}


def beyond(settings: PageSettings, found: dict[str, Side]) -> str:
    """Counts the statements that only the learned network proves, although the others have more Lean attempts."""
    more = {
        label: side(settings, label, f"test-{label.replace(' ', '-')}-mcts-x{MORE}")
        for label in ("list", "warm and list")
    }
    if "learned and list" not in found or any(each is None for each in more.values()):
        return "What is beyond the list is not known yet."
    others = {label: solved(each) for label, each in more.items() if each is not None}
    either = set().union(*others.values())
    ours = solved(found["learned and list"]) | solved(found["learned"])
    counts = ", ".join(f"{label} {len(names)}" for label, names in others.items())
    return (
        f"With {MORE} times the Lean attempts: {counts}, one of them {len(either)}. Proved after learning, with and "
        f"without the list: {len(ours)}; of these by none of the former: {len(ours - either)}."
    )


def main() -> int:
    settings = tyro.cli(PageSettings, description=__doc__)
    for bench, name in BENCHES.items():
        found = sides(settings, bench)
        if not found:
            continue
        print(f"### {name}", by_budget(found, LEAN_ATTEMPTS, LIMITS), sep="\n\n", end="\n\n")
        print(differences(found, PAIRS), end="\n\n")
        if bench == "test":
            print(beyond(settings, found), end="\n\n")
            shown = [found[label] for label in (*MCTS, "expert iteration") if label in found]
            draw(shown, settings.pictures / f"rl-{settings.bank}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
