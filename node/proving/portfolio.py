"""What is tried before any search: closing tactics in one batch, then a search of the library. Which to try when. Pure.

A file may import what another does not, so what Lean cannot parse is remembered by imports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.lean import Outcome, OutcomeKind, Theorem
from node.lean.text.headers import imports
from node.lean.worker.reading import PARSER_MESSAGE

FIRST_PART = 0.4
"""Of a theorem's budget, for the list of tactics alone before a network joins: loading one takes seconds."""

SEARCHING_AFTER = 2.0
"""Seconds of search before the library is searched, too: easy theorems are proved by then."""


@dataclass(frozen=True)
class Stage:
    """One search: with which policy, for which part of the time and the simulations that are left."""

    policy: str
    share: float


def stages(policy: str, network: str) -> list[Stage]:
    """The searches for a theorem. `policy`: as configured; `network`: the policy of the network at hand, if any."""
    if policy:
        return [Stage(policy, 1.0)]
    if not network:
        return [Stage("tactics", 1.0)]
    return [Stage("tactics", FIRST_PART), Stage(f"{network}+tactics", 1.0)]


class ClosingTactics:
    """The configured closing tactics, less those that Lean turned out not to know."""

    def __init__(self, tactics: Sequence[str]) -> None:
        self._all = tuple(dict.fromkeys(tactics))
        self._unknown: dict[tuple[str, ...], set[str]] = {}

    def for_theorem(self, theorem: Theorem) -> list[str]:
        """What to try on a theorem, in order."""
        unknown = self._unknown.get(_imports(theorem), set())
        return [tactic for tactic in self._all if tactic not in unknown]

    def known(self) -> list[str]:
        """Those that Lean has parsed wherever they were tried."""
        unknown = set().union(*self._unknown.values())
        return [tactic for tactic in self._all if tactic not in unknown]

    def unknown(self, theorem: Theorem, tactic: str) -> bool:
        """Whether Lean turned out not to know a word of a tactic: `grind`, in `induction n <;> grind`."""
        unknown = self._unknown.get(_imports(theorem), set())
        return bool(unknown) and not unknown.isdisjoint(re.findall(r"\w+", tactic))

    def learn(self, theorem: Theorem, outcomes: Mapping[str, Outcome]) -> None:
        """Leave out from now on what does not parse: that does not depend on the goal."""
        unparsable = {tactic for tactic, outcome in outcomes.items() if is_unparsable(outcome)}
        self._unknown.setdefault(_imports(theorem), set()).update(unparsable)


def is_unparsable(outcome: Outcome) -> bool:
    """Whether Lean's parser refused a tactic."""
    return outcome.kind is OutcomeKind.ERROR and bool(PARSER_MESSAGE.match(outcome.message))


def first_proof(outcomes: Mapping[str, Outcome], order: Sequence[str]) -> str:
    """The first tactic that closes the goal; empty when none does."""
    return next((tactic for tactic in order if outcomes[tactic].kind is OutcomeKind.PROVED), "")


def _imports(theorem: Theorem) -> tuple[str, ...]:
    return tuple(imports(theorem.place.context.text if theorem.place is not None else theorem.header))
