"""Small evaluations with known outcomes, written as the command writes them: through `EvaluationFolder`."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.lean import Theorem
from common.protocol.attempts import AttemptStatistics, Ended, SearchShape
from common.settings import PLAIN
from node.eval.folder import (
    AttemptRecord,
    BenchmarkFacts,
    Budgets,
    Evaluation,
    EvaluationFolder,
    LeanFacts,
    Plan,
    Session,
    Standing,
    StatementRecord,
    read,
)

SIMULATIONS, TACTICS = 64, 4
"""Budget of an attempt, and the tactics of each simulation."""

DAY = 1_790_000_000.0
"""Unix time when attempts end: noon or later of 21 September 2026 everywhere but in the far west and east."""


def plan(**changes: Any) -> Plan:
    given: dict[str, Any] = {
        "benchmark": BenchmarkFacts(spec="pocket:test", name="pocket", split="test", digest="d1", rows=6, statements=6),
        "lean": LeanFacts(version="4.29.1"), "policy": "tactics", "label": "the list of tactics",
        "budgets": Budgets(simulations=SIMULATIONS), "samples": TACTICS, "sampling": PLAIN, "leaves": 1,
    }  # fmt: skip
    return Plan(**(given | changes))


def benchmark(digest: str, spec: str = "FILE.jsonl") -> BenchmarkFacts:
    return BenchmarkFacts(spec=spec, name=spec, digest=digest, rows=6, statements=6)


def statement(name: str, conclusion: str = "", **fields: Any) -> StatementRecord:
    theorem = Theorem(name, "(n : Nat)", conclusion or f"n = n + 0 * {name.strip('tuvwx') or 0}")
    return StatementRecord(**{"name": name, "theorem": theorem, "family": "logic", "level": 1} | fields)


def solved(name: str, at: int = 5, number: int = 0, lean_attempts: int = 0) -> AttemptRecord:
    """Solved with the simulation `at`, by its last tactic; without a number of Lean attempts with all its tactics."""
    tried = lean_attempts or at * TACTICS
    used = {"tried": {"simp": at}, "legal": {"simp": 1}, "used": {"simp": 1}}
    shape = SearchShape(expanded=at, expansions=at, solved=(0, 1), unsolved=(0, 0, 1), **used)
    when = {"solved_at_simulations": at, "solved_at_lean_attempts": tried, "solved_at_seconds": at / 10}
    costs = {"simulations": at, "tactics_tried": tried, "lean_attempts": tried, "seconds": at / 10, "tokens": at * 50}
    found = AttemptStatistics(shape=shape, **when, **costs)  # type: ignore[arg-type]
    script = "  simp"
    return AttemptRecord(name=name, number=number, standing=Standing.SOLVED, script=script, time=DAY, statistics=found)


def unsolved(
    name: str, number: int = 0, *, simulations: int = SIMULATIONS, tactics: int = 0, ended: Ended = Ended.SIMULATIONS
) -> AttemptRecord:
    tried = tactics or simulations * TACTICS
    found = AttemptStatistics(
        simulations=simulations, tactics_tried=tried, lean_attempts=tried, seconds=simulations / 10, ended=ended
    )
    return AttemptRecord(name=name, number=number, standing=Standing.UNSOLVED, ended=ended, time=DAY, statistics=found)


def undecided(name: str, number: int = 0) -> AttemptRecord:
    return AttemptRecord(name=name, number=number, standing=Standing.UNDECIDED, ended="error", reason="no Lean")


def not_elaborated(name: str) -> AttemptRecord:
    reason = "unknown module Mathlib"
    return AttemptRecord(name=name, number=0, standing=Standing.NOT_ELABORATED, ended="bad-statement", reason=reason)


def outcomes(found: Mapping[str, int], number: int = 0) -> list[AttemptRecord]:
    """Attempts by statement: solved with this simulation, or unsolved where it is 0."""
    return [solved(name, at, number) if at else unsolved(name, number) for name, at in found.items()]


def write(
    path: Path,
    attempts: Sequence[AttemptRecord],
    statements: Sequence[StatementRecord] = (),
    *,
    lean_cpu: float | None = 12.0,
    **changes: Any,
) -> Evaluation:
    """An evaluation in its folder, read again; statements are those of the attempts unless they are given."""
    rows = list(statements) or [statement(name) for name in dict.fromkeys(each.name for each in attempts)]
    with EvaluationFolder(path) as folder:
        wanted = plan(**changes)
        folder.begin(wanted)
        folder.write(wanted, rows)
        for each in attempts:
            folder.add(each)
        folder.note_session(60.0, 3.0, lean_cpu)
    return read(path)


def evaluation(
    statements: Sequence[StatementRecord], attempts: Sequence[AttemptRecord], path: Path = Path("e"), **changes: Any
) -> Evaluation:
    """An evaluation of these records, without its folder."""
    session = Session(id="one", seconds=100.0, lean_cpu=150.0, own_cpu=20.0)
    return Evaluation(path, plan(**changes), tuple(statements), tuple(attempts), (session,))


def random_evaluation(count: int, passes: int = 1, path: Path = Path("e"), seed: int = 0) -> Evaluation:
    """Every kind of statement and ending, in a mixture that the seed decides."""
    draw = random.Random(seed)
    statements, attempts = [], []
    for index in range(count):
        refused = "unknown identifier 'Real.sqrt'" if index % 15 == 3 else ""
        fields = {"family": draw.choice(("nat", "logic")), "level": draw.randint(1, 5), "refused": refused}
        statements.append(statement(f"made_{index:05}", "True", flaw="vacuous" if index % 20 == 7 else "", **fields))
        for number in () if refused else range(passes):
            name, chance = statements[-1].name, draw.random()
            ended = Ended.SIMULATIONS if chance < 0.95 else Ended.EXHAUSTED
            found = solved(name, int(2 ** (6 * draw.random())), number) if chance < 0.6 else unsolved(name, number)
            found = unsolved(name, number, simulations=9, ended=ended) if ended is Ended.EXHAUSTED else found
            attempts.append(undecided(name, number) if chance > 0.98 else found)
    return evaluation(statements, attempts, path)
