"""Bench `search`: the pure search with a policy and a Lean that cost little, and expansions where Lean is slow."""

from __future__ import annotations

import asyncio
import gc
import math
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import tyro

from common.lean import Branch, Outcome, OutcomeKind, Step, Theorem
from common.limits import Positive, Timeout
from common.protocol.attempts import Method
from common.protocol.messages import LeanRunReply, LeanRunRequest
from common.seeds import derive_seed
from common.settings import SAMPLES
from node.lean.backend import OutcomeCache
from node.lean.requests import Requests
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import SLOW_SECONDS, Pool
from node.lean.worker.process import WorkerOptions
from node.prover.policies.policy import Proposal
from node.prover.search.methods import ProofSearch, begin
from node.prover.search.parameters import SearchParameters
from node.prover.service import GC_THRESHOLDS
from scripts.bench.harness import Part, Results, machine

World = Literal["chain", "products", "merging", "trivial", "realistic"]

PREPARED: dict[World, tuple[int, int]] = {"chain": (1, 10**9), "products": (3, 10**9), "merging": (2, 2000)}
"""Most branches per tactic, and number of states, of the toy worlds."""

STUBS = 20_000
"""Prepared expansions per world, used in turn."""


@dataclass
class Search(Part):
    """Measures the pure search: simulations per second of processor time, with a policy and a Lean that cost little.

        proofmesh bench search [--method mcts] [--simulations 800] [--searches 20] [--worlds chain ...]
        proofmesh bench search --simulations 512 --searches 100 --worlds trivial realistic

    Three worlds have prepared answers, so that only `select` and `feed` are timed; there are 6 tactics, and a third
    fails: `chain` (one branch per tactic), `products` (one to three branches per tactic), `merging` (few states, so
    that most expansions reach known ones).

    In two worlds the answers are timed, too: a stub looks up each answer of policy and Lean by the text of the state.
    There are 8 tactics; each is legal with probability 0.4, and a tenth of the legal ones leaves several branches. They
    are `trivial` (states such as `s123`) and `realistic` (goals as Lean prints them, with several hundred characters).
    The second command uses the settings with which nanoproof's search was measured.

    Each search has its own root. The medians over the searches are printed. Python's garbage collector has a prover's
    thresholds; the data of the world is excluded from collection, since a prover has no such data.
    """

    method: Annotated[Method, tyro.conf.EnumChoicesFromValues] = Method.MCTS
    """How to search."""
    simulations: int = 800
    """Simulations of one search (AlphaProof's pseudocode: 800)."""
    searches: int = 20
    """Searches per world; the median is printed."""
    worlds: tuple[World, ...] = get_args(World)
    """Worlds to search in."""
    tactics: int = 8
    """Tactics of an expansion in `trivial` and `realistic`."""
    legal: float = 0.4
    """Probability that one of them is legal."""
    products: float = 0.1
    """Share of the legal ones that leave two branches or more."""

    def measure(self) -> Results:
        """All worlds."""
        gc.set_threshold(*GC_THRESHOLDS)  # the same as in a prover
        worlds = {name: in_world(name, self) for name in self.worlds}
        return {"settings": self.asked(), "machine": machine(), "worlds": worlds}


Expansion = tuple[list[Proposal], float, dict[str, Outcome]]


def prepare(branches: int, states: int) -> list[Expansion]:
    """Expansions of `SAMPLES` tactics of which a third fail; states are drawn from `states` names."""
    proposals = [Proposal(f"t{index}", 1.0 + index) for index in range(SAMPLES)]
    expansions = []
    for stub in range(STUBS):
        outcomes = {}
        for index, proposal in enumerate(proposals):
            draw = derive_seed(stub, index)
            names = [f"s{derive_seed(stub, index, part) % states}" for part in range(1 + draw % branches)]
            goals = tuple(Branch(name, (part,)) for part, name in enumerate(names))
            failed = (draw >> 8) % 3 == 0
            outcomes[proposal.tactic] = Outcome(OutcomeKind.ERROR) if failed else Outcome(OutcomeKind.GOALS, goals)
        expansions.append((proposals, -1.0 - derive_seed(stub) % 20, outcomes))
    return expansions


