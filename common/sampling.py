"""How tactics are drawn from a policy: the same in a prover's configuration, in a request and in the engine."""

from __future__ import annotations

from dataclasses import dataclass

from common.limits import Nucleus, StopTexts, Temperature

SAMPLES = 6
"""† K: tactics sampled per expansion, wherever nothing else is said († from reimplementations of AlphaProof)."""


@dataclass(frozen=True)
class Sampling:
    """How tactics are drawn; by default from the policy itself."""

    temperature: Temperature = 1.0
    """Divides the logits. A young model's samples are better below 1, and a little less varied; 0 takes the
    likeliest."""

    top_p: Nucleus = 1.0
    """Sample each token from the smallest set of likeliest ones with this probability together; 1: from all (Holtzman
    et al., arXiv 1904.09751)."""

    distinct: bool = False
    """Draw the first tokens of a state's samples without replacement, so that they begin differently as far as there
    are enough tokens: more tactics to try, and no count of duplicates in their prior."""

    stop: StopTexts = ()
    """Texts that end a tactic besides its own end and are no part of it, each a single token of the model; at most
    three."""

    @property
    def plain(self) -> bool:
        """Whether every token is drawn from the policy's own distribution."""
        return self.temperature == 1.0 and self.top_p == 1.0 and not self.distinct


PLAIN = Sampling()
"""From the policy itself."""
