"""Names of language models in a mesh, and the messages between provers and inference nodes.

In a mesh a model is `openai:MODEL` or `hf:ID_OR_FOLDER+ADAPTER`. `@TEMPLATE` follows if the name does not determine
the prompt template. Inference nodes know the servers and keys. Provers know the templates, and a node serves a model
whichever template a prover uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from common.protocol.messages import ChatTurn, SampleReply, SampleRequest, TextSample
from node.llm import templates
from node.llm.address import (
    HUB_PREFIX,
    PREFIX,
    BadModel,
    ModelAddress,
    ServerAddress,
    parse_hub_address,
)
from node.llm.sampling import ChatMessage, Decoding, Prompt, Sample, Token
from node.llm.templates import Template

FORM = "openai:MODEL, hf:ID_OR_FOLDER, or either followed by @TEMPLATE"

MOST_TOKENS_SENT = 8192
"""Maximum tokens of a sample in a reply. In longer samples, neighbouring tokens are merged: a whole proof with its
thoughts has tens of thousands."""

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


def template_of(address: ModelAddress) -> Template:
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
    return max(1, REPLY_BYTES // (max_tokens * TEXT_BYTES + min(max_tokens, MOST_TOKENS_SENT) * LOGPROB_BYTES))


def _sent(sample: Sample) -> TextSample:
    tokens = sample.tokens
    together = -(-len(tokens) // MOST_TOKENS_SENT) or 1
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
