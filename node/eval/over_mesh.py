"""A running mesh as the venue of an evaluation: its provers search, its lean-proxies verify."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from common.bus import Bus, BusError, BusSettings
from common.protocol.attempts import Method
from common.protocol.messages import LeanProxyFacts, ModelFacts, NetworkFacts, NodeInfo, ProverFacts, facts_of
from common.settings import Sampling
from node.eval.folder import LeanFacts, Plan, StatementRecord
from node.eval.venue import label_of
from node.llm.models import has_template_file, mesh_name, served_name
from node.play.mesh import MeshAttempts, check_served, policies_of
from node.play.policies import check_for_mesh
from node.prover.policies.names import INFERENCE, BadPolicy, PolicyName, has_network, parse
from node.prover.policies.sources import address_of, labels

CONNECT_SECONDS = 3.0
"""Seconds to wait for the connection to a broker that the command line names."""

NODES_SECONDS = 30.0
"""Seconds to wait until a prover and a lean-proxy are registered, in case the mesh is just starting."""

LOOK_EVERY = 1.0
"""Seconds between two reads of the node registry, while nodes are missing."""


class MeshVenue:
    """`Venue` on a mesh. Make it with `mesh_venue`."""

    toolchain = None
    gather_seconds = 2.0

    def __init__(
        self,
        bus: Bus,
        run: str,
        policy: str,
        lean: LeanFacts,
        searches: int,
        weights: dict[str, str],
        played: tuple[int, Sampling],
    ) -> None:
        """`policy`: the policy of the attempts. `searches`: most outstanding attempts; 0: as many as the provers have
        slots. `weights`: digests of the network that
        inference nodes serve and of the prompt templates of language models. `played`: expansions in flight within a
        search of the provers, and their sampling."""
        self.lean = lean
        self.mesh = run
        self.policy = self.asked = policy
        self.label = label_of(parse(policy, INFERENCE))
        self.weights = weights
        self.leaves, self.sampling = played
        self._bus = bus
        self.searches = searches

    async def refusals(self, statements: Sequence[StatementRecord]) -> dict[str, str]:
        """Always empty: the attempts report which statements do not elaborate."""
        return {}

    @asynccontextmanager
    async def attempts(self, plan: Plan) -> AsyncIterator[MeshAttempts]:
        """Raises BusError."""
        async with MeshAttempts(self._bus, self._bus.new_client("eval"), searches=self.searches) as attempts:
            yield attempts

    def lean_cpu(self) -> float | None:
        """Always None: the Lean processes run on other machines."""
        return None


@asynccontextmanager
async def mesh_venue(
    url: str,
    run: str,
    policy: str,
    searches: int,
    note: Callable[[str], None],
    plays: tuple[str, str, int] = (Method.MCTS, "", 0),
) -> AsyncIterator[MeshVenue]:
    """Connects to a running mesh for the duration of the block.

    `plays`: the method, the search that follows whole proofs, the number of corrections. Raises BadPolicy, BusError.
    """
    check_for_mesh(policy, *plays)
    bus = await Bus.connect(BusSettings(url=url), run=run, name="eval", wait=CONNECT_SECONDS)
    try:
        nodes = await _nodes(bus, note)
        if not policy:
            policy = _policy(nodes)
        await check_served(bus, policy)
        nodes = await bus.nodes()
        network = has_network(parse(policy, INFERENCE))
        if network and any(node.role == "learner" for node in nodes):
            raise BadPolicy(
                f"run {run!r} has a learner, which keeps changing the network: evaluate during training "
                "([learner.evaluation] every), or serve one network with `proofmesh up --policy own:PATH`"
            )
        weights = (_weights(nodes) if network else {}) | _templates(nodes, policy)
        yield MeshVenue(bus, run, policy, _lean(nodes), searches, weights, _played(nodes))
    finally:
        await bus.close()


NEEDED: dict[str, type[ProverFacts] | type[LeanProxyFacts]] = {"prover": ProverFacts, "lean-proxy": LeanProxyFacts}
"""The roles that play attempts, with the facts that their nodes announce when they have started."""


async def _nodes(bus: Bus, note: Callable[[str], None]) -> list[NodeInfo]:
    """Waits for a prover and a lean-proxy that have started, and returns the mesh's nodes. Raises BusError."""
    announced = False
    end = time.monotonic() + NODES_SECONDS
    while True:
        nodes = await bus.nodes()
        missing = [role for role, kind in NEEDED.items() if not any(isinstance(node.facts, kind) for node in nodes)]
        if not missing:
            return nodes
        if time.monotonic() > end:
            raise NoNodes(f"no {' and no '.join(missing)} is registered; start one with `proofmesh {missing[0]}`")
        if not announced:
            announced = True
            note(f"waiting for a {' and a '.join(missing)}")
        await asyncio.sleep(LOOK_EVERY)


