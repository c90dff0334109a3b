"""Language models as a person names them, opened: as policies of tactics, and as sources of whole proofs."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from common.sampling import PLAIN, Sampling
from node.llm import models, templates
from node.llm.address import BadModel, HubAddress, ModelAddress
from node.llm.hub.library import weights_of
from node.llm.models import as_run, check_library, open_model, parse_model
from node.llm.sampling import Sampler, SamplerError
from node.llm.settings import ModelSettings
from node.llm.templates import Template
from node.prover.language_model import LanguageModelPolicy, decoding_of
from node.prover.model_errors import as_bad_policy, template_wanted
from node.prover.policy_names import BadPolicy, PolicyName
from node.prover.sampled_proofs import SampledProofs
from node.proving.prover import ProvingFailed


def address_of(name: PolicyName) -> ModelAddress:
    """The model that a policy's name means, and where it is. Raises BadPolicy."""
    with as_bad_policy():
        return parse_model(f"{name.kind}:{name.where}")


def template_of(address: ModelAddress) -> Template:
    """How the model is asked. Raises BadPolicy."""
    with template_wanted(address, address):
        return models.template_of(address)


def identity(name: PolicyName) -> tuple[str, str]:
    """What results say of a model: its name without its servers, and its template with the digest of its text; of a
    model of this process also which weights it has. Raises BadPolicy."""
    address = address_of(name)
    return address.identity, f"{templates.label_of(template_of(address))}{_weights(address)}"


def _weights(address: ModelAddress) -> str:
    """Raises BadPolicy."""
    if not isinstance(address, HubAddress):
        return ""
    with as_bad_policy():
        check_library(address)
        return f", weights {weights_of(address)}"


def check_model(name: PolicyName) -> None:
    """Whether a model can be asked, as far as that can be seen without opening it. Raises BadPolicy."""
    address = address_of(name)
    template_of(address)
    with as_bad_policy():
        check_library(address)


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
    """What makes something of a model's samples, and drops those that hold nothing."""

    dropped: Counter[str]


S = TypeVar("S", bound=ReadsSamples)


@asynccontextmanager
async def opened_model(
    name: PolicyName,
    made: Callable[[Sampler, Template], S],
    wanted: str,
    *,
    settings: ModelSettings | None,
    note: Callable[[str], None],
) -> AsyncIterator[tuple[S, Callable[[], str]]]:
    """What is `made` of a model, for as long as the block lasts, and what tells what is wrong with it at present
    (empty: nothing). `wanted`: what a sample should hold. `note` hears what was asked and answered, at the end.

    Raises BadPolicy; ProvingFailed: no server answers.
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
                note(f"{sampler.usage}" + (f"; samples without a {wanted}: {dropped}" if dropped else ""))
    except BadModel as error:
        raise BadPolicy(str(error)) from error
    except SamplerError as error:
        raise ProvingFailed(str(error)) from error
