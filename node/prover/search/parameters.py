"""The parameters of the search, each with its source: section [prover.search] of a configuration."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from msgspec import Meta

from common.limits import Discount, Factor, Loss, Natural, Positive, Ratio, Share, Temperature

LIST_PENALTY = 1.0
"""Largest `unvisited_penalty` for a list of tactics, because its values are only guesses."""

Depth = Annotated[int, Meta(ge=1, le=256)]
"""Steps from the root. A proof is encoded with nested calls, two for each step, and Python allows a thousand."""


@dataclass(frozen=True)
class SearchParameters:
    """The parameters of the search. Defaults are AlphaProof's (Nature 2025, pseudocode); those marked † come from
    reimplementations of it."""

    discount: Discount = 0.99
    """Discount γ in Q = γ^(-1-V): a proof that is one step longer is worth one percent less."""
    c_init: Factor = 0.001
    """PUCT: the constant part of the exploration factor c."""
    c_base: Ratio = 3200.0
    """PUCT: the visit count at which c has grown by log 2."""
    c_and: Factor = 64.0
    """† Exploration factor among the branches of a product (AND) node, in place of a learned prior."""
    unvisited_penalty: Factor = 4.0
    """An unvisited child starts this many steps below its parent's value. With a list of tactics alone at most 1.
    (Reimplementations of AlphaProof use 16 and 32; LOG.md, 2026-11-26, has the comparison.)"""
    unvisited_zero: bool = False
    """Use the pseudocode's rule instead of the penalty: an unvisited child has Q = 0."""
    prior_temperature: Ratio = 200.0
    """τ in the prior mass of a sampled tactic, count · exp(log p / τ). So high, sample counts decide."""
    no_tactic_value: Loss = -40.0
    """Value of a state without legal tactics."""
    progressive_c: Factor = 0.01
    """Progressive sampling: a state with at most progressive_c · N^progressive_exponent expansions is sampled again."""
    progressive_exponent: Share = 0.6
    """With these defaults the second expansion of a state with live tactics comes at 2,155 visits, the third at 6,840.
    If no tactic is left, it comes at the next visit."""
    resampling_temperature: Temperature = 0.0
    """When a state is sampled again, the temperature is at least this. A network that is sure of itself otherwise gives
    the same tactics again. 1.5 proves more where proofs are long (docs/results.md). 0: the temperature of the first
    samples, as in the pseudocode."""
    dead_after: Positive = 2
    """A state without live tactics rests after this many expansions. When nothing else is left in the tree, a new round
    begins: each of these states may be expanded once more."""
    length_exponent: Share = 0.5
    """Best-first search: α in Σ log p / L^α for a path of L tactics (BFS-Prover). 0 is the order of GPT-f and ReProver,
    1 the mean."""
    max_losses: Natural = 3
    """How often an expansion with lost outcomes is repeated before the search goes on without these outcomes."""
    max_refusals: Positive = 64
    """An attempt ends after this many proofs that final verification refused. Each of them costs a verification, and so
    many refusals mean that Lean's workers accept a tactic that the kernel does not."""
    max_depth: Depth = 128
    """Most steps from the root to a state: twice the 64 bins of the value."""
    values: bool = True
    """Use the policy's values. False, for ablations: every open state has value -1, so only priors guide MCTS."""
    and_nodes: bool = True
    """Split independent goals into branches that are proved separately (AND nodes). False, for ablations: the goals of
    a tactic are one state, as goals that share a metavariable always are."""

    def changes(self) -> dict[str, Any]:
        """The parameters that are not the defaults."""
        usual = asdict(SearchParameters())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    def beside(self, *, network: bool) -> SearchParameters:
        """The parameters for a policy. `network`: whether the policy includes a network, which has learned values."""
        if network:
            return self
        return replace(self, unvisited_penalty=min(self.unvisited_penalty, LIST_PENALTY))
