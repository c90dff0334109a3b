"""The plan of an evaluation: benchmark, policy, method, budgets, Lean. It is stored in `evaluation.json`."""

from __future__ import annotations

import msgspec

from common.protocol.attempts import Method
from common.run_folder import changes
from common.sampling import Sampling


class BenchmarkFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Which statements are evaluated, and where they come from."""

    spec: str
    """The benchmark as the command line names it."""
    name: str
    split: str = ""
    digest: str
    """Digest of the whole benchmark (`Benchmark.digest`), even if only a part of it is evaluated."""
    rows: int
    """Rows of the benchmark, including those that could not be read as statements."""
    statements: int
    """Statements that are evaluated."""
    unread: tuple[tuple[str, str], ...] = ()
    """(name, reason) of each row that could not be read as a statement."""
    source: str = ""
    revision: str = ""
    licence: str = ""
    homepage: str = ""
    paper: str = ""
    notes: tuple[str, ...] = ()


class LeanFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The Lean that elaborates, searches and verifies."""

    version: str
    name: str = ""
    library: dict[str, str] = {}
    """Commits of the project and its packages."""
    header: str = ""
    """The header of statements that import nothing."""


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """Budgets of one attempt, which ends when the first one is used up. 0: no limit."""

    simulations: int = 0
    lean_attempts: int = 0
    seconds: float = 0.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of an evaluation: all that its results depend on."""

    benchmark: BenchmarkFacts
    lean: LeanFacts
    policy: str
    """The policy as the command line names it, such as `own:runs/demo+tactics`."""
    label: str
    """The policy in words."""
    weights: dict[str, str] = {}
    """Digests of networks and tactic lists, by part of the policy."""
    method: str = Method.MCTS
    budgets: Budgets
    samples: int
    correct: int = 0
    """With whole proofs: how often a proof that Lean rejects goes back to the language model for a correction."""
    then: str = ""
    """With whole proofs: the search that follows them."""
    sampling: Sampling
    leaves: int
    """Expansions in flight within one search."""
    seed: int = 0
    passes: int = 1
    """Requested attempts at each statement. A later run of the command may request more."""
    mesh: str = ""
    """The run whose mesh plays the attempts; empty: this machine plays them alone."""
    proofmesh: str = ""
    """Version of this program."""

    @property
    def way(self) -> str:
        """The method in words, with the corrections of whole proofs and the search that follows them."""
        times = "once" if self.correct == 1 else f"{self.correct} times"
        corrected = f", each corrected up to {times}" if self.correct else ""
        return f"{self.method}{corrected}" + (f", then {self.then}" if self.then else "")


_TOLERATED = frozenset({"proofmesh", "passes"})
"""Fields that may change when an evaluation is resumed."""

_TOLERATED_OF_BENCHMARK = frozenset({"spec", "source", "notes"})
"""Fields of the benchmark that may change: the digest already says whether the statements are the same."""


def differences(one: Plan, other: Plan) -> list[str]:
    """Fields in which two plans differ, with both values. Attempts of plans that differ must not be mixed."""
    return [f"{each.name} was {each.before!r} and is {each.now!r}" for each in changes(_flat(one), _flat(other))]


def identity(plan: Plan) -> bytes:
    """A key that is equal for two plans exactly if `differences` is empty."""
    return msgspec.json.encode(sorted(_flat(plan).items()))


def _flat(plan: Plan) -> dict[str, object]:
    """The compared fields, by their dotted names."""
    fields: dict[str, object] = {}
    for name, value in msgspec.to_builtins(plan).items():
        if name in _TOLERATED:
            continue
        if not isinstance(value, dict):
            fields[name] = value
            continue
        for inner, part in value.items():
            if not (name == "benchmark" and inner in _TOLERATED_OF_BENCHMARK):
                fields[f"{name}.{inner}"] = part
    return fields
