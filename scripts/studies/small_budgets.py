"""Compares search settings at small budgets, on word problems that are played in Python, without Lean and network.

    python -m scripts.studies.small_budgets [--statements 80] [--workers 16] [--json sweep.json]

The statements are those of `data.generators.families.words`, whose `rw` is simulated, with proofs of at least
`--shortest` steps. Instead of a network, a policy samples tactics from a softmax over the noisy true distance to a
proof, and its value is the noisy distance, so that good and bad networks can be compared. Every cell plays the same
statements with the same samples. A search that is solved at n simulations is solved with every larger budget, so one
search gives all columns.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import tyro
from rich.console import Console

from common.lean import Branch, Outcome, OutcomeKind
from common.limits import Natural, Positive
from common.report.table import Table
from common.seeds import derive_seed
from data.generators.families import words
from data.generators.families.words import Relation, Sides
from node.prover.policies import fixed
from node.prover.policies.policy import Proposal, ranked
from node.prover.search.methods import begin
from node.prover.search.parameters import LIST_PENALTY, SearchParameters
from node.prover.search.simulation import Leaf

SIMULATIONS = (16, 64, 256, 1024)
LEAN_ATTEMPTS = (128, 1280)
FAR = 14
"""Distance of goals from which no proof was found."""
REGION = 20_000
"""Goals around a statement whose distances are computed."""


@dataclass(frozen=True)
class Player:
    """A policy that stands for a network."""

    sharpness: float = 0.3
    """β: logit of a tactic = -β · distance + noise."""
    noise: float = 1.5
    """Standard deviation of the logits' noise."""
    value_noise: float = 2.0
    """Standard deviation of the value, in steps."""


PLAYERS = {
    "good": Player(0.6),
    "good values": Player(value_noise=1.0),
    "middling": Player(value_noise=3.0),
    "poor": Player(0.1, 1.0, 3.0),
}
LIST = "the list"
"""All tactics at once, with the fixed list's value."""


@dataclass(frozen=True)
class Cell:
    """One way to search."""

    parameters: SearchParameters = field(default_factory=SearchParameters)
    method: str = "mcts"
    samples: int = 6


def cells() -> dict[str, Cell]:
    """The cells by name: one thing at a time, from the defaults."""
    plain = Cell()

    def with_(**changes: object) -> Cell:
        return replace(plain, parameters=replace(plain.parameters, **changes))  # type: ignore[arg-type]

    found = {"defaults": plain, "best-first": replace(plain, method="best-first")}
    found["random"] = replace(plain, method="random")
    for base in (200.0, 800.0, 25600.0):
        found[f"c_base {base:g}"] = with_(c_base=base)
    for penalty in (1.0, 16.0, 32.0):
        found[f"penalty {penalty:g}"] = with_(unvisited_penalty=penalty)
    found["unvisited Q = 0"] = with_(unvisited_zero=True)
    found["c_base 200, penalty 16, discount 0.98"] = with_(c_base=200.0, unvisited_penalty=16.0, discount=0.98)
    for discount in (0.98, 0.95):
        found[f"discount {discount}"] = with_(discount=discount)
    for temperature in (1.0, 3.0):
        found[f"prior temperature {temperature:g}"] = with_(prior_temperature=temperature)
    for samples in (8, 12):
        found[f"{samples} samples"] = replace(plain, samples=samples)
    for c in (0.1, 0.3):
        found[f"progressive_c {c}"] = with_(progressive_c=c)
    found["never dead"] = with_(dead_after=10**6)
    found["without values"] = with_(values=False)
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Statements, and the distances around them.


@dataclass(frozen=True)
class Statement:
    """A word problem with the distances of the goals around it."""

    goal: Sides
    relations: tuple[Relation, ...]
    distances: dict[Sides, int]


