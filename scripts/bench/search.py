"""Measures the pure search: simulations per second of processor time, with a policy and a Lean that cost little.

    python -m scripts.bench.search [--method mcts] [--simulations 800] [--searches 20] [--worlds chain ...] [--json OUT]
    python -m scripts.bench.search --simulations 512 --searches 100 --worlds trivial realistic

Three worlds have prepared answers, so that only `select` and `feed` are timed; there are 6 tactics, and a third fails:
`chain` (one branch per tactic), `products` (one to three branches per tactic), `merging` (few states, so that most
expansions reach known ones).

In two worlds the answers are timed, too: a stub looks up each answer of policy and Lean by the text of the state
(`scripts.bench._stub`). There are 8 tactics; each is legal with probability 0.4, and a tenth of the legal ones leaves
several branches. They are `trivial` (states such as `s123`) and `realistic` (goals as Lean prints them, with several
hundred characters). The second command uses the settings with which nanoproof's search was measured.

Each search has its own root. The medians over the searches are printed. Python's garbage collector has a prover's
thresholds; the data of the world is excluded from collection, since a prover has no such data.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

import tyro

from common.lean import Branch, Outcome, OutcomeKind
from common.protocol.attempts import Method
from common.sampling import SAMPLES
from common.seeds import derive_seed
from node.prover.policies.policy import Proposal
from node.prover.search.merging import Merging
from node.prover.search.methods import ProofSearch, begin
from node.prover.search.parameters import SearchParameters
from node.prover.service import GC_THRESHOLDS
from scripts.bench._report import asked, machine, report
from scripts.bench._stub import REALISTIC, TRIVIAL, Stub

World = Literal["chain", "products", "merging", "trivial", "realistic"]

PREPARED: dict[World, tuple[int, int]] = {"chain": (1, 10**9), "products": (3, 10**9), "merging": (2, 2000)}
"""Most branches per tactic, and number of states, of the toy worlds."""

STUBS = 20_000
"""Prepared expansions per world, used in turn."""


@dataclass
class SearchBenchSettings:
    """Measure simulations per second of the pure search."""

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
    merging: Merging = SearchParameters.merging
    """Which states are merged into one node (`[prover.search] merging`)."""
    json: Path | None = None
    """Also write the results to this file."""


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


def built(world: World, arguments: SearchBenchSettings) -> Prepared | Answered:
    """Build a world by its name."""
    if world in PREPARED:
        return Prepared(*PREPARED[world])
    texts = REALISTIC if world == "realistic" else TRIVIAL
    return Answered(Stub(texts, tactics=arguments.tactics, legal=arguments.legal, products=arguments.products))


def measure(name: World, arguments: SearchBenchSettings) -> dict[str, float]:
    """Measure the searches in one world."""
    world, parameters = built(name, arguments), SearchParameters(merging=arguments.merging)
    gc.collect()
    gc.freeze()
    rates: list[float] = []
    depths: list[float] = []
    nodes: list[int] = []
    for number in range(arguments.searches):
        offset = 997 * number
        search = begin(arguments.method, world.root(offset), parameters, offset)
        start = time.process_time()
        world.play(search, arguments.simulations, offset)
        rates.append(search.statistics.simulations / (time.process_time() - start))
        depths.append(statistics.mean(node.depth for node in search.tree.nodes if node.visits))
        nodes.append(len(search.tree.nodes))
    return {
        "simulations_per_s": statistics.median(rates),
        "states": statistics.median(nodes),
        "mean_depth": statistics.mean(depths),
    }


def main() -> None:
    gc.set_threshold(*GC_THRESHOLDS)  # the same as in a prover
    arguments = tyro.cli(SearchBenchSettings, description=__doc__)
    results = {name: measure(name, arguments) for name in arguments.worlds}
    report({"settings": asked(arguments), "machine": machine(), "worlds": results}, arguments.json)


if __name__ == "__main__":
    main()
