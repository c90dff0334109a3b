"""Configuration of a prover."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from common.limits import Duration, Natural, Positive, Timeout
from common.machine import read_machine, sizes
from common.settings import Sampling
from node.prover.policies.names import INFERENCE, BadPolicy, has_network, parse
from node.prover.search.parameters import SearchParameters


@dataclass
class ProverSettings:
    """Settings of a prover, which runs several searches at once with inference nodes and lean-proxies."""

    policy: str = INFERENCE
    """The policy that proposes tactics: `inference` (the mesh's network), `openai:MODEL` or `hf:ID_OR_FOLDER` (a
    language model that inference nodes serve, [inference] model; append `@TEMPLATE` if its name does not determine the
    prompt template), `tactics` (a fixed list, which needs no network; `fixed` is an alias), `tactics:FILE` (one tactic
    a line), `neighbours:RUN` (the list and the tactics of a run's proofs, by similarity of their states), or a mixture
    such as `inference+tactics`. With `inference,tactics` two searches take turns, and each gets an equal share of the
    tactics that Lean tries. An attempt may name another policy."""

    templates: tuple[str, ...] = ()
    """Template files that attempts may name after a model, as in `openai:MODEL@FILE.toml`, in addition to those of
    `policy`."""

    premises: str = ""
    """Folder of an index of premises (`proofmesh premises index`). Lemmas of a library that are relevant for a state go
    into the prompts of models whose template has a place for them; with other policies they are proposed as tactics.
    Empty: none."""

    searches: Natural = 0
    """Searches at once; 0 means four per core."""

    leaves: Positive = 4
    """Most expansions in flight within one search; never more than an eighth of its simulations."""

    tactic_seconds: Duration = 0.0
    """Time limit of one tactic in Lean; 0: that of the lean-proxy ([lean_proxy] tactic_seconds)."""

    lean_patience: Duration = 60.0
    """Seconds of retries with busy or absent lean-proxies before outcomes count as lost. Broker outages are not
    counted."""

    policy_patience: Duration = 600.0
    """Seconds of retries with busy, paused or absent inference nodes before an attempt ends in an error. Broker outages
    are not counted. An attempt with a model that no registered node serves ends after a few seconds."""

    policy_timeout: Timeout = 30.0
    """Seconds before an unanswered request to an inference node is sent again."""

    verify_timeout: Timeout = 60.0
    """Seconds before an unanswered request to verify a proof is sent again. Provers verify proofs only for attempts
    that request it; the learner has the proofs of training attempts verified."""

    verify_patience: Duration = 600.0
    """Seconds of retries with busy or absent lean-proxies for a verdict before the attempt ends in an error. Broker
    outages are not counted."""

    drain_seconds: Duration = 5.0
    """After SIGTERM, searches that end within this time deliver their results; other attempts go back to the queue."""

    max_deliveries: Positive = 5
    """An attempt that was delivered more often is reported as poisoned, because it probably crashes provers."""

    poll_seconds: Timeout = 0.5
    """Seconds that an idle prover waits for a training attempt before it checks the more urgent queues again."""

    search: SearchParameters = field(default_factory=SearchParameters)
    """Parameters of the search."""

    sampling: Sampling = field(default_factory=Sampling)
    """How inference nodes sample tactics."""

    def search_parameters(self) -> SearchParameters:
        """The search parameters for the configured policy."""
        return self.search.beside(network=has_network(parse(self.policy, INFERENCE)))

    def check(self) -> None:
        """Raises ValueError if the policy is unknown, or if one of its files (tactics, proofs, template, premises)
        cannot be used."""
        from node.prover.policies.fixed import contents
        from node.prover.policies.proofs import read_proofs
        from node.prover.policies.sources import template_of

        try:
            if self.premises:
                from node.prover.policies.premises import open_source

                open_source(self.premises)
            for name in parse(self.policy, INFERENCE):
                if name.is_model:
                    template_of(name)
                elif name.is_proofs:
                    read_proofs(Path(name.where))
                elif name.where:
                    contents(name)
        except BadPolicy as error:
            raise ValueError(f"policy: {error}") from error

    def resolved_searches(self) -> int:
        """Searches at once on this machine."""
        return self.searches or sizes(read_machine()).searches
