"""Where the networks and language models of a policy are. In a mesh, inference nodes serve them, and `MeshSampler` asks
them for samples."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from common.bus import BusError, BusyError, RemoteFailure, Unanswered
from common.life.waiting import all_results
from common.protocol import subjects
from common.protocol.messages import (
    ANSWER,
    FailureKind,
    MessageError,
    ModelFacts,
    NetworkFacts,
    NodeInfo,
    OversizedMessage,
    SampleReply,
    SampleRequest,
    SampleWait,
    facts_of,
)
from common.seeds import derive_seed
from node.llm import templates
from node.llm.address import BadModel, ModelAddress
from node.llm.models import (
    as_run,
    has_template_file,
    mesh_name,
    parse_served,
    request_of,
    samples_a_request,
    samples_of,
    served_name,
    template_of_name,
)
from node.llm.sampling import ContextExceeded, Decoding, Prompt, Sample, Sampler, SamplerError
from node.llm.templates import Template, TemplateError
from node.prover.policies.names import INFERENCE, BadPolicy, PolicyName

if TYPE_CHECKING:
    from common.bus import Bus


@dataclass(frozen=True)
class SourceModel:
    """A language model that can be asked."""

    sampler: Sampler
    template: Template
    """Its prompt template, with the sampling settings that apply."""
    name: str = ""
    """Its name in results; empty: as in the policy."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Number of samples without a tactic or proof, by reason."""


class Sources(Protocol):
    """The networks and language models of policies."""

    @property
    def network(self) -> str:
        """The kind of network that a policy's name can have: OWN or INFERENCE."""

    def weights(self, name: PolicyName, weights: int | None) -> int | None:
        """The version to request from a network. `weights`: the attempt's; None: the latest. Raises BadPolicy."""

    def template(self, name: PolicyName) -> Template:
        """The prompt template of a language model. Raises BadPolicy."""

    def model(self, name: PolicyName) -> SourceModel:
        """A language model. Raises BadPolicy."""


def writes_proofs(name: PolicyName, template: Template | None) -> bool:
    """Whether a part of a policy writes whole proofs and proposes no tactics. `template`: that of a language model.
    False for networks, which may do both."""
    return template.mode == "whole-proof" if template is not None else name.is_proofs


def address_of(name: PolicyName) -> ModelAddress:
    """The address of the model that a part of a policy names in a mesh. Raises BadPolicy."""
    with as_bad_policy():
        return parse_served(f"{name.kind}:{name.where}")


def template_of(name: PolicyName) -> Template:
    """The prompt template of a model. Reads the template file if the name has one. Raises BadPolicy."""
    address = address_of(name)
    with template_wanted(name, address):
        return template_of_name(address)


def labels(names: Iterable[PolicyName]) -> dict[str, str]:
    """The models among the parts of a policy, each with the label of its template in results. Raises BadPolicy."""
    return {mesh_name(address_of(name)): templates.label_of(template_of(name)) for name in names if name.is_model}


class MeshSources:
    """The network and the language models that a prover can ask."""

    network = INFERENCE

    def __init__(
        self, bus: Bus, configured: Iterable[PolicyName], template_files: Collection[str], *, patience: float
    ) -> None:
        """`configured`: the parts of the prover's own policy. `template_files`: those that attempts may name, too.
        `patience`: see `MeshSampler`. Raises BadPolicy."""
        self._bus = bus
        self._patience = patience
        models = [name for name in configured if name.is_model]
        self._files = {address_of(name).template: template_of(name) for name in models} | _read(template_files)
        self._expected = {served_name(address_of(name)) for name in models}

    def weights(self, name: PolicyName, weights: int | None) -> int | None:
        """The attempt's version."""
        return weights

    def template(self, name: PolicyName) -> Template:
        """The prompt template of a model. Raises BadPolicy if there is none, or if it is a file that is not in this
        prover's configuration."""
        address = address_of(name)
        if not has_template_file(address):
            return template_of(name)
        # A message must not choose which files of this machine are read.
        if address.template not in self._files:
            raise BadPolicy(
                f"an attempt asks for `{name}`: no template {address.template!r}; a prover reads only the template "
                "files of its own configuration: add it to [prover] templates, or to policy"
            )
        return self._files[address.template]

    def model(self, name: PolicyName) -> SourceModel:
        """A model of the inference nodes, whether they serve it at the moment or not. Raises BadPolicy."""
        address = address_of(name)
        model = served_name(address)
        sampler = MeshSampler(self._bus, model, patience=self._patience, expected=model in self._expected)
        return SourceModel(sampler, as_run(address, self.template(name), None))


def _read(files: Collection[str]) -> dict[str, Template]:
    """The templates of these files, by the file's name in the configuration. Raises BadPolicy."""
    try:
        return {file: templates.load(str(Path(file))) for file in files}
    except TemplateError as error:
        raise BadPolicy(f"templates: {error}") from error


# ----------------------------------------------------------------------------------------------------------------------
# Turns errors about a language model into errors about the policy that names it.


@contextmanager
def as_bad_policy() -> Iterator[None]:
    """Turn BadModel in the block into BadPolicy."""
    try:
        yield
    except BadModel as error:
        raise BadPolicy(str(error)) from error


@contextmanager
def template_wanted(name: PolicyName | ModelAddress, address: ModelAddress) -> Iterator[None]:
    """Turn BadModel and TemplateError in the block into BadPolicy. `name`: the policy's name as the user wrote it."""
    try:
        with as_bad_policy():
            yield
    except TemplateError as error:
        where = "" if address.template else ", behind the model: MODEL@TEMPLATE"
        raise BadPolicy(f"`{name}`: {error}{where}") from error


# ----------------------------------------------------------------------------------------------------------------------
# Samples from a language model that inference nodes of the mesh serve, by requests over the bus.


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
