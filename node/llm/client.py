"""Sends one request to one server with OpenAI's client, and returns the response or raises the fault."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from node.llm.address import BadModel
from node.llm.completions import Completion, ModelList, Supported, read_completion, request_of
from node.llm.faults import Fault, RequestFailed, html_or_garbled, of_exception
from node.llm.fleet import Place
from node.llm.sampling import Decoding, Outcome, Prompt

if TYPE_CHECKING:
    import openai

KEYS = ("PROOFMESH_OPENAI_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the key; the first one that is set wins."""

NO_KEY = "none"
"""The key sent when none is set: the client requires one, and self-hosted servers ignore it."""

CONNECT_SECONDS = 10.0

SECONDS_PER_TOKEN = 0.05
"""Added to a request's timeout for each requested token: 20 tokens a second are slow."""

INSTALL = "pip install 'proofmesh[models]'"


def key_in(environment: Mapping[str, str]) -> tuple[str, str]:
    """The key and the name of its environment variable; both are empty when no key is set."""
    name = next((name for name in KEYS if environment.get(name)), "")
    return environment.get(name, ""), name


def client_library() -> Any:
    """The package `openai`, which the extra `models` installs. Raises BadModel if it is missing."""
    try:
        import openai
    except ImportError as error:
        raise BadModel(f"language models on servers need the package `{error.name}`; run {INSTALL}") from error
    return openai


@dataclass
class Endpoint:
    """One server: its client, and the request parameters that it supports."""

    place: Place
    client: openai.AsyncOpenAI
    key: str
    """The environment variable that holds the key."""
    supported: Supported = field(default_factory=Supported)
    model: str = ""
    """The model's name in the server's first response."""

    async def complete(
        self, model: str, prompt: Prompt, count: int, seed: int, decoding: Decoding, limit: float
    ) -> Completion:
        """Request up to `count` samples; the server may send fewer. `limit` is in seconds. Raises RequestFailed."""
        arguments = request_of(model, prompt, count, seed, decoding, self.supported)
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
        """The body of the response. `limit` covers the whole request: the client's own timeout restarts with each byte.

        Raises RequestFailed.
        """
        import openai

        try:
            async with asyncio.timeout(limit):
                response = await call(**arguments)
                return bytes(response.content)
        except TimeoutError as error:
            text = f"{self.place.url} did not answer within {limit:g} s"
            raise RequestFailed(Fault(Outcome.TIMEOUT, text)) from error
        except UnicodeEncodeError as error:
            text = f"{self.place.url}: nothing was sent: the prompt is not valid text ({error.reason})"
            raise RequestFailed(Fault(Outcome.REFUSED, text)) from error
        except openai.OpenAIError as error:
            raise RequestFailed(of_exception(error, self.place.url, self.key)) from error


def endpoint(place: Place) -> Endpoint:
    """A server with its client; the caller closes the client. Raises BadModel if the client is not installed."""
    library = client_library()
    key, variable = key_in(os.environ)
    client = library.AsyncOpenAI(
        api_key=key or NO_KEY,
        base_url=place.url,
        max_retries=0,  # the sampler retries: it can choose another server, and it keeps to the prover's patience
        timeout=library.Timeout(None, connect=CONNECT_SECONDS),
    )
    return Endpoint(place, client, variable)
