"""Opens the language models that a policy names, as policies that propose tactics or as sources of whole proofs."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from common.sampling import PLAIN, Sampling
from node.llm import models, templates
from node.llm.address import BadModel, HubAddress, ModelAddress
from node.llm.hub import library
from node.llm.models import as_run, check_library, open_model, parse_model
from node.llm.sampling import Sampler, SamplerError
from node.llm.settings import ModelSettings
from node.llm.templates import Template
from node.prover.policies.models.errors import as_bad_policy, template_wanted
from node.prover.policies.models.language_model import LanguageModelPolicy, decoding_of
from node.prover.policies.names import BadPolicy, PolicyName
from node.prover.policies.proofs.sampled_proofs import SampledProofs
from node.proving.prover import ProvingFailed


def address_of(name: PolicyName) -> ModelAddress:
    """The address of the model in a policy's name. Raises BadPolicy."""
    with as_bad_policy():
        return parse_model(f"{name.kind}:{name.where}")


def template_of(address: ModelAddress) -> Template:
    """The prompt template of a model. Raises BadPolicy."""
    with template_wanted(address, address):
        return models.template_of(address)


def identity(name: PolicyName) -> tuple[str, str]:
    """The identity of a model in results: its name without servers, and its template with a digest. For a model in this
    process also its weights. Raises BadPolicy."""
    address = address_of(name)
    return address.identity, f"{templates.label_of(template_of(address))}{_weights(address)}"


def _weights(address: ModelAddress) -> str:
    """Raises BadPolicy."""
    if not isinstance(address, HubAddress):
        return ""
    with as_bad_policy():
        check_library(address)
        return f", weights {library.weights_of(address)}"


def check_model(name: PolicyName) -> None:
    """Check, without opening it, that a model can be used. Raises BadPolicy."""
    address = address_of(name)
    template_of(address)
    with as_bad_policy():
        check_library(address)


def check_found(name: PolicyName) -> None:
    """`check_model`, and the hub is asked for a model that is not here. Raises BadPolicy."""
    check_model(name)
    address = address_of(name)
    with as_bad_policy():
        if isinstance(address, HubAddress):
            library.check_found(address)


def model_policy(
    name: PolicyName,
    *,
    settings: ModelSettings | None = None,
    sampling: Sampling = PLAIN,
    note: Callable[[str], None] = lambda text: None,
) -> AbstractAsyncContextManager[tuple[LanguageModelPolicy, Callable[[], str]]]:
    """The policy of a model: see `opened_model`."""

    def made(sampler: Sampler, template: Template) -> LanguageModelPolicy:
        return LanguageModelPolicy(sampler, template, sampling=sampling)

    return opened_model(name, made, "tactic", settings=settings, note=note)


def model_proofs(
    name: PolicyName,
    *,
    settings: ModelSettings | None = None,
    sampling: Sampling = PLAIN,
    note: Callable[[str], None] = lambda text: None,
) -> AbstractAsyncContextManager[tuple[SampledProofs, Callable[[], str]]]:
    """The whole proofs of a model: see `opened_model`."""

    def made(sampler: Sampler, template: Template) -> SampledProofs:
        return SampledProofs(sampler, template, decoding=decoding_of(template, sampling))

    return opened_model(name, made, "proof", settings=settings, note=note)


class ReadsSamples(Protocol):
    """A policy or source that parses a model's samples, and counts those that it drops."""

    dropped: Counter[str]


S = TypeVar("S", bound=ReadsSamples)


@asynccontextmanager
async def opened_model(
    name: PolicyName,
    made: Callable[[Sampler, Template], S],
    content: str,
    *,
    settings: ModelSettings | None,
    note: Callable[[str], None],
) -> AsyncIterator[tuple[S, Callable[[], str]]]:
    """Open a model for the block. Gives the reader that `made` returns, and a function for the model's current problem
    (empty: none). `content`: what each sample should have, "tactic" or "proof". `note` gets the usage at the end.

    Raises BadPolicy, and ProvingFailed if no server replies.
    """
    address = address_of(name)
    template = as_run(address, template_of(address), settings)
    try:
        async with open_model(address, settings, template=template, note=note) as sampler:
            reader = made(sampler, template)
            try:
                yield reader, lambda: sampler.trouble
            finally:
                dropped = ", ".join(f"{count} {problem}" for problem, count in reader.dropped.most_common())
                note(f"{sampler.usage}" + (f"; samples without a {content}: {dropped}" if dropped else ""))
    except BadModel as error:
        raise BadPolicy(str(error)) from error
    except SamplerError as error:
        raise ProvingFailed(str(error)) from error