class NoNodes(BusError):
    """The mesh lacks nodes of a role; the text says which one."""


def _lean(nodes: Sequence[NodeInfo]) -> LeanFacts:
    """The Lean of the lean-proxies. Raises BadPolicy if they serve different ones."""
    (first, facts), *others = facts_of(nodes, LeanProxyFacts).items()
    for other, its_facts in others:
        if difference := _difference(facts, its_facts):
            raise BadPolicy(
                f"the lean-proxies {first} and {other} serve different Leans: {difference}; give both the same [lean]"
            )
    return LeanFacts(version=facts.version, name=facts.name, library=facts.library, header=facts.header)


def _difference(one: LeanProxyFacts, other: LeanProxyFacts) -> str:
    """The first difference of two Leans that may change what a statement means or whether it is proved; empty: none.
    Folders of projects whose commits are known may differ."""
    places = ["project"] if not (one.library or other.library) else []
    for name in ("version", "name", *places, "library", "options"):
        here, there = getattr(one, name), getattr(other, name)
        if here != there:
            return f"{name} is {here!r} and {there!r}"
    lines = itertools.zip_longest(one.header.split("\n"), other.header.split("\n"))
    differing = ((number, *both) for number, both in enumerate(lines, 1) if both[0] != both[1])
    return next((f"line {number} of the header is {here!r} and {there!r}" for number, here, there in differing), "")


def _policy(nodes: Sequence[NodeInfo]) -> str:
    """The policy that the provers are configured with. Raises BadPolicy if they have different ones."""
    played = policies_of(nodes)
    if len(played) > 1:
        raise BadPolicy(f"the provers play different policies ({', '.join(sorted(played))}): name one with --policy")
    return played.pop()


def _played(nodes: Sequence[NodeInfo]) -> tuple[int, Sampling]:
    """Expansions in flight and sampling of the provers. Raises BadPolicy if the provers differ."""
    played = {(facts.leaves, facts.sampling) for facts in facts_of(nodes, ProverFacts).values()}
    if len(played) > 1:
        raise BadPolicy("the provers have different [prover] leaves or sampling: give all of them the same values")
    return played.pop()


def _weights(nodes: Sequence[NodeInfo]) -> dict[str, str]:
    """Digest of the network that the inference nodes serve. Raises BadPolicy if they serve different ones."""
    served = {facts.weights for facts in facts_of(nodes, NetworkFacts).values()} - {""}
    if len(served) > 1:
        raise BadPolicy(
            f"the inference nodes serve different networks ({', '.join(sorted(served))}): let all serve the same one"
        )
    return dict.fromkeys([INFERENCE], served.pop()) if served else {}


def _templates(nodes: Sequence[NodeInfo], policy: str) -> dict[str, str]:
    """The prompt template of each language model in a policy: a built-in one, or a file that the provers have.

    Raises BadPolicy if the provers have different files, or one has none.
    """
    templates_of_provers = [facts.templates for facts in facts_of(nodes, ProverFacts).values()]
    templates: dict[str, str] = {}
    for name in parse(policy, INFERENCE):
        if not name.is_model:
            continue
        model = mesh_name(address_of(name))
        if not has_template_file(address_of(name)):
            templates[model] = labels([name])[model] + _digest(nodes, name)
            continue
        read = {each.get(model, "") for each in templates_of_provers}
        if len(read) != 1 or "" in read:
            raise BadPolicy(
                f"`{name}`: its template is a file that all provers must have alike: name it in [prover] policy"
            )
        templates[model] = read.pop() + _digest(nodes, name)
    return templates


def _digest(nodes: Sequence[NodeInfo], name: PolicyName) -> str:
    """Digest of a language model's weights, if the nodes that serve it report one. Raises BadPolicy if they differ."""
    model = served_name(address_of(name))
    digests = {facts.digest for facts in facts_of(nodes, ModelFacts).values() if facts.model == model} - {""}
    if len(digests) > 1:
        raise BadPolicy(f"the inference nodes serve different weights of `{model}` ({', '.join(sorted(digests))})")
    return f", weights {digests.pop()}" if digests else ""
