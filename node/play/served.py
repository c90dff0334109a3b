"""Checks whether a running mesh serves the language models and the network of a policy, and reports their problems."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence

from common.bus import Bus
from common.protocol.messages import ModelFacts, NodeInfo, ProverFacts, facts_of
from node.llm.models import served_name
from node.prover.policies.names import INFERENCE, BadPolicy, PolicyName, has_network, parse
from node.prover.policies.sources import ABSENT_SECONDS, address_of, serve_network, served_in_words, served_models

LOOK_EVERY = 0.5
"""Seconds between queries of the node registry."""


async def check_served(bus: Bus, policy: str) -> None:
    """Check that inference nodes serve the language models of a policy. Waits a few seconds for the nodes of a mesh
    that is starting. Raises BadPolicy, BusError."""
    models = _models(parse(policy, INFERENCE) if policy else ())
    end = time.monotonic() + ABSENT_SECONDS
    while models:
        nodes = await bus.nodes()
        missing = sorted(models - served_models(nodes))
        if not missing:
            return
        if time.monotonic() > end:
            raise BadPolicy(
                f"no inference node of run {bus.run!r} serves `{missing[0]}`; {served_in_words(nodes)}. "
                "[inference] model, or `proofmesh up --policy`, serves one"
            )
        await asyncio.sleep(LOOK_EVERY)


def policies_of(nodes: Iterable[NodeInfo]) -> set[str]:
    """The policies of the provers, which they use for attempts that name none."""
    return {facts.policy for facts in facts_of(nodes, ProverFacts).values()}


def trouble_of(nodes: Sequence[NodeInfo], policy: str) -> str:
    """Problems with the language models and the network of a policy: not served, or the problem that all their nodes
    report. Empty if each has a healthy node. Raises BadPolicy."""
    policies = [policy] if policy else policies_of(nodes)
    names = [name for each in policies for name in parse(each, INFERENCE)]
    problems = []
    if policy and has_network(names) and not serve_network(nodes):
        problems.append("no inference node serves a network")
    for model in sorted(_models(names)):
        troubles = [facts.trouble for facts in facts_of(nodes, ModelFacts).values() if facts.model == model]
        if not troubles:
            problems.append(f"no inference node serves `{model}`")
        elif all(troubles):
            problems.append(troubles[0])
    return "; ".join(problems)


def _models(names: Iterable[PolicyName]) -> set[str]:
    """Raises BadPolicy."""
    return {served_name(address_of(name)) for name in names if name.is_model}
