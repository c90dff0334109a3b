"""The numbers of the search, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchParameters:
    """Defaults are AlphaProof's (Nature 2025, pseudocode); those marked † come from reimplementations of it."""

    discount: float = 0.99
    """γ of Q = γ^(-1-V): a proof one step longer is worth one percent less."""
    c_init: float = 0.001
    """Constant part of the exploration factor."""
    c_base: float = 3200.0
    """Visits at which the exploration factor has grown by log 2."""
    c_and: float = 64.0
    """† Exploration among the branches of a product node, in place of an informed prior."""
    unvisited_penalty: float = 32.0
    """† Steps below its parent's value at which an unvisited child starts."""
    unvisited_zero: bool = False
    """The pseudocode's rule in place of the penalty: an unvisited child has Q = 0."""
    no_tactic_value: float = -40.0
    """Value of a state at which no tactic is legal."""
    samples: int = 6
    """† K: tactics sampled in one expansion."""
    progressive_c: float = 0.01
    """Sample again at a node while its number of tactics is at most progressive_c · N^progressive_exponent ..."""
    progressive_exponent: float = 0.6
    """... so the second round comes at about 2,150 visits, unless no tactic is legal: then at every visit."""
    max_losses: int = 3
    """How often an expansion is repeated whose outcomes infrastructure lost, before the search goes on without it."""
    max_depth: int = 128
    """Steps from the root to the deepest state: twice the 64 bins of the value; keeps paths and recursion bounded."""
