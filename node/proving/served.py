"""Which language models a running mesh serves, for whoever asks it for one, and what is wrong with them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence

from common.bus import Bus
from common.messages import NodeInfo
from node.llm.served import served_name
from node.prover.mesh_models import address_of
from node.prover.mesh_sampler import ABSENT_SECONDS, serve_network, served_in_words, served_models
from node.prover.policy_names import INFERENCE, BadPolicy, PolicyName, has_network, parse

LOOK_EVERY = 0.5
"""Seconds between looks at the registry."""


async def check_served(bus: Bus, policy: str) -> None:
    """Whether inference nodes serve the language models of a policy; those of a mesh that is just starting are waited
    for, for a few seconds. Raises BadPolicy, BusError."""
    wanted = _models(parse(policy, INFERENCE) if policy else ())
    end = time.monotonic() + ABSENT_SECONDS
    while wanted:
        nodes = await bus.nodes()
        missing = sorted(wanted - served_models(nodes))
        if not missing:
            return
        if time.monotonic() > end:
            raise BadPolicy(
                f"no inference node of run {bus.run!r} serves `{missing[0]}`; {served_in_words(nodes)}. "
                "[inference] model, or `proofmesh up --policy`, serves one"
            )
        await asyncio.sleep(LOOK_EVERY)


def policies_of(nodes: Iterable[NodeInfo]) -> set[str]:
    """What the provers play where an attempt names no policy."""
    return {node.facts.get("policy", INFERENCE) for node in nodes if node.role == "prover"}


def trouble_of(nodes: Sequence[NodeInfo], policy: str) -> str:
    """What is wrong with the language models of a policy, in the words of the nodes that serve them, or that nobody
    serves the network that it names; empty: one of each is well. Raises BadPolicy."""
    asked = [policy] if policy else policies_of(nodes)
    names = [name for each in asked for name in parse(each, INFERENCE)]
    found = []
    if policy and has_network(names) and not serve_network(nodes):
        found.append("no inference node serves a network")
    for model in sorted(_models(names)):
        troubles = [node.facts.get("trouble", "") for node in nodes if node.facts.get("model") == model]
        if not troubles:
            found.append(f"no inference node serves `{model}`")
        elif all(troubles):
            found.append(troubles[0])
    return "; ".join(found)


def _models(names: Iterable[PolicyName]) -> set[str]:
    """Raises BadPolicy."""
    return {served_name(address_of(name)) for name in names if name.is_model}
