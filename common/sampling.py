"""Sampling parameters of a policy, for a prover's configuration, for requests and for the inference engine."""

from __future__ import annotations

from dataclasses import dataclass

from common.limits import Nucleus, StopTexts, Temperature

SAMPLES = 6
"""† K: default number of tactics sampled per expansion († from reimplementations of AlphaProof)."""


@dataclass(frozen=True)
class Sampling:
    """How tactics are sampled. By default every token is sampled from the policy's distribution."""

    temperature: Temperature = 1.0
    """Divides the logits. Below 1, samples of a model with little training are better and a little less varied; 0 takes
    the most probable token."""

    top_p: Nucleus = 1.0
    """Sample each token from the smallest set of most probable tokens whose total probability is at least this; 1: from
    all tokens (nucleus sampling, Holtzman et al., arXiv 1904.09751)."""

    distinct: bool = False
    """Sample the first tokens of a state's samples without replacement, so that the samples begin with different
    tokens. This gives more different tactics to try, and no counts of duplicates for the prior."""

    stop: StopTexts = ()
    """Additional texts that end a tactic. They are not part of it. Each must be a single token of the model; at most
    three."""

    @property
    def plain(self) -> bool:
        """Whether every token is sampled from the policy's own distribution."""
        return self.temperature == 1.0 and self.top_p == 1.0 and not self.distinct


PLAIN = Sampling()
"""Every token is sampled from the policy's own distribution."""
