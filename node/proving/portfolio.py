"""The portfolio of an interactive proof: closing tactics in one batch, then a sequence of searches. Pure.

Files differ in their imports, so tactics that Lean cannot parse are remembered for each set of imports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.lean import Outcome, OutcomeKind, Theorem
from node.lean.text.statement import imports
from node.lean.worker.reading import PARSER_MESSAGE

FIRST_PART = 0.4
"""Share of the budget for the list of tactics alone. Then a network joins, which takes seconds to load."""

SEARCHING_AFTER = 2.0
"""Seconds of search before the library search starts. Easy theorems are proved by then."""


@dataclass(frozen=True)
class Stage:
    """One search: its policy, and its share of the remaining time and simulations."""

    policy: str
    share: float


def stages(policy: str, network: str) -> list[Stage]:
    """The searches for a theorem. `policy`: the configured one, or empty; `network`: the default network, or empty."""
    if policy:
        return [Stage(policy, 1.0)]
    if not network:
        return [Stage("tactics", 1.0)]
    return [Stage("tactics", FIRST_PART), Stage(f"{network}+tactics", 1.0)]


class ClosingTactics:
    """The configured closing tactics, without those that Lean cannot parse."""

    def __init__(self, tactics: Sequence[str]) -> None:
        self._all = tuple(dict.fromkeys(tactics))
        self._unknown: dict[tuple[str, ...], set[str]] = {}

    def for_theorem(self, theorem: Theorem) -> list[str]:
        """The tactics to try on a theorem, in order."""
        unknown = self._unknown.get(_imports(theorem), set())
        return [tactic for tactic in self._all if tactic not in unknown]

    def known(self) -> list[str]:
        """The tactics that Lean has parsed wherever they were tried."""
        unknown = set().union(*self._unknown.values())
        return [tactic for tactic in self._all if tactic not in unknown]

    def unknown(self, theorem: Theorem, tactic: str) -> bool:
        """Whether a tactic contains one that Lean could not parse, such as `grind` in `induction n <;> grind`."""
        unknown = self._unknown.get(_imports(theorem), set())
        return bool(unknown) and not unknown.isdisjoint(re.findall(r"\w+", tactic))

    def learn(self, theorem: Theorem, outcomes: Mapping[str, Outcome]) -> None:
        """Remember the tactics that do not parse. Parsing does not depend on the goal."""
        unparsable = {tactic for tactic, outcome in outcomes.items() if is_unparsable(outcome)}
        self._unknown.setdefault(_imports(theorem), set()).update(unparsable)


def is_unparsable(outcome: Outcome) -> bool:
    """Whether Lean's parser refused a tactic."""
    return outcome.kind is OutcomeKind.ERROR and bool(PARSER_MESSAGE.match(outcome.message))


def first_proof(outcomes: Mapping[str, Outcome], order: Sequence[str]) -> str:
    """The first tactic that closes the goal; empty if none does."""
    return next((tactic for tactic in order if outcomes[tactic].kind is OutcomeKind.PROVED), "")


def _imports(theorem: Theorem) -> tuple[str, ...]:
    return tuple(imports(theorem.place.context.text if theorem.place is not None else theorem.header))
