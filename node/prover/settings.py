"""Configuration of a prover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from common.limits import Duration, Natural, Nucleus, Positive, StopTexts, Temperature, Timeout
from common.sizing import read_machine, sizes


@dataclass
class ProverSettings:
    """A prover plays several searches at once against inference nodes and lean-proxies."""

    policy: Literal["inference", "fixed"] = "inference"
    """`inference` asks the model; `fixed` needs no model and proposes a fixed list of tactics."""

    searches: Natural = 0
    """Searches at once; 0 takes four per core."""

    leaves: Positive = 4
    """Expansions in flight within one search, and never more than an eighth of its simulations."""

    temperature: Temperature = 1.0
    """Of sampling tactics. A young model's samples are better below 1, and a little less varied."""

    top_p: Nucleus = 1.0
    """Sample each token from the smallest set of likeliest ones with this probability together; 1: from all."""

    distinct: bool = False
    """The samples of a state begin with different tokens, as far as there are enough: more tactics to try, and no
    count of duplicates in their prior."""

    stop: StopTexts = ()
    """Texts that end a tactic besides its own end and are no part of it, each a single token of the model; at most
    three."""

    tactic_seconds: Timeout = 5.0
    """Time limit of one tactic in Lean."""

    lean_patience: Duration = 60.0
    """Seconds of asking busy or absent lean-proxies before outcomes count as lost; time without broker is not
    counted."""

    policy_patience: Duration = 600.0
    """Seconds of asking busy, paused or absent inference nodes before an attempt ends in an error."""

    policy_timeout: Timeout = 30.0
    """Seconds after which one unanswered request to inference is sent again."""

    drain_seconds: Duration = 5.0
    """At SIGTERM, searches that end within this time are reported; the others are handed back to the queue."""

    max_deliveries: Positive = 5
    """An attempt that is delivered more often has killed its provers: it is reported as poisoned."""

    poll_seconds: Timeout = 0.5
    """How long an idle prover waits for a training attempt before it looks for more urgent ones again."""

    def resolved_searches(self) -> int:
        """Searches at once on this machine."""
        return self.searches or sizes(read_machine()).searches