class Prepared:
    """A world with prepared answers, which do not depend on the state."""

    def __init__(self, branches: int, states: int) -> None:
        self._expansions = prepare(branches, states)

    def play(self, search: ProofSearch, simulations: int, offset: int) -> None:
        for turn in range(simulations):
            request = search.select()
            if request is None:
                break
            search.feed(request, *self._expansions[(offset + turn) % STUBS])

    def root(self, offset: int) -> str:
        return "root"


class Answered:
    """A world in which each simulation calls the stub policy and the stub Lean, as an agent does."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self.root = stub.root

    def play(self, search: ProofSearch, simulations: int, offset: int) -> None:
        advise, run = self._stub.advise, self._stub.run
        for _ in range(simulations):
            request = search.select()
            if request is None:
                break
            proposals, value = advise(request.state)
            new = [proposal.tactic for proposal in proposals if proposal.tactic not in request.tried]
            search.feed(request, proposals, value, run(request.state, request.path, new))


def built(world: World, settings: Search) -> Prepared | Answered:
    """Build a world by its name."""
    if world in PREPARED:
        return Prepared(*PREPARED[world])
    texts = REALISTIC if world == "realistic" else TRIVIAL
    return Answered(Stub(texts, tactics=settings.tactics, legal=settings.legal, products=settings.products))


def in_world(name: World, settings: Search) -> dict[str, float]:
    """Measure the searches in one world."""
    world, parameters = built(name, settings), SearchParameters()
    gc.collect()
    gc.freeze()
    rates: list[float] = []
    depths: list[float] = []
    nodes: list[int] = []
    for number in range(settings.searches):
        offset = 997 * number
        search = begin(settings.method, world.root(offset), parameters, offset)
        start = time.process_time()
        world.play(search, settings.simulations, offset)
        rates.append(search.statistics.simulations / (time.process_time() - start))
        depths.append(statistics.mean(node.depth for node in search.tree.nodes if node.visits))
        nodes.append(len(search.tree.nodes))
    return {
        "simulations_per_s": statistics.median(rates),
        "states": statistics.median(nodes),
        "mean_depth": statistics.mean(depths),
    }


# ----------------------------------------------------------------------------------------------------------------------
# A stub policy and a stub Lean that answer from tables; the time of an answer is measured, too.
#
# Everything random is drawn in advance, from a seed, for a fixed number of states. Each answer looks the state up by
# its text. The texts of new states are created again for each answer, as if they had come over the network, so the
# search must hash them.

STATES = 1 << 15
"""Number of states. It is large, so that a search of 512 simulations meets fewer than one in thirty states twice."""

MOST_BRANCHES = 3
"""Most branches of a product (AND) node; the fewest are 2."""

LARGEST_LOSS = 20
"""The policy's values are -1 to -20, drawn for each state independently of its parents and children."""

PRIORS = 256
"""Number of different lists of proposals: the same tactics with different prior mass."""

GOALS = OutcomeKind.GOALS
ERROR = Outcome(OutcomeKind.ERROR, message="tactic failed")

TRIVIAL = (("s", ""),)
"""The text before and after the number of a state: `s123`."""

