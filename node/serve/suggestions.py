"""LeanCopilot's external models: tactics and vectors for editors, from our policies and encoders.

The requests have the form of `LeanCopilot/Models/External.lean` and `python/server.py` in lean-dojo/LeanCopilot.
A request names a model of the service's configuration, and nothing else of this machine.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec

from common.limits import Name
from common.output.command import UserError
from common.settings import SUGGESTIONS
from node.lean.snippets.snippet import QueueFull

if TYPE_CHECKING:
    from node.play.advisor import Advisor

T = TypeVar("T")

Encode = Callable[[str], list[float]]
"""A text to its vector."""

WITH_PREFIX = 4
"""How often tactics are sampled for a request with a prefix: those that do not begin with it are dropped."""

AT_ONCE = 64
"""Most requests that are answered at once: far more than people type."""

Text = Annotated[str, msgspec.Meta(max_length=2**18)]
"""A printed state: at most what Lean prints for some thousand hypotheses."""


class GenerateBody(msgspec.Struct):
    """`POST /generate`."""

    name: Name
    input: Text
    prefix: Name | None = None


class EncodeBody(msgspec.Struct):
    """`POST /encode`."""

    name: Name
    input: Text


class Generation(msgspec.Struct):
    """A tactic, and its probability under the policy."""

    output: str
    score: float


class Generated(msgspec.Struct):
    """The answer of `/generate`, the most probable tactic first."""

    outputs: list[Generation]


class Encoded(msgspec.Struct):
    """The answer of `/encode`: one vector."""

    outputs: list[float]


class NoModel(LookupError):
    """The service has no model of this name."""


class Suggestions:
    """The models of a service, by the names under which requests ask for them."""

    def __init__(self, generators: Mapping[str, Advisor], encoders: Mapping[str, Encode]) -> None:
        self._generators = generators
        self._encoders = encoders
        self._open = 0

    async def generate(self, body: GenerateBody) -> Generated:
        """Tactics for a state. Those for a prefix begin with it. Raises NoModel, QueueFull, BadState, NoAdvice."""
        from node.play.advisor import likeliest

        advisor, prefix = _named(self._generators, body.name, "generators"), (body.prefix or "").lstrip()
        seeds = range(WITH_PREFIX if prefix else 1)
        with self._place():
            advices = await asyncio.gather(*(advisor.advise(body.input, SUGGESTIONS, seed) for seed in seeds))
        found = {each.tactic: logp for advice in advices for each, logp in likeliest(advice)}
        outputs = [Generation(tactic, math.exp(logp)) for tactic, logp in found.items() if tactic.startswith(prefix)]
        return Generated(sorted(outputs, key=lambda each: -each.score)[:SUGGESTIONS])

    async def encode(self, body: EncodeBody) -> Encoded:
        """The vector of a text. Raises NoModel, QueueFull."""
        encode = _named(self._encoders, body.name, "encoders")
        with self._place():
            return Encoded(await asyncio.to_thread(encode, body.input))

    @contextmanager
    def _place(self) -> Iterator[None]:
        """One of the requests at once. Raises QueueFull."""
        if self._open >= AT_ONCE:
            raise QueueFull(1.0)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


def _named(models: Mapping[str, T], name: str, kind: str) -> T:
    if (model := models.get(name)) is None:
        there = ", ".join(models) or f"none; start the service with --{kind} NAME=..."
        raise NoModel(f"no model {name!r} among the {kind}; there are {there}")
    return model


@asynccontextmanager
async def opened(
    generators: Iterable[str], encoders: Iterable[str], note: Callable[[str], None]
) -> AsyncIterator[Suggestions]:
    """The models of `NAME=POLICY` and `NAME=ENCODER`, loaded once. Raises UserError."""
    async with AsyncExitStack() as stack:
        advisors: dict[str, Advisor] = {}
        for name, policy in _pairs(generators, "generators", "POLICY").items():
            from node.play.advisor import Advisor
            from node.play.attempts import ProvingFailed

            try:
                advisors[name] = await stack.enter_async_context(Advisor(policy, note=note))
            except ProvingFailed as error:
                raise UserError(f"generators: {name}: {error}") from error
        encoding = {
            name: await asyncio.to_thread(_encoder, folder)
            for name, folder in _pairs(encoders, "encoders", "ENCODER").items()
        }
        yield Suggestions(advisors, encoding)


def _encoder(folder: str) -> Encode:
    """Raises UserError."""
    from node.retrieval.corpus import RetrievalError
    from node.retrieval.encoder import encode_states, load_encoder

    try:
        model = load_encoder(folder)
    except RetrievalError as error:
        raise UserError(f"encoders: {error}") from error
    except ModuleNotFoundError as error:
        raise UserError(f"encoders: needs {error.name}: pip install 'proofmesh[trainers]'") from error
    return lambda text: [float(each) for each in encode_states(model, [text])[0]]


def _pairs(settings: Iterable[str], kind: str, what: str) -> dict[str, str]:
    """`NAME=WHAT` by name. Raises UserError."""
    found: dict[str, str] = {}
    for each in settings:
        name, equals, where = each.partition("=")
        if not (equals and name.strip() and where.strip()):
            raise UserError(f"{kind}: {each!r} is not NAME={what}")
        if name in found:
            raise UserError(f"{kind}: two have the name {name!r}")
        found[name.strip()] = where.strip()
    return found
