"""Language models by name: opening one by its address, its prompt template, its name in a mesh, and the messages there.

A model runs on servers (`openai:`) or in this process (`hf:`). In a mesh a model is `openai:MODEL` or
`hf:ID_OR_FOLDER+ADAPTER`. `@TEMPLATE` follows if the name does not determine the prompt template. Inference nodes know
the servers and keys. Provers know the templates, and a node serves a model whichever template a prover uses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import msgspec

from common.protocol.messages import MOST_TOKENS, ChatTurn, SampleReply, SampleRequest, TextSample
from node.llm import templates
from node.llm.address import (
    HUB_PREFIX,
    PREFIX,
    BadModel,
    HubAddress,
    ModelAddress,
    ServerAddress,
    parse_address,
    parse_hub_address,
)
from node.llm.hub import folders
from node.llm.sampling import ChatMessage, Decoding, OpenedModel, Prompt, Sample, Token
from node.llm.servers import client_library
from node.llm.settings import ModelSettings
from node.llm.templates import Template, TemplateError


def parse_model(text: str) -> ModelAddress:
    """Parse an address of either kind. Raises BadModel."""
    if text.startswith(HUB_PREFIX):
        _check_name(text.removeprefix(HUB_PREFIX))
        return parse_hub_address(text)
    if text.startswith(PREFIX):
        return parse_address(text)
    raise BadModel(f"`{text}` is not a language model; write openai:URL#MODEL, or hf:ID_OR_FOLDER")


def _check_name(text: str) -> None:
    """Raises BadModel for a folder whose path contains `+` or `@`, which mark an adapter and a template."""
    path = Path(text).expanduser()
    if set("+@") & set(text) and path.is_dir():
        raise BadModel(
            f"hf:{text}: the folder's path contains `+` or `@`, which mark an adapter and a template; rename the "
            "folder, or make a link to it"
        )


def template_of(address: ModelAddress) -> Template:
    """The prompt template that the address names, or the folder's config.json, or else the one for the model's name.

    Raises TemplateError, BadModel.
    """
    if address.template:
        return templates.load(address.template)
    if isinstance(address, HubAddress):
        return _template_of_folder(address)
    return templates.for_model(address.model)


def _template_of_folder(address: HubAddress) -> Template:
    """The template by the folder's configuration, by its name, or by the name of its original model.

    Raises TemplateError, BadModel.
    """
    config = folders.config_of(address.model)
    named = config.get(folders.TEMPLATE_KEY)
    if isinstance(named, str) and named:
        in_folder = Path(address.model).expanduser() / named
        return templates.load(str(in_folder) if named.endswith(".toml") and in_folder.is_file() else named)
    folder = folders.local_folder(address.model)
    try:
        # Resolved, because the path may be `.`, and the template is chosen by the folder's name.
        return templates.for_model(str(folder.resolve()) if folder else address.model)
    except TemplateError:
        origin = config.get("_name_or_path")
        if folder is None:
            raise TemplateError(
                f"there is no folder {address.model}, and no template is known for the model `{address.model}` of the "
                "hub; check the path, or name a template from `proofmesh models list`, or a .toml file"
            ) from None
        if not isinstance(origin, str) or not origin:
            raise
        with suppress(TemplateError):
            return templates.for_model(origin)
        raise


def as_run(address: ModelAddress, template: Template, settings: ModelSettings | None) -> Template:
    """The template with the sampling settings that apply. Models in this process use beam search if their family is
    published with it. Beam search looks for the likeliest completions, so the temperature becomes 0."""
    beams = settings.hf.beams if settings is not None and settings.hf.beams is not None else template.sampling.beams
    if not (isinstance(address, HubAddress) and template.sampling.beams and beams):
        return template
    return msgspec.structs.replace(template, sampling=msgspec.structs.replace(template.sampling, temperature=0.0))


def check_library(address: ModelAddress) -> None:
    """Check that the packages are installed and that a local folder holds a model. Raises BadModel."""
    if isinstance(address, HubAddress):
        folders.check(address)
    else:
        client_library()


def open_model(
    address: ModelAddress,
    settings: ModelSettings | None = None,
    *,
    template: Template | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> AbstractAsyncContextManager[OpenedModel]:
    """Open the model for the duration of the block. `template`: its prompt template; `note` receives messages for the
    user.

    Raises BadModel, and SamplerError if no server responds.
    """
    if isinstance(address, HubAddress):
        folders.check(address)
        return _open_hub(address, settings, template, note)
    from node.llm.openai import open_openai

    return open_openai(address, settings, note=note)


@asynccontextmanager
async def _open_hub(
    address: HubAddress, settings: ModelSettings | None, template: Template | None, note: Callable[[str], None]
) -> AsyncIterator[OpenedModel]:
    """Raises BadModel."""
    # In a thread: importing torch and transformers takes seconds, and a node must answer requests meanwhile.
    sampler = await asyncio.to_thread(import_module, "node.llm.hub.sampler")
    async with sampler.open_hub(address, settings, template=template, note=note) as opened:
        yield opened


# ----------------------------------------------------------------------------------------------------------------------
# Names in a mesh.

FORM = "openai:MODEL, hf:ID_OR_FOLDER, or either followed by @TEMPLATE"

REPLY_BYTES = 400_000
"""Bytes for samples in a reply; a message may have half a megabyte."""

TEXT_BYTES, LOGPROB_BYTES = 8, 12
"""Bytes per token: for its text (about four letters, many of them Greek), and for its length and log-probability."""


def parse_served(text: str) -> ModelAddress:
    """Parse a model's name in a mesh; the address of a model on servers has no servers then. Raises BadModel."""
    if text.startswith(HUB_PREFIX):
        return parse_hub_address(text)
    if not text.startswith(PREFIX):
        raise BadModel(f"`{text}` is not a language model; write {FORM}")
    name = text.removeprefix(PREFIX)
    if "#" in name or "://" in name:
        raise BadModel(
            f"`{text}` names a server, but the inference nodes of a mesh choose it; write "
            f"`{PREFIX}{name.rpartition('#')[2]}`"
        )
    model, at, template = (part.strip() for part in name.rpartition("@"))
    if not at:
        model, template = template, ""
    if not model or (at and not template):
        raise BadModel(f"`{text}` names no model; write {FORM}")
    return ServerAddress((), model, template)


