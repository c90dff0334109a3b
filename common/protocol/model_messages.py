"""Messages for samples of language models: from provers to inference nodes that serve a pretrained model.

A request gets a reply within `HOLD` seconds: its samples, or the id of the node that works on it. In the second case
the sender polls that node on the node's own subject until it has the samples. So a crash of the node is noticed within
seconds, however long its model samples. A node cancels work whose sender has stopped polling.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from common.protocol.messages import Count, Message

HOLD = 2.0
"""Seconds until a request that is not finished gets the reply "at work"."""

ANSWER = 4 * HOLD
"""Seconds without any reply after which the sender treats the node as crashed."""

MOST_SAMPLES = 4096
"""Most samples of one request; far more than fit into a reply."""

Size = Annotated[int, msgspec.Meta(ge=0, le=2**20)]


class ChatTurn(msgspec.Struct, frozen=True):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class SampleRequest(Message, frozen=True):
    """A request to sample texts from a language model. A retry, at the same node or another, has the same id."""

    request_id: str
    model: str
    """The model's name in the form of `node.llm.served`: `openai:MODEL` or `hf:ID_OR_FOLDER+ADAPTER`."""
    text: str = ""
    """Text to complete; empty if `messages` are given."""
    messages: tuple[ChatTurn, ...] = ()
    """Conversation to answer; empty if `text` is given."""
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_SAMPLES)] = 1
    seed: int = 0
    temperature: Annotated[float, msgspec.Meta(ge=0, le=100)] = 1.0
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=2**20)] = 256
    stop: tuple[str, ...] = ()


class SampleWait(Message, frozen=True):
    """Polls the node that works on a request for its samples."""

    request_id: str


class ModelState(Message, frozen=True):
    """Key `model` of a run's state: the language model that the run's inference nodes serve (those with `follow`)."""

    version: int
    """Increases with each model."""
    model: str
    """The name, as in SampleRequest. A node accepts only models of its configured servers, and folders below its
    `follow` folder."""


class TextSample(msgspec.Struct, frozen=True):
    """One text that a model has sampled."""

    text: str
    cut: bool = False
    """The text was cut off at the token limit."""
    token_count: Count = 0
    lengths: tuple[Size, ...] = ()
    """Lengths of its tokens, in characters. If the text ended at a stop text, they may also cover text after it. Empty:
    the model does not report them."""
    log_probabilities: tuple[float, ...] = ()
    """Log-probabilities of the same tokens."""


class SampleReply(Message, frozen=True):
    """Samples, or the node that works on them."""

    samples: tuple[TextSample, ...] = ()
    at_work: str = ""
    """The node to poll with `SampleWait`; empty: `samples` is the result."""
