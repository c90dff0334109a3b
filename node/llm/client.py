"""One request to one server, with OpenAI's own client: its answer, or the fault that it ended with."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from node.llm.address import BadModel
from node.llm.completions import Completion, Known, ModelList, read_completion, request_of
from node.llm.faults import Fault, Outcome, RequestFailed, html_or_garbled, of_exception
from node.llm.fleet import Place
from node.llm.sampling import Decoding, Prompt

if TYPE_CHECKING:
    import openai

KEYS = ("PROOFMESH_OPENAI_KEY", "OPENAI_API_KEY")
"""Environment variables, the first one wins."""

NO_KEY = "none"
"""What is sent where no key is set: the client wants one, servers of one's own do not look."""

CONNECT_SECONDS = 10.0

SECONDS_PER_TOKEN = 0.05
"""Added to a request's time limit: 20 tokens a second are slow."""

INSTALL = "pip install 'proofmesh[models]'"


def key_in(environment: Mapping[str, str]) -> tuple[str, str]:
    """The key, and the variable that it is from; both empty: there is none."""
    name = next((name for name in KEYS if environment.get(name)), "")
    return environment.get(name, ""), name


def client_library() -> Any:
    """The package `openai`, which is an extra of ours. Raises BadModel: it is not installed."""
    try:
        import openai
    except ImportError as error:
        raise BadModel(f"language models on servers need the package `{error.name}`: {INSTALL}") from error
    return openai


@dataclass
class Endpoint:
    """One server: what is known of it, and the client that asks it."""

    place: Place
    client: openai.AsyncOpenAI
    key: str
    """The environment variable that the key is from."""
    known: Known = field(default_factory=Known)
    model: str = ""
    """What the server called its model when it answered first."""
    told_logprobs: bool = False

    async def complete(
        self, model: str, prompt: Prompt, count: int, seed: int, decoding: Decoding, limit: float
    ) -> Completion:
        """Samples, at least one and perhaps fewer than `count`. `limit`: seconds. Raises RequestFailed."""
        arguments = request_of(model, prompt, count, seed, decoding, self.known)
        api = self.client.chat.completions if prompt.messages else self.client.completions
        body = await self._sent(api.with_raw_response.create, limit, **arguments)
        try:
            completion = read_completion(body, decoding.stop)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RequestFailed(html_or_garbled(body, self.place.url, str(error))) from error
        return completion

    async def models(self, limit: float) -> list[str]:
        """Names of the models that the server has. Raises RequestFailed."""
        body = await self._sent(self.client.models.with_raw_response.list, limit)
        try:
            return [card.id for card in msgspec.json.decode(body, type=ModelList).data]
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RequestFailed(html_or_garbled(body, self.place.url, str(error))) from error

    async def _sent(self, call: Any, limit: float, **arguments: object) -> bytes:
        """The body of an answer. The time limit is one of the whole: a client's own begins anew with every byte.

        Raises RequestFailed.
        """
        import openai

        try:
            async with asyncio.timeout(limit):
                answer = await call(**arguments)
                return bytes(answer.content)
        except TimeoutError as error:
            text = f"{self.place.url} did not answer within {limit:g} s"
            raise RequestFailed(Fault(Outcome.TIMEOUT, text)) from error
        except UnicodeEncodeError as error:
            text = f"{self.place.url} was not asked: the prompt is no text ({error.reason})"
            raise RequestFailed(Fault(Outcome.REFUSED, text)) from error
        except openai.OpenAIError as error:
            raise RequestFailed(of_exception(error, self.place.url, self.key)) from error


def endpoint(place: Place) -> Endpoint:
    """A server with its client, which must be closed. Raises BadModel: the client is not installed."""
    library = client_library()
    key, variable = key_in(os.environ)
    client = library.AsyncOpenAI(
        api_key=key or NO_KEY,
        base_url=place.url,
        max_retries=0,  # repeated by us: another server may be asked, and a prover's patience holds
        timeout=library.Timeout(None, connect=CONNECT_SECONDS),
    )
    return Endpoint(place, client, variable)
