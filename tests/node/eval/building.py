"""Small evaluations for tests: plans, statements and records that look like real ones."""

from __future__ import annotations

import msgspec

from common.lean import Theorem
from common.protocol.attempts import AttemptStatistics, Ended
from common.settings import PLAIN
from node.eval.folder import AttemptRecord, BenchmarkFacts, Budgets, LeanFacts, Plan, Standing, StatementRecord


def plan(**changes: object) -> Plan:
    """A plan of three statements with 64 simulations."""
    found = Plan(
        benchmark=BenchmarkFacts(spec="small", name="small", digest="d", rows=3, statements=3),
        lean=LeanFacts(version="4.35.0"),
        policy="tactics",
        label="list of tactics",
        budgets=Budgets(simulations=64),
        samples=6,
        sampling=PLAIN,
        leaves=4,
    )
    return msgspec.structs.replace(found, **changes)


def statement(name: str, conclusion: str = "True", **more: object) -> StatementRecord:
    return StatementRecord(
        **{"name": name, "theorem": Theorem(name, "", conclusion), "family": "logic", "level": 1} | more  # type: ignore[arg-type]
    )


def solved(
    name: str, simulations: int = 5, number: int = 0, lean_attempts: int = 20, seconds: float = 0.5
) -> AttemptRecord:
    return AttemptRecord(
        name=name,
        number=number,
        standing=Standing.SOLVED,
        script="  trivial",
        statistics=AttemptStatistics(
            simulations=simulations,
            lean_attempts=lean_attempts,
            seconds=seconds,
            solved_at_simulations=simulations,
            solved_at_lean_attempts=lean_attempts,
            solved_at_seconds=seconds,
        ),
    )


def unsolved(name: str, number: int = 0, ended: Ended = Ended.SIMULATIONS, lean_attempts: int = 200) -> AttemptRecord:
    statistics = AttemptStatistics(simulations=64, lean_attempts=lean_attempts, seconds=3.0, ended=ended)
    return AttemptRecord(
        name=name,
        number=number,
        standing=Standing.UNSOLVED,
        ended=ended,
        reason="64 simulations",
        statistics=statistics,
    )


def undecided(name: str, number: int = 0) -> AttemptRecord:
    return AttemptRecord(name=name, number=number, standing=Standing.UNDECIDED, ended="error", reason="no Lean")


def not_elaborated(name: str, number: int = 0) -> AttemptRecord:
    return AttemptRecord(
        name=name,
        number=number,
        standing=Standing.NOT_ELABORATED,
        ended="bad-statement",
        reason="unknown module Mathlib",
    )
