"""How fast is the pure search? Simulations per second with a policy and a Lean that cost nothing.

    python -m scripts.bench.search [--method mcts] [--simulations 800] [--searches 20] [--json OUT]

Three toy worlds, expansions prepared in advance so that only `select` and `feed` are timed: `chain` (one branch per
tactic), `products` (one to three branches per tactic), `merging` (few states, so that most expansions meet known
ones). Median over the searches.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from common.attempts import Method
from common.lean import Branch, Outcome, OutcomeKind
from common.sampling import SAMPLES
from common.seeds import derive_seed
from node.prover.methods import ProofSearch, begin
from node.prover.parameters import SearchParameters
from node.prover.prior import Proposal
from node.prover.service import GC_THRESHOLDS
from scripts.bench._report import asked, machine, report

STUBS = 20_000
"""Prepared expansions per world, used in turn."""


@dataclass
class SearchBenchSettings:
    """Simulations per second of the pure search."""

    method: Annotated[Method, tyro.conf.EnumChoicesFromValues] = Method.MCTS
    """How to search."""
    simulations: int = 800
    """Simulations of one search (AlphaProof's pseudocode: 800)."""
    searches: int = 20
    """Searches per world; the median is printed."""
    json: Path | None = None
    """Write the numbers here as well."""


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


def play(method: Method, expansions: list[Expansion], simulations: int, offset: int) -> tuple[float, ProofSearch]:
    """CPU seconds for one search, and the search."""
    search = begin(method, "root", SearchParameters(), offset)
    start = time.process_time()
    for turn in range(simulations):
        request = search.select()
        if request is None:
            break
        search.feed(request.node_id, *expansions[(offset + turn) % STUBS])
    return time.process_time() - start, search


def measure(branches: int, states: int, arguments: SearchBenchSettings) -> dict[str, float]:
    expansions = prepare(branches, states)
    runs = [
        play(arguments.method, expansions, arguments.simulations, 997 * index) for index in range(arguments.searches)
    ]
    rates = [search.statistics.simulations / seconds for seconds, search in runs]
    depth = statistics.mean(node.depth for _, search in runs for node in search.tree.nodes if node.visits)
    nodes = statistics.median(len(search.tree.nodes) for _, search in runs)
    return {"simulations_per_s": statistics.median(rates), "states": nodes, "mean_depth": depth}


def main() -> None:
    gc.set_threshold(*GC_THRESHOLDS)  # as a prover does
    arguments = tyro.cli(SearchBenchSettings, description=__doc__)
    worlds = {"chain": (1, 10**9), "products": (3, 10**9), "merging": (2, 2000)}
    results = {name: measure(*world, arguments) for name, world in worlds.items()}
    report({"settings": asked(arguments), "machine": machine(), "worlds": results}, arguments.json)


if __name__ == "__main__":
    main()
