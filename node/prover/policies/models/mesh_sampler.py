"""Samples from a language model that inference nodes of the mesh serve, by requests over the bus."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from common.bus import BusError, BusyError, RemoteFailure, Unanswered
from common.life.waiting import all_results
from common.protocol import subjects
from common.protocol.messages import (
    FailureKind,
    MessageError,
    ModelFacts,
    NetworkFacts,
    NodeInfo,
    OversizedMessage,
    facts_of,
)
from common.protocol.model_messages import ANSWER, SampleReply, SampleRequest, SampleWait
from common.seeds import derive_seed
from node.llm.faults import ContextExceeded
from node.llm.sampling import Decoding, Prompt, Sample, SamplerError
from node.llm.served import request_of, samples_a_request, samples_of
from node.prover.policies.names import INFERENCE

if TYPE_CHECKING:
    from common.bus import Bus

ABSENT_SECONDS = 5.0
"""Seconds to wait for a model that no registered node serves. A node that is starting has registered by then."""

MOST_LOST = 5
"""Most nodes that may be lost while they work on one request. With this many, the request probably crashes nodes."""


def served_models(nodes: Iterable[NodeInfo]) -> set[str]:
    """The models that inference nodes serve, or will serve once they are loaded."""
    return {facts.model for facts in facts_of(nodes, ModelFacts).values()}


def _with_template(facts: ModelFacts) -> str:
    """The model as it is named in a policy: with its template if the name does not determine it."""
    return f"{facts.model}@{facts.template}" if facts.template else facts.model


def serve_network(nodes: Iterable[NodeInfo]) -> bool:
    """Whether an inference node serves the mesh's own network."""
    return bool(facts_of(nodes, NetworkFacts))


def served_in_words(nodes: Sequence[NodeInfo]) -> str:
    """The models and the network that inference nodes serve, as text for an error about a missing model."""
    models = {facts.model: facts for facts in facts_of(nodes, ModelFacts).values()}
    names = [_with_template(models[name]) for name in sorted(models)]
    if serve_network(nodes):
        names.append(f"the network (`{INFERENCE}`)")
    return f"they serve {', '.join(names)}" if names else "there are none that serve a model or a network"


class MeshSampler:
    """`node.llm.sampling.Sampler` over the bus. A request is sent again if the node that works on it crashes."""

    def __init__(
        self, bus: Bus, model: str, *, patience: float, expected: bool = False, answer: float = ANSWER
    ) -> None:
        """`model`: the name that nodes announce. `patience`: seconds that nodes may be absent or busy, without broker
        outages; a node that works on a request may take longer. `expected`: wait for nodes although none is registered
        yet. `answer`: seconds without a reply after which a node counts as lost."""
        self._bus = bus
        self._model = model
        self._patience = patience
        self._expected = expected
        self._answer = answer

    async def sample(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        """`count` samples, in several requests if one reply has no room for them. At temperature 0 the model decides:
        one sample, because all would be equal, or the results of a beam search.

        Raises SamplerError, and its ContextExceeded.
        """
        # At temperature 0 further requests would give the same samples.
        most = samples_a_request(decoding.max_tokens) if decoding.temperature else count
        counts = [min(most, count - asked) for asked in range(0, count, most)]
        parts = await all_results(
            self._part(prompt, part, derive_seed(seed, "samples", number) if number else seed, decoding)
            for number, part in enumerate(counts)
        )
        return [sample for part in parts for sample in part]

    async def _part(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        """Samples of one request. Raises SamplerError."""
        request = request_of(secrets.token_hex(8), self._model, prompt, count, seed, decoding)
        try:
            return samples_of(await self._asked(request))
        except RemoteFailure as error:
            if error.kind is FailureKind.TOO_LONG:
                raise ContextExceeded(error.reason) from error
            # The estimate of bytes per token was too low: split the request.
            if error.kind is FailureKind.OVERSIZED and count > 1 and decoding.temperature:
                half = await self._part(prompt, count // 2, seed, decoding)
                other_half = await self._part(prompt, count - count // 2, derive_seed(seed, "rest"), decoding)
                return [*half, *other_half]
            raise SamplerError(error.reason) from error
        except OversizedMessage as error:
            raise ContextExceeded(f"the prompt is too long for a message: {error}") from error
        except (BusError, MessageError, ValueError) as error:
            raise SamplerError(f"{self._model}: {error}") from error

    async def _asked(self, request: SampleRequest) -> SampleReply:
        """Send the request until a node completes it. Raises SamplerError, BusError, OversizedMessage."""
        lost = 0
        while lost < MOST_LOST:
            reply = await self._begun(request)
            while reply.at_work:
                try:
                    reply = await self._waited(reply.at_work, request)
                except (Unanswered, BusyError):
                    lost += self._bus.connected  # during a broker outage the node may still be alive
                    await self._bus.wait_connected()
                    break  # the node is lost, or has dropped the request: send it again
            else:
                return reply
        raise SamplerError(f"{self._model}: {MOST_LOST} inference nodes were lost while they worked on a request")

    async def _waited(self, node_id: str, request: SampleRequest) -> SampleReply:
        """The next reply of the node that works on the request. Raises BusError."""
        wait = SampleWait(request_id=request.request_id)
        return await self._bus.request(subjects.samples_at_work(node_id), wait, SampleReply, timeout=self._answer)

    async def _begun(self, request: SampleRequest) -> SampleReply:
        """The first reply of a node. Raises SamplerError if no node serves the model; BusError, OversizedMessage."""
        if not self._expected:
            try:
                return await self._ask(min(ABSENT_SECONDS, self._patience), request)
            except BusyError:
                pass  # a busy node serves the model
            except Unanswered as error:
                await self._check_served(error)
        return await self._ask(self._patience, request)

    async def _ask(self, patience: float, request: SampleRequest) -> SampleReply:
        """Raises BusError, OversizedMessage."""
        subject = subjects.samples(self._model)
        reply = await self._bus.ask(subject, request, SampleReply, timeout=self._answer, patience=patience)
        self._expected = True  # a node that crashes now may come back
        return reply

    async def _check_served(self, unanswered: Unanswered) -> None:
        """Raises SamplerError if no registered node serves the model."""
        try:
            nodes = await self._bus.nodes()
        except BusError:
            return
        if self._model not in served_models(nodes):
            raise SamplerError(f"no inference node serves `{self._model}`; {served_in_words(nodes)}") from unanswered