def statement_of(name: str, seed: int, shortest: int) -> Statement | None:
    """A statement; None if its proof is too short, or not found."""
    rng = random.Random(derive_seed("small budgets", name, seed))
    letters, relations_of = words.PRESENTATIONS[name]
    relations = relations_of(letters, rng)
    walked = words.walk(rng, letters, relations, rng.randint(shortest, 16))
    if walked is None:
        return None
    distances = distances_around(walked[0], relations)
    close = distances.get(walked[0], 0) < shortest
    return None if close else Statement(walked[0], tuple(relations), distances)


def distances_around(goal: Sides, relations: list[Relation]) -> dict[Sides, int]:
    """Steps to a proof of each goal near this one: forward to REGION goals, then back from the solved ones."""
    before: dict[Sides, list[Sides]] = {}
    seen, queue = {goal}, deque([goal])
    solved: list[Sides] = []
    while queue and len(seen) < REGION:
        current = queue.popleft()
        for _, new in words.steps(current, relations):
            before.setdefault(new, []).append(current)
            if new not in seen:
                seen.add(new)
                (solved if new[0] == new[1] else queue).append(new)
    distances, queue = dict.fromkeys(solved, 0), deque(solved)
    while queue:
        current = queue.popleft()
        for earlier in before.get(current, ()):
            if earlier not in distances:
                distances[earlier] = distances[current] + 1
                queue.append(earlier)
    return distances


# ----------------------------------------------------------------------------------------------------------------------
# A search without Lean and network.


class World:
    """Policy and Lean of one statement."""

    def __init__(self, statement: Statement, player: Player | None, temperature: float) -> None:
        """`player`: None is the list."""
        self.statement, self.player, self._temperature = statement, player, temperature
        self.texts = ["rfl", *(text for text, _, _ in words.tactics(list(statement.relations)))]
        self._rules = {text: rule for text, *rule in words.tactics(list(statement.relations))}
        self._logits = lru_cache(None)(self._logits_of)

    def run(self, state: str, tactic: str) -> Outcome:
        """Lean's outcome."""
        new = self._after(sides_of(state), tactic)
        if new is None:
            return Outcome(OutcomeKind.ERROR)
        if new[0] == new[1]:
            return Outcome(OutcomeKind.PROVED)
        return Outcome(OutcomeKind.GOALS, (Branch(text_of(new)),))

    def advice(self, leaf: Leaf, samples: int) -> tuple[list[Proposal], float, bool]:
        """Proposals, value, and whether the policy is exhausted."""
        if self.player is None:
            left, right = map(words.applied, sides_of(leaf.state))
            return ranked(self.texts), fixed.value(f"⊢ {left} = {right}"), True
        logits, value = self._logits(leaf.state)
        rng = random.Random(derive_seed(leaf.state, leaf.number, leaf.round))
        picks = rng.choices(range(len(logits)), [math.exp(each) for each in logits], k=samples)
        return (
            [
                Proposal(self.texts[pick], picks.count(pick) * math.exp(logits[pick] / self._temperature), logits[pick])
                for pick in dict.fromkeys(picks)
            ],
            value,
            False,
        )

    def _after(self, sides: Sides, tactic: str) -> Sides | None:
        if tactic == "rfl":
            return sides if sides[0] == sides[1] else None
        new = words.rewritten(sides, *self._rules[tactic])
        return new if new is not None and max(map(len, new)) <= 2 * words.LONGEST_WORD else None

    def _logits_of(self, state: str) -> tuple[list[float], float]:
        assert self.player is not None
        player, sides = self.player, sides_of(state)
        raw = []
        for tactic in self.texts:
            new = self._after(sides, tactic)
            far = FAR if new is None else self.statement.distances.get(new, FAR)
            noise = random.Random(derive_seed("logit", state, tactic)).gauss(0.0, player.noise)
            raw.append(-player.sharpness * far - 2.0 * (new is None) + noise)
        total = math.log(sum(map(math.exp, raw)))
        distance = self.statement.distances.get(sides, FAR)
        noise = random.Random(derive_seed("value", state)).gauss(0.0, player.value_noise)
        return [each - total for each in raw], -max(1.0, distance + noise)


def sides_of(state: str) -> Sides:
    """The words of a goal's text."""
    left, _, right = state[2:].partition(" = ")
    return left, right


