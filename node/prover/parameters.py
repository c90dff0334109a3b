"""The numbers of the search, each with its source: section [prover.search] of a configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

from msgspec import Meta

from common.limits import Discount, Factor, Loss, Natural, Ratio, Share
from node.prover import formulas
from node.prover.merging import Merging

LIST_PENALTY = 1.0
"""Steps that an untried tactic is behind at most with a list of tactics, whose values are only guesses."""

Depth = Annotated[int, Meta(ge=1, le=256)]
"""Steps from the root. A proof is encoded by nested calls, two for each step, and Python allows a thousand."""


@dataclass(frozen=True)
class SearchParameters:
    """The numbers of the search. Defaults are AlphaProof's (Nature 2025, pseudocode); those marked † come from
    reimplementations of it."""

    discount: Discount = 0.99
    """γ of Q = γ^(-1-V): a proof one step longer is worth one percent less."""
    c_init: Factor = 0.001
    """Constant part of the exploration factor."""
    c_base: Ratio = 3200.0
    """Visits at which the exploration factor has grown by log 2."""
    c_and: Factor = 64.0
    """† Exploration among the branches of a product node, in place of an informed prior."""
    unvisited_penalty: Factor = 32.0
    """† Steps below its parent's value at which an unvisited child starts. With a list of tactics alone at most 1."""
    unvisited_zero: bool = False
    """The pseudocode's rule in place of the penalty: an unvisited child has Q = 0."""
    no_tactic_value: Loss = -40.0
    """Value of a state at which no tactic is legal."""
    progressive_c: Factor = 0.01
    """Sample again at a state while its number of tactics is at most progressive_c · N^progressive_exponent ..."""
    progressive_exponent: Share = 0.6
    """... so the second round comes at about 2,150 visits, unless no tactic is legal: then at every visit."""
    length_exponent: Share = 0.5
    """Best-first search: α of Σ log p / L^α for a path of L tactics (BFS-Prover); 0 is GPT-f's and ReProver's order, 1
    the mean."""
    max_losses: Natural = 3
    """How often an expansion is repeated whose outcomes infrastructure lost, before the search goes on without it."""
    max_depth: Depth = 128
    """Steps from the root to the deepest state: twice the 64 bins of the value."""
    merging: Merging = "names-and-order"
    """Which states of a search are one: those of equal text, or also those that differ in the names of their hypotheses
    only, or in the names and the order. A proof through such a state is renamed."""
    values: bool = True
    """Use the policy's values. False, for ablations: every open state is worth -1, so that priors alone guide MCTS."""
    and_nodes: bool = True
    """Split independent goals into branches that are proved separately (AND nodes). False, for ablations: the goals of
    a tactic are one state, as goals that share a metavariable always are."""

    @cached_property
    def exploration(self) -> formulas.ByCount:
        """`formulas.exploration` by ΣN."""
        return formulas.ByCount(formulas.exploration, self)

    @cached_property
    def few_tactics(self) -> formulas.ByCount:
        """`formulas.few_tactics` by visits."""
        return formulas.ByCount(formulas.few_tactics, self)

    def beside(self, *, network: bool) -> SearchParameters:
        """The numbers that go with a policy. `network`: whether a network, which has values, is part of it."""
        if network:
            return self
        return replace(self, unvisited_penalty=min(self.unvisited_penalty, LIST_PENALTY))
