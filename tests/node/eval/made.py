"""Evaluations for tests: records as an evaluation writes them, from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from common.lean import Theorem
from common.protocol.attempts import AttemptStatistics, Ended
from common.settings import PLAIN
from node.eval.folder import (
    AttemptRecord,
    BenchmarkFacts,
    Budgets,
    Evaluation,
    LeanFacts,
    Plan,
    Session,
    Standing,
    StatementRecord,
)

FAMILIES = ("implications", "equations", "quantifiers")


def plan(statements: int = 0, header: str = "", simulations: int = 256, **changes: object) -> Plan:
    """A plan; `changes` are fields of it."""
    facts = BenchmarkFacts(
        spec="made:test", name="made", split="test", digest="d" * 32, rows=statements, statements=statements
    )
    made: dict[str, object] = {
        "benchmark": facts,
        "lean": LeanFacts(version="4.28.0", name="pocket Lean", header=header),
        "policy": "tactics",
        "label": "list of tactics",
        "weights": {"tactics": "a" * 32},
        "budgets": Budgets(simulations=simulations),
        "samples": 6,
        "sampling": PLAIN,
        "leaves": 1,
    }
    return Plan(**(made | changes))  # type: ignore[arg-type]


def statement(name: str, **changes: object) -> StatementRecord:
    """A statement; `changes` are fields of it."""
    made: dict[str, object] = {"theorem": Theorem(name, "", "True"), "family": FAMILIES[0], "level": 1}
    return StatementRecord(name=name, **(made | changes))  # type: ignore[arg-type]


def solved(name: str, at: int, number: int = 0, script: str = "  trivial") -> AttemptRecord:
    """An attempt with a proof after so many simulations, six tactics each, and a tenth of a second each."""
    statistics = AttemptStatistics(
        simulations=at,
        lean_attempts=6 * at,
        tactics_tried=6 * at,
        seconds=at / 10 + 1.0,
        seconds_verify=1.0,
        solved_at_simulations=at,
        solved_at_lean_attempts=6 * at - 2,
        solved_at_seconds=at / 10,
        tokens=40 * at,
        samples=6 * at,
    )
    axioms = ("propext",) if at % 2 else ()
    return AttemptRecord(
        name=name, number=number, standing=Standing.SOLVED, script=script, axioms=axioms, statistics=statistics
    )


def unsolved(name: str, simulations: int = 256, number: int = 0, ended: str = Ended.SIMULATIONS) -> AttemptRecord:
    """An attempt without a proof."""
    statistics = AttemptStatistics(
        simulations=simulations,
        lean_attempts=4 * simulations + 6,  # of which one expansion was lost
        tactics_tried=4 * simulations,
        seconds=simulations / 10,
        tokens=40 * simulations,
    )
    return AttemptRecord(name=name, number=number, standing=Standing.UNSOLVED, ended=ended, statistics=statistics)


def evaluation(
    statements: Sequence[StatementRecord], attempts: Sequence[AttemptRecord], path: Path = Path(), **changes: object
) -> Evaluation:
    """An evaluation of these records; `changes` are fields of its plan."""
    session = Session(id="one", seconds=100.0, lean_cpu=150.0, own_cpu=20.0)
    return Evaluation(path, plan(len(statements), **changes), tuple(statements), tuple(attempts), (session,))  # type: ignore[arg-type]


def random_evaluation(count: int, passes: int = 1, path: Path = Path(), seed: int = 0) -> Evaluation:
    """Every kind of statement and ending, in a mixture that the seed decides."""
    draw = random.Random(seed)
    statements, attempts = [], []
    for index in range(count):
        name = f"made_{index:05}"
        statements.append(
            statement(
                name,
                theorem=Theorem(name, "(p q : Prop) (hp : p)", "p ∨ q"),
                family=draw.choice(FAMILIES),
                level=draw.randint(1, 5),
                flaw="the hypotheses contradict each other" if index % 20 == 7 else "",
                refused="unknown identifier 'Real.sqrt'" if index % 15 == 3 else "",
            )
        )
        if statements[-1].refused:
            continue
        for number in range(passes):
            attempts.append(_attempt(draw, name, number))
    unread = (("row 17", "no colon between binders and conclusion"),)
    made = evaluation(statements, attempts, path)
    facts = BenchmarkFacts(
        spec="made:test", name="made", split="test", digest="d" * 32, rows=count + 1, statements=count, unread=unread
    )
    return Evaluation(path, plan(count, benchmark=facts), made.statements, made.attempts, made.sessions)


def _attempt(draw: random.Random, name: str, number: int) -> AttemptRecord:
    chance = draw.random()
    if chance < 0.6:
        return solved(name, min(256, int(2 ** (8 * draw.random()))), number, "  left\n  exact hp")
    if chance < 0.95:
        return unsolved(name, 256, number)
    if chance < 0.98:
        return unsolved(name, draw.randint(1, 100), number, Ended.EXHAUSTED)
    return AttemptRecord(
        name=name, number=number, standing=Standing.UNDECIDED, ended="error", reason="the Lean process died"
    )