def text_of(sides: Sides) -> str:
    """The text of a goal."""
    return f"⊢ {sides[0]} = {sides[1]}"


def solved_at(statement: Statement, player: Player | None, cell: Cell) -> tuple[int, int]:
    """Simulations and Lean attempts until the proof; 0: not proved."""
    parameters = cell.parameters
    if player is None:
        parameters = replace(parameters, unvisited_penalty=min(LIST_PENALTY, parameters.unvisited_penalty))
    world = World(statement, player, parameters.prior_temperature)
    search = begin(cell.method, text_of(statement.goal), parameters, 0)
    while search.statistics.simulations < SIMULATIONS[-1] and (leaf := search.select()) is not None:
        proposals, value, exhausted = world.advice(leaf, cell.samples)
        outcomes = {p.tactic: world.run(leaf.state, p.tactic) for p in proposals if p.tactic not in leaf.tried}
        search.feed(leaf, proposals, value, outcomes, exhausted=exhausted)
    found = search.statistics
    return found.solved_at_simulations, found.solved_at_tactics


# ----------------------------------------------------------------------------------------------------------------------
# The table.


@dataclass
class Settings:
    """What is compared."""

    statements: Positive = 80
    """Statements of each presentation."""
    presentations: tuple[str, ...] = ("S6", "B5", "M4")
    shortest: Positive = 5
    """Fewest steps of their shortest proofs."""
    workers: Natural = 0
    """Processes; 0: one a core."""
    json: Path | None = None
    """Also write `{player: {cell: [[simulations, Lean attempts], ...]}}` here; 0 is not solved."""


_statements: list[Statement] = []
"""The statements, in each process of the pool: their distances are large."""


def work(job: tuple[int, Cell]) -> dict[str, tuple[int, int]]:
    """All players on a statement."""
    number, cell = job
    statement = _statements[number]
    found = {name: solved_at(statement, player, cell) for name, player in PLAYERS.items()}
    return {**found, LIST: solved_at(statement, None, cell)}


def made(job: tuple[str, int, int]) -> Statement | None:
    """`statement_of`, for a pool."""
    return statement_of(*job)


def main(settings: Settings) -> int:
    """Play all cells, and print the tables."""
    # 1. The statements.
    statements: list[Statement] = []
    with ProcessPoolExecutor(settings.workers or os.cpu_count()) as pool:
        for name in settings.presentations:
            found, seed = 0, 0
            while found < settings.statements:
                jobs = [(name, each, settings.shortest) for each in range(seed, seed + 64)]
                new = [each for each in pool.map(made, jobs) if each is not None][: settings.statements - found]
                statements, found, seed = [*statements, *new], found + len(new), seed + 64
    # 2. The searches.
    results: dict[str, dict[str, list[tuple[int, int]]]] = {name: {} for name in [*PLAYERS, LIST]}
    with ProcessPoolExecutor(
        settings.workers or os.cpu_count(), initializer=_statements.extend, initargs=(statements,)
    ) as pool:
        for label, cell in cells().items():
            for each in pool.map(work, [(number, cell) for number in range(len(statements))], chunksize=4):
                for name, row in each.items():
                    results[name].setdefault(label, []).append(row)
    # 3. The tables.
    for name, by_cell in results.items():
        heads = [*map(str, SIMULATIONS), *(f"{each} tactics" for each in LEAN_ATTEMPTS)]
        title = f"{name}: % of {len(statements)} statements, by simulations and by tactics for Lean"
        table = Table(["search", *heads], title=title)
        for label, rows in by_cell.items():
            shares = [sum(0 < at <= most for at, _ in rows) for most in SIMULATIONS]
            shares += [sum(0 < at <= most for _, at in rows) for most in LEAN_ATTEMPTS]
            table.add(label, *(f"{100 * share / len(rows):.0f}" for share in shares))
        Console().print(table)
    if settings.json is not None:
        settings.json.write_text(json.dumps(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(tyro.cli(Settings, description=__doc__)))
