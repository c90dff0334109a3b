"""Bench `deep`: what it costs to search where tactics are slow and proofs are long, as with a large library."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from common.lean import OutcomeKind, Step, Theorem
from common.limits import Positive, Timeout
from common.protocol.messages import LeanRunReply, LeanRunRequest
from node.lean.backend import OutcomeCache
from node.lean.requests import Requests
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import SLOW_SECONDS, Pool
from node.lean.worker.process import WorkerOptions
from scripts.bench.harness import Part, Results, machine

LIMIT = 60.0
"""Seconds for a candidate, far more than any needs."""

HEARTBEATS = 10_000_000
"""No candidate, and no path, reaches it."""

_NAMES = "abcdef"

WORK = (
    f"∀ {' '.join(_NAMES)} : Nat, "
    + " → ".join(f"({name} = 0 ∨ {name} = 3)" for name in _NAMES)
    + f" → {' + '.join(_NAMES)} ≠ 100"
)
"""What a slow tactic tries in vain: many cases, of which Lean's server keeps nothing but the tactic."""

Walk = Sequence[tuple[tuple[Step, ...], tuple[str, ...]]]
"""Expansions in their order: the path to the state, and its candidates, of which one is slow."""


def chain(name: str, steps: int) -> Theorem:
    """p₀ implies the last of a chain of propositions."""
    links = " ".join(f"({name}s{number} : {name}{number} → {name}{number + 1})" for number in range(steps))
    names = " ".join(f"{name}{number}" for number in range(steps + 1))
    return Theorem("deep", f"({names} : Prop) {links} (h : {name}0)", f"{name}{steps}")


def slow(name: str, number: int, rounds: int) -> str:
    """The tactic of a link. Elsewhere it fails at once. `rounds`: how often it tries something that leads to nothing,
    as tactics do that search: what they find is small, however long they take."""
    return (
        f"(replace h := {name}s{number} h; iterate {rounds} "
        f"(first | (have : {WORK} := (by intros; omega); fail) | skip))"
    )


def _processor_seconds(pool: Pool) -> float:
    """What the live workers have used."""
    return sum(process.cpu_seconds() for process in pool.processes())


@dataclass
class Deep(Part):
    """Measures expansions at the ends of paths of slow tactics: Lean's processor time in units of a slow tactic's.

    `chain` follows a known proof: each state is expanded with the tactic that goes on and some that fail. `branches`
    takes turns between two goals of one theorem, each with such a chain, on one worker; `shared` on several.
    `replayed`: every path from the root; `kept`: from the states that Lean's processes have kept, as the pool does for
    slow theorems.
    """

    steps: Positive = 10
    """Steps of the known proof."""
    seconds: Timeout = 0.3
    """Processor time of a slow tactic, alone."""
    failing: Positive = 6
    """Further candidates of each expansion, which fail at once."""
    repeats: Positive = 3
    workers: Positive = 2
    """Lean workers of `shared`."""

    async def measure(self) -> Results:
        """All measurements; each number is a median over the repeats."""
        rounds, alone = await self._calibrated()
        results: Results = {"settings": self.asked() | {"rounds": rounds}, "tactic_seconds": round(alone, 3)}
        one, two = chain("p", self.steps), self._two()
        for name, theorem, walk, workers in (
            ("chain", one, self._chain("p", (), rounds), 1),
            ("branches", two, self._branches(rounds), 1),
            ("shared", two, self._branches(rounds), self.workers),
        ):
            pairs = [
                [await self._walked(theorem, walk, workers, alone, seconds) for seconds in (math.inf, SLOW_SECONDS)]
                for _ in range(self.repeats)
            ]
            replayed, kept = (round(statistics.median(column), 2) for column in zip(*pairs, strict=True))
            results[name] = {"expansions": len(walk), "replayed": replayed, "kept": kept, "all": pairs}
        return results | {"machine": machine()}

    def _two(self) -> Theorem:
        """Both of two chains hold."""
        first, second = chain("p", self.steps), chain("q", self.steps)
        binders = f"{first.binders} {second.binders.replace('(h :', '(g :')}"
        return Theorem("deep", binders, f"{first.conclusion} ∧ {second.conclusion}")

    def _chain(self, name: str, above: tuple[Step, ...], rounds: int) -> Walk:
        """The expansions along a chain, below a path."""
        tactics = [slow(name, number, rounds) for number in range(self.steps)]
        failing = tuple(f"exact {name}s{number}" for number in range(self.failing))
        path = [Step(tactic) for tactic in tactics]
        return [((*above, *path[:depth]), (*failing, tactics[depth])) for depth in range(self.steps)]

    def _branches(self, rounds: int) -> Walk:
        """The expansions along two chains below `constructor`, by turns."""
        left, right = (Step("constructor", branch, ((0,), (1,))) for branch in range(2))
        first = self._chain("p", (left,), rounds)
        second = [
            (
                (path[0], *(Step(step.tactic.replace(" h", " g")) for step in path[1:])),
                tuple(tactic.replace(" h", " g") for tactic in candidates),
            )
            for path, candidates in self._chain("q", (right,), rounds)
        ]
        return [expansion for pair in zip(first, second, strict=True) for expansion in pair]

    async def _walked(self, theorem: Theorem, walk: Walk, workers: int, alone: float, slow_seconds: float) -> float:
        """Processor time of Lean for each expansion of a walk, in units of a slow tactic alone. Two expansions are
        under way at a time if there are several workers. `slow_seconds`: of the pool; infinite: each path is replayed.
        """
        pool = Pool(LeanToolchain.pocket(), WorkerOptions(heartbeats=HEARTBEATS), workers=workers, queue=8)
        pool.slow_seconds = slow_seconds
        pool.start()
        requests = Requests(pool, OutcomeCache(10_000), LIMIT)
        try:
            await self._asked(requests, theorem, (), ("skip",))
            began = _processor_seconds(pool)
            for first in range(0, len(walk), workers):
                some = walk[first : first + workers]
                replies = await asyncio.gather(*(self._asked(requests, theorem, *expansion) for expansion in some))
                for reply in replies:
                    *failed, went_on = (outcome.kind for outcome in reply.outcomes)
                    assert went_on is OutcomeKind.GOALS and set(failed) == {OutcomeKind.ERROR}, reply
            return (_processor_seconds(pool) - began) / len(walk) / alone
        finally:
            await pool.stop()

    @staticmethod
    async def _asked(
        requests: Requests, theorem: Theorem, path: tuple[Step, ...], tactics: tuple[str, ...]
    ) -> LeanRunReply:
        reply = await requests.run(LeanRunRequest(theorem, path, tactics, LIMIT, messages=False))
        assert isinstance(reply, LeanRunReply), reply
        return reply

    async def _calibrated(self) -> tuple[int, float]:
        """How many rounds of work make a tactic of the wanted time, and its time."""
        pool = Pool(LeanToolchain.pocket(), WorkerOptions(heartbeats=HEARTBEATS), workers=1, queue=8)
        pool.start()
        requests = Requests(pool, OutcomeCache(0), LIMIT)
        theorem = chain("p", self.steps)

        async def timed(rounds: int) -> float:
            began = _processor_seconds(pool)
            await self._asked(requests, theorem, (), (slow("p", 0, rounds),))
            return _processor_seconds(pool) - began

        try:
            few, many = 1, 4
            short, long = [statistics.median([await timed(rounds) for _ in range(3)]) for rounds in (few, many)]
            each = (long - short) / (many - few)
            rounds = max(1, round(self.seconds / each))
            return rounds, each * rounds
        finally:
            await pool.stop()