REALISTIC = (
    (
        "α : Type u_1\nβ : Type u_2\nι : Type u_3\ninst✝² : LinearOrder α\ninst✝¹ : TopologicalSpace α\n"
        "inst✝ : OrderTopology α\nf g : ι → α\ns t : Set α\na b c : α\nhs : IsCompact s\nht : IsClosed t\n"
        "hf : ∀ (i : ι), f i ∈ s ∩ Set.Icc a b\nhg : ∀ (i j : ι), i ≠ j → g i < g j ∨ g j < g i\nh : a ≤ b\n"
        "h' : b ≤ c\nn : ℕ\nhn : ",
        " ≤ n\n⊢ ∃ x ∈ s ∩ t, ∀ (i : ι), f i ≤ x ∧ g i ≤ max x c",
    ),
    (
        "n m k : ℕ\nhn : 0 < n\nhm : n < m\np : ℕ\nhp : Nat.Prime p\nhdvd : p ∣ n * m + k\n"
        "ih : ∀ (j : ℕ), j < n → p ∣ j * m + k → ∃ l, l * p = j * m + k ∧ l ≤ m\nx y z : ℤ\nhx : 0 ≤ x\nhy : x < y\n"
        "hxy : x * y = z + ↑n\nhz : z % ",
        " = 0\n⊢ ∃ l, l * p = n * m + k ∧ l ≤ m ∧ (x + ↑l) * (y - ↑l) ≤ z + ↑n * ↑m",
    ),
    (
        "α : Type\nxs ys zs : List α\nx y : α\nP Q : α → Prop\nhP : ∀ a ∈ xs, P a\nhQ : ∀ a ∈ ys, P a → Q a\n"
        "h : xs ++ ys = x :: zs\nhlen : xs.length + ys.length = ",
        "\nih : ∀ (ws : List α), ws.length < xs.length → (∀ a ∈ ws, P a) → (ws ++ ys).length = zs.length → "
        "∃ a ∈ ws ++ ys, P a ∧ Q a\nhne : ¬xs = []\nhmem : y ∈ zs ∧ (P y ∨ Q y)\n"
        "⊢ ∃ a ∈ x :: zs, (P a ∧ Q a) ∨ (xs ++ ys).reverse = zs.reverse ++ [a]",
    ),
)
"""The text before and after the number, for goals as Lean prints them: 280 to 390 characters, mostly hypotheses."""


class Stub:
    """`STATES` states with the policy's proposals for each, and the outcomes of the proposed tactics."""

    def __init__(
        self, texts: Sequence[tuple[str, str]], *, tactics: int, legal: float, products: float, seed: int = 0
    ) -> None:
        """`texts`: pairs of texts before and after a state's number; states use them in turn. `tactics`: tactics
        proposed at each state. Each is legal with probability `legal`; a share `products` of the legal ones leaves at
        least two branches. No tactic closes a state, so a search runs until its budget is used up."""
        draw = random.Random(seed)
        names = [f"tactic_{index} [h, ih]" for index in range(tactics)]
        priors = [[Proposal(name, draw.uniform(1.0, 3.0)) for name in names] for _ in range(PRIORS)]
        self._texts = [texts[number % len(texts)] for number in range(STATES)]
        self._advice: dict[str, tuple[list[Proposal], float]] = {}
        self._moves: dict[str, dict[str, tuple[int, ...]]] = {}
        for number in range(STATES):
            state = self._write(number)
            self._advice[state] = (draw.choice(priors), -float(draw.randint(1, LARGEST_LOSS)))
            moves = self._moves[state] = {}
            for name in names:
                if draw.random() < legal:
                    branches = draw.randint(2, MOST_BRANCHES) if draw.random() < products else 1
                    moves[name] = tuple(draw.randrange(STATES) for _ in range(branches))

    def root(self, number: int) -> str:
        """The text of a root state: the first state from this number on that has a legal tactic, if there is one."""
        begin = number % STATES
        states = [self._write(each % STATES) for each in range(begin, begin + STATES)]
        return next(filter(self._moves.get, states), states[0])

    def advise(self, state: str) -> tuple[list[Proposal], float]:
        """The stub policy: proposals and value V of a state."""
        return self._advice[state]

    def run(self, state: str, path: Sequence[Step], tactics: Sequence[str]) -> dict[str, Outcome]:
        """The stub Lean: the outcome of each tactic. The path is an argument because Lean needs it."""
        moves = self._moves[state]
        return {tactic: self._outcome(moves[tactic]) if tactic in moves else ERROR for tactic in tactics}

    def _outcome(self, numbers: tuple[int, ...]) -> Outcome:
        if len(numbers) == 1:
            return Outcome(GOALS, (Branch(self._write(numbers[0])),))
        return Outcome(GOALS, tuple([Branch(self._write(number), (index,)) for index, number in enumerate(numbers)]))

    def _write(self, number: int) -> str:
        before, after = self._texts[number]
        return f"{before}{number}{after}"


# ----------------------------------------------------------------------------------------------------------------------
# Expansions at the ends of paths of slow tactics, in real Lean.

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
