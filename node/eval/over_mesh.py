"""Plays the attempts of an evaluation on a running mesh: the provers search, the lean-proxies verify."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from common.bus import Bus, BusError, BusSettings, persistently
from common.gathering import Gathering
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Method, Purpose, ResultPart
from common.protocol.messages import (
    LeanProxyFacts,
    LeanVerifyReply,
    MessageError,
    ModelFacts,
    NetworkFacts,
    NodeInfo,
    ProverFacts,
    facts_of,
)
from common.protocol.parts import Parts
from common.sampling import Sampling
from node.eval.plan import LeanFacts, Plan
from node.eval.player import Slot, Slots, attempt_of, record_of
from node.eval.records import AttemptRecord, Standing, StatementRecord
from node.eval.weights import label_of
from node.lean.text.script import proof_script
from node.llm.served import has_template_file, mesh_name, served_name
from node.prover.agents.verification import MeshVerification
from node.prover.policies.models.mesh_models import address_of, labels
from node.prover.policies.names import INFERENCE, BadPolicy, PolicyName, has_network, parse
from node.proving.outstanding import searches_of
from node.proving.policies import check_for_mesh
from node.proving.served import check_served, policies_of

CONNECT_SECONDS = 3.0
"""Seconds to wait for the connection to a broker that the command line names."""

NODES_SECONDS = 30.0
"""Seconds to wait until a prover and a lean-proxy are registered, in case the mesh is just starting."""

LOOK_EVERY = 1.0
"""Seconds between two reads of the node registry: provers join and leave."""

LOST_AFTER = 20.0
"""After this many seconds without a result the backlog is read, to see if the broker has lost attempts."""

GATHER_SECONDS = 2.0
"""How long a proof waits for further proofs, so that a lean-proxy verifies them in one batch."""

VERIFY_SECONDS = 60.0
"""Seconds after which an unanswered verification request is repeated."""

VERIFY_PATIENCE = 600.0
"""Time limit of a verification with all its retries, in seconds; time without a broker does not count."""


class MeshPlayer:
    """`Player` on a mesh."""

    def __init__(self, plan: Plan, bus: Bus, policy: str, searches: int = 0) -> None:
        """`policy`: the policy of the attempts; empty: the one that the provers are configured with. `searches`: most
        outstanding attempts; 0: as many as the provers have slots."""
        self._plan = plan
        self._bus = bus
        self._policy = policy
        self._searches = searches
        self._tag = secrets.token_hex(4)
        self.client = subjects.new_client("eval")
        """Names this client in its attempts, so that it gets their results."""
        self._numbers = itertools.count(1)
        self._outstanding: dict[str, tuple[Attempt, asyncio.Future[AttemptResult]]] = {}
        self._parts = Parts()
        self._heard = time.monotonic()
        self.slots = Slots(searches or 1)
        self._gathering = Gathering(GATHER_SECONDS, self.slots.over)

    async def play(self, statement: StatementRecord, number: int, slot: Slot) -> AttemptRecord:
        """Plays one attempt. If the lean-proxies reject its proof, it is played once more; this time the prover has
        each proof verified and continues its search after a rejection."""
        try:
            record = await self._played(statement, number, slot, verify=False)
            return (
                record
                or await self._played(statement, number, slot, verify=True)
                or _undecided(statement, number, "a prover reported a proof as verified that the lean-proxies refuse")
            )
        except (BusError, MessageError) as error:
            return _undecided(statement, number, f"{type(error).__name__}: {error}")

    async def _played(
        self, statement: StatementRecord, number: int, slot: Slot, *, verify: bool
    ) -> AttemptRecord | None:
        """Returns None if the proof was rejected. Raises BusError, MessageError."""
        await slot.come_back()
        attempt = attempt_of(
            self._plan,
            statement,
            number,
            f"eval-{self._tag}-{next(self._numbers)}",
            policy=self._policy,
            verify=verify,
        )
        result = await self._result(msgspec.structs.replace(attempt, client=self.client))
        slot.leave()
        if result.outcome is not AttemptOutcome.PROVED or result.proof is None:
            return record_of(result, statement.name, number)
        try:
            script = proof_script(result.proof)
        except ValueError:
            return None
        reply = await self._verified(attempt, script)
        if not reply.accepted:
            return None
        return record_of(result, statement.name, number, proof={"script": script, "axioms": reply.axioms})

    async def _result(self, attempt: Attempt) -> AttemptResult:
        """Dispatches an attempt and waits for its result. Raises BusError."""
        waiting: asyncio.Future[AttemptResult] = asyncio.get_running_loop().create_future()
        self._outstanding[attempt.attempt_id] = attempt, waiting
        try:
            await self._dispatch(attempt, attempt.attempt_id)
            return await waiting
        finally:
            del self._outstanding[attempt.attempt_id]

    async def _dispatch(self, attempt: Attempt, message_id: str) -> None:
        """Raises BusError if the broker is unreachable for too long."""

        def publish() -> Coroutine[Any, Any, None]:
            return self._bus.publish_durable(subjects.todo(attempt.purpose), attempt, message_id=message_id)

        await persistently(publish, "attempt not dispatched yet", until=self._bus.given_up.is_set)

    async def _verified(self, attempt: Attempt, script: str) -> LeanVerifyReply:
        """Verifies a proof on a lean-proxy. Raises BusError if no verdict arrives in time."""
        await self._gathering.wait()
        verification = MeshVerification(self._bus, attempt.theorem, timeout=VERIFY_SECONDS, patience=VERIFY_PATIENCE)
        return await verification.verdict(script)

    def received(self, message: AttemptResult | ResultPart | None) -> None:
        """Handles a result, or a part of one. Results that were received before are ignored."""
        _, waiting = self._outstanding.get(message.attempt_id, (None, None)) if message is not None else (None, None)
        if message is None or waiting is None or waiting.done():
            return
        try:
            result = self._parts.add(message) if isinstance(message, ResultPart) else message
        except MessageError as error:
            waiting.set_exception(error)
            return
        if result is not None:
            self._heard = time.monotonic()
            waiting.set_result(result)

    async def follow(self) -> None:
        """Runs until cancelled: keeps as many attempts outstanding as the mesh has slots, and resends attempts that the
        broker has lost."""
        while True:
            try:
                if not self._searches:
                    self.slots.resize(searches_of(await self._bus.nodes()))
                if self._outstanding and time.monotonic() - self._heard > LOST_AFTER:
                    await self._send_lost_again()
            except BusError:
                pass  # the broker is unreachable; the next round tries again
            await asyncio.sleep(LOOK_EVERY)

    async def _send_lost_again(self) -> None:
        """Resends all outstanding attempts, if none is queued or leased. Raises BusError."""
        self._heard = time.monotonic()
        attempts = f"todo-{Purpose.EVAL}"
        if (await self._bus.backlog()).get(attempts) or (await self._bus.leased()).get(attempts):
            return
        for attempt, result in list(self._outstanding.values()):
            if not result.done():
                await self._dispatch(attempt, f"{attempt.attempt_id}.{secrets.token_hex(2)}")


class MeshVenue:
    """`Venue` on a mesh. Make it with `mesh_venue`."""

    toolchain = None

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
        """`policy`: the policy of the attempts. `searches`: as for `MeshPlayer`. `weights`: digests of the network that
        inference nodes serve and of the prompt templates of language models. `played`: expansions in flight within a
        search of the provers, and their sampling."""
        self.lean = lean
        self.mesh = run
        self.policy = policy
        self.label = label_of(parse(policy, INFERENCE))
        self.weights = weights
        self.leaves, self.sampling = played
        self._bus = bus
        self._searches = searches

    async def refusals(self, statements: Sequence[StatementRecord]) -> dict[str, str]:
        """Always empty: the attempts report which statements do not elaborate."""
        return {}

    @asynccontextmanager
    async def player(self, plan: Plan) -> AsyncIterator[MeshPlayer]:
        """Raises BusError."""
        player = MeshPlayer(plan, self._bus, self.policy, self._searches)
        results = await self._bus.watch_results(player.client, (AttemptResult, ResultPart), player.received)
        following = asyncio.create_task(player.follow())
        try:
            yield player
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await results.unsubscribe()

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


def _undecided(statement: StatementRecord, number: int, reason: str) -> AttemptRecord:
    return AttemptRecord(name=statement.name, number=number, standing=Standing.UNDECIDED, ended="error", reason=reason)