def served_name(address: ModelAddress) -> str:
    """The model's name without its template, as inference nodes announce it and requests name it."""
    return replace(address, template="").identity


def mesh_name(address: ModelAddress) -> str:
    """The model's name with its template, as attempts and results name it."""
    return served_name(address) + (f"@{address.template}" if address.template else "")


def template_of_name(address: ModelAddress) -> Template:
    """The model's prompt template, by its address alone; the model's folder is not read. Raises TemplateError."""
    return templates.load(address.template) if address.template else templates.for_model(address.model)


def has_template_file(address: ModelAddress) -> bool:
    """Whether the address names a template that is a file, because no known template has that name."""
    return bool(address.template) and address.template not in templates.names()


# --- on the wire ----------------------------------------------------------------------------------------------------


def request_of(request_id: str, model: str, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> SampleRequest:
    """The message that requests samples."""
    return SampleRequest(
        request_id=request_id,
        model=model,
        text=_clean(prompt.text),
        messages=tuple(ChatTurn(each.role, _clean(each.content)) for each in prompt.messages),
        count=count,
        seed=seed,
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        max_tokens=decoding.max_tokens,
        stop=decoding.stop,
    )


def prompt_of(request: SampleRequest) -> Prompt:
    """The prompt in a request."""
    return Prompt(request.text, tuple(ChatMessage(each.role, each.content) for each in request.messages))


def decoding_of(request: SampleRequest) -> Decoding:
    """The sampling parameters in a request."""
    return Decoding(request.temperature, request.top_p, request.max_tokens, request.stop)


def reply_of(samples: Sequence[Sample]) -> SampleReply:
    """The reply that carries samples."""
    return SampleReply(samples=tuple(_sent(sample) for sample in samples))


def samples_of(reply: SampleReply) -> list[Sample]:
    """The samples in a reply. Raises ValueError if a sample's tokens and log-probabilities differ in number."""
    return [_read(sample) for sample in reply.samples]


def samples_a_request(max_tokens: int) -> int:
    """Number of samples of this length that surely fit into one reply; at least one."""
    return max(1, REPLY_BYTES // (max_tokens * TEXT_BYTES + min(max_tokens, MOST_TOKENS) * LOGPROB_BYTES))


def _sent(sample: Sample) -> TextSample:
    tokens = sample.tokens
    together = -(-len(tokens) // MOST_TOKENS) or 1
    groups = [tokens[start : start + together] for start in range(0, len(tokens), together)]
    return TextSample(
        _clean(sample.text),
        sample.cut,
        sample.token_count,
        tuple(sum(len(token.text) for token in group) for group in groups),
        tuple(sum(token.logprob for token in group) for group in groups),
    )


def _read(message: TextSample) -> Sample:
    if len(message.lengths) != len(message.log_probabilities):
        raise ValueError(
            f"sample reply: {len(message.lengths)} token lengths but {len(message.log_probabilities)} log-probabilities"
        )
    tokens, start = [], 0
    for length, log_probability in zip(message.lengths, message.log_probabilities, strict=True):
        # Tokens may extend past the text if it ended at a stop text; only their length matters.
        tokens.append(Token(message.text[start : start + length].ljust(length), log_probability))
        start += length
    return Sample(message.text, message.cut, tuple(tokens), message.token_count)


def _clean(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    try:
        msgspec.msgpack.encode(text)
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
