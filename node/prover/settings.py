"""Configuration of a prover."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from common.limits import Duration, Natural, Positive, Timeout
from common.sampling import Sampling
from common.sizing import read_machine, sizes
from node.prover.parameters import SearchParameters

FIXED_PENALTY = 1.0
"""Steps that an untried tactic is behind at most with the fixed policy, whose values are only guesses."""


@dataclass
class ProverSettings:
    """A prover plays several searches at once against inference nodes and lean-proxies."""

    policy: Literal["inference", "fixed"] = "inference"
    """`inference` asks the model; `fixed` needs no model and proposes a fixed list of tactics."""

    searches: Natural = 0
    """Searches at once; 0 takes four per core."""

    leaves: Positive = 4
    """Expansions in flight within one search, and never more than an eighth of its simulations."""

    tactic_seconds: Timeout = 5.0
    """Time limit of one tactic in Lean."""

    lean_patience: Duration = 60.0
    """Seconds of asking busy or absent lean-proxies before outcomes count as lost; time without broker is not
    counted."""

    policy_patience: Duration = 600.0
    """Seconds of asking busy, paused or absent inference nodes before an attempt ends in an error; time without broker
    is not counted."""

    policy_timeout: Timeout = 30.0
    """Seconds after which one unanswered request to inference is sent again."""

    drain_seconds: Duration = 5.0
    """At SIGTERM, searches that end within this time are reported; the others are handed back to the queue."""

    max_deliveries: Positive = 5
    """An attempt that is delivered more often has killed its provers: it is reported as poisoned."""

    poll_seconds: Timeout = 0.5
    """How long an idle prover waits for a training attempt before it looks for more urgent ones again."""

    search: SearchParameters = field(default_factory=SearchParameters)
    """The numbers of the search."""

    sampling: Sampling = field(default_factory=Sampling)
    """How inference nodes draw tactics."""

    def search_parameters(self) -> SearchParameters:
        """The numbers of the search that go with the policy."""
        if self.policy != "fixed":
            return self.search
        return replace(self.search, unvisited_penalty=min(self.search.unvisited_penalty, FIXED_PENALTY))

    def resolved_searches(self) -> int:
        """Searches at once on this machine."""
        return self.searches or sizes(read_machine()).searches
