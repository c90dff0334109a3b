"""Language models that a mesh serves: how attempts name them, and what travels between provers and inference nodes.

In a mesh a model is `openai:MODEL` or `hf:ID_OR_FOLDER+ADAPTER`, with `@TEMPLATE` behind it where its name does not
tell how to ask it. Servers and keys are the inference nodes' business, templates the provers': a node serves a model
whichever way it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from common.model_messages import ChatTurn, SampleReply, SampleRequest, TextSample
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

FORM = "openai:MODEL, hf:ID_OR_FOLDER, or either with @TEMPLATE behind it"

TOKENS_TOLD = 8192
"""Of a longer sample, neighbouring tokens are told as one: a whole proof with its thoughts has tens of thousands."""

REPLY_BYTES = 400_000
"""Room for samples in an answer; a message may have half a megabyte."""

TEXT_BYTES, TOLD_BYTES = 8, 12
"""Of a token: its text (about four letters, many of them Greek), and its length with its log-probability."""


def parse_served(text: str) -> ModelAddress:
    """Read a model's name in a mesh; a model on servers comes back without these. Raises BadModel."""
    if text.startswith(HUB_PREFIX):
        return parse_hub_address(text)
    if not text.startswith(PREFIX):
        raise BadModel(f"`{text}` is no language model; write {FORM}")
    name = text.removeprefix(PREFIX)
    if "#" in name or "://" in name:
        raise BadModel(
            f"`{text}`: the inference nodes of a mesh know the servers; write `{PREFIX}{name.rpartition('#')[2]}`"
        )
    model, at, template = (part.strip() for part in name.rpartition("@"))
    if not at:
        model, template = template, ""
    if not model or (at and not template):
        raise BadModel(f"`{text}` names no model; write {FORM}")
    return ServerAddress((), model, template)


def served_name(address: ModelAddress) -> str:
    """The model itself: what inference nodes announce, and requests ask for."""
    return replace(address, template="").identity


def mesh_name(address: ModelAddress) -> str:
    """The model with its template, as attempts and results name it."""
    return served_name(address) + (f"@{address.template}" if address.template else "")


def template_of(address: ModelAddress) -> Template:
    """How the model is asked: nothing is read but a template file that the name has. Raises TemplateError."""
    return templates.load(address.template) if address.template else templates.for_model(address.model)


def has_template_file(address: ModelAddress) -> bool:
    """Whether the name has a template that is no known one, and so a file."""
    return bool(address.template) and address.template not in templates.names()


# --- on the wire ----------------------------------------------------------------------------------------------------


def request_of(request_id: str, model: str, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> SampleRequest:
    """What is asked, as a message."""
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
    """The prompt of a message."""
    return Prompt(request.text, tuple(ChatMessage(each.role, each.content) for each in request.messages))


def decoding_of(request: SampleRequest) -> Decoding:
    """How the samples of a message are drawn."""
    return Decoding(request.temperature, request.top_p, request.max_tokens, request.stop)


def reply_of(samples: Sequence[Sample]) -> SampleReply:
    """Samples as a message."""
    return SampleReply(samples=tuple(_told(sample) for sample in samples))


def samples_of(reply: SampleReply) -> list[Sample]:
    """The samples of a message. Raises ValueError: tokens without log-probabilities, or the other way round."""
    return [_read(sample) for sample in reply.samples]


def samples_a_request(max_tokens: int) -> int:
    """How many samples of this length an answer surely has room for; at least one."""
    return max(1, REPLY_BYTES // (max_tokens * TEXT_BYTES + min(max_tokens, TOKENS_TOLD) * TOLD_BYTES))


def _told(sample: Sample) -> TextSample:
    tokens = sample.tokens
    together = -(-len(tokens) // TOKENS_TOLD) or 1
    groups = [tokens[start : start + together] for start in range(0, len(tokens), together)]
    return TextSample(
        _clean(sample.text),
        sample.cut,
        sample.token_count,
        tuple(sum(len(token.text) for token in group) for group in groups),
        tuple(sum(token.logprob for token in group) for group in groups),
    )


def _read(told: TextSample) -> Sample:
    if len(told.lengths) != len(told.log_probabilities):
        raise ValueError("a sample with more lengths than log-probabilities, or fewer")
    tokens, start = [], 0
    for length, log_probability in zip(told.lengths, told.log_probabilities, strict=True):
        # Tokens may go on behind the text, where it ended at a stop text: only their length counts.
        tokens.append(Token(told.text[start : start + length].ljust(length), log_probability))
        start += length
    return Sample(told.text, told.cut, tuple(tokens), told.token_count)


def _clean(text: str) -> str:
    """Text that UTF-8 has: half of a pair of surrogates would be no message."""
    try:
        msgspec.msgpack.encode(text)
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
