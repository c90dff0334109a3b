"""Chooses the statements of a benchmark that are evaluated, and marks those that do not elaborate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from common.lean import TacticRule
from node.bank.bank import stratified
from node.bank.benchmarks import Benchmark
from node.eval.folder import BenchmarkFacts, StatementRecord


def chosen(benchmark: Benchmark, limit: int, rule: TacticRule | None = None) -> list[StatementRecord]:
    """The statements to evaluate: all, or a fixed sample of `limit` statements, stratified by family and level.

    `rule`: which tactics their proofs may have.
    """
    statements = benchmark.statements
    if 0 < limit < len(statements):
        statements = tuple(stratified(statements, limit))
    return [
        StatementRecord(
            name=each.theorem.name,
            theorem=msgspec.structs.replace(each.theorem, rule=rule),
            family=each.family,
            level=each.level,
            flaw=each.flaw,
            extra=dict(each.extra),
        )
        for each in statements
    ]


def with_refusals(statements: Sequence[StatementRecord], errors: Mapping[str, str]) -> list[StatementRecord]:
    """The statements; those that do not elaborate get Lean's error as `refused`."""
    return [msgspec.structs.replace(each, refused=errors.get(each.name, "")) for each in statements]


def facts_of(benchmark: Benchmark, statements: Sequence[StatementRecord]) -> BenchmarkFacts:
    """The facts of a benchmark for the plan. For a sample the unreadable rows are left out: it is unknown which of them
    the sample would contain."""
    whole = len(statements) == len(benchmark.statements)
    sample = f"{len(statements)} of its {len(benchmark.statements)} statements are evaluated"
    return BenchmarkFacts(
        spec=benchmark.spec,
        name=benchmark.name,
        split=benchmark.split,
        digest=benchmark.digest,
        rows=benchmark.rows,
        statements=len(statements),
        unread=tuple((each.name, each.reason) for each in benchmark.unread) if whole else (),
        source=benchmark.source,
        revision=benchmark.revision,
        licence=benchmark.licence,
        homepage=benchmark.homepage,
        paper=benchmark.paper,
        notes=benchmark.notes if whole else (*benchmark.notes, sample),
    )
