"""Rows from which the steps can be read off, and a model that was trained on them."""

import pytest

from node.progress import command
from tests.node.bank.stand_ins import lines as jsonl

TINY = ["--from-scratch", "--shape.width", "32", "--shape.depth", "1", "--shape.heads", "2", "--shape.vocab-size=200"]

PREDICATES = ("near", "even", "remote", "farthest")
TACTICS = ("finish", "once", "twice", "thrice")

LEARNING = ("--steps", "60", "--batch", "16", "--rate", "0.003", "--held-out", "5")


def rows(theorems=60):
    """Proofs of predicates whose names say how many steps they take."""
    found = []
    for number in range(theorems):
        size = 1 + number % 4
        done = []
        for left in range(size, 0, -1):
            goal, tactic = f"x y : Nat\n⊢ {PREDICATES[left - 1]} (x + {10 + number})", TACTICS[left - 1]
            step = {"goal": goal, "prefix": "\n".join(done), "tactic": tactic, "steps_remaining": left - 1}
            found.append(step | {"theorem": f"sum_{number}"})
            done.append(tactic)
    return found


def flags(data, out, *more):
    return [*TINY, "--data", str(data), "--out", str(out), "--device", "cpu", "--keep-out", *more]


@pytest.fixture(scope="session")
def lines(tmp_path_factory):
    return jsonl(tmp_path_factory.mktemp("progress-data") / "progress.jsonl", rows())


@pytest.fixture(scope="session")
def trained(lines, tmp_path_factory):
    """The folder of a training that has ended."""
    out = tmp_path_factory.mktemp("progress") / "run"
    assert command.main(flags(lines, out, *LEARNING)) == 0
    return out
