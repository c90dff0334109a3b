"""Samples from a language model on servers with an OpenAI-compatible API (vLLM, SGLang, llama.cpp, transformers serve).

    async with open_openai("openai:http://gpu1:8000/v1|http://gpu2:8000/v1#BFS-Prover") as sampler:
        samples = await sampler.sample(Prompt(text), 8, seed, Decoding())

Needs the extra `models`. The key is taken from $PROOFMESH_OPENAI_KEY or $OPENAI_API_KEY.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import stamina

from common.life.waiting import all_results
from common.seeds import derive_seed
from node.llm.address import BadModel, ServerAddress, parse_address
from node.llm.sampling import ChatMessage, ContextExceeded, Decoding, Outcome, Prompt, Sample, SamplerError, Usage
from node.llm.servers import (
    REPEATED,
    SECONDS_PER_TOKEN,
    Completion,
    Endpoint,
    Fault,
    Fleet,
    Place,
    RequestFailed,
    client_library,
    endpoint,
)
from node.llm.settings import ModelSettings

# No log lines of stamina's own: retries are counted, and final failures are reported as SamplerError.
stamina.instrumentation.set_on_retry_hooks(())

Note = Callable[[str], None]
"""Receives messages about the servers for the user."""

ALIKE = 5
"""Consecutive prompts with identical samples before the user is warned. A confident model may repeat itself once."""

LONGEST_WAIT = 30.0
"""Maximum seconds between two retries."""


class AllRest(Exception):
    """No server may get a request now: all rest after failures."""


class OpenAISampler:
    """`node.llm.sampling.Sampler` over servers that run the same model. Make it with `open_openai`."""

    def __init__(
        self, address: ServerAddress, settings: ModelSettings, endpoints: Sequence[Endpoint], fleet: Fleet, note: Note
    ) -> None:
        self.address = address
        self.usage = Usage(address.model, settings)
        self._settings = settings
        self._fleet = fleet
        self._note = note
        self._alike = 0
        self._endpoints = {each.place.url: each for each in endpoints}

    @property
    def trouble(self) -> str:
        """The failures if no server works at present; empty as long as one does."""
        return self._fleet.problem

    async def sample(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        """Draw `count` samples; at temperature 0 one, because all would be equal. A server that returns one sample per
        request gets as many requests as needed, each with a different seed.

        Raises SamplerError, and its subclass ContextExceeded.
        """
        if decoding.temperature == 0:
            count = min(count, 1)
        together = count > 1 and any(each.supported.n for each in self._endpoints.values())
        samples = list(await self._retried(prompt, count, derive_seed(seed, 0), decoding)) if together else []
        # The missing samples are requested one by one: a server that supports `n` would have sent all of them.
        batches = await all_results(
            self._retried(prompt, 1, derive_seed(seed, number), decoding) for number in range(len(samples), count)
        )
        single_samples = [sample for batch in batches for sample in batch]
        self._warn_if_alike(single_samples)
        return [*samples, *single_samples][:count]

    def _warn_if_alike(self, samples: Sequence[Sample]) -> None:
        """Warn once if samples with different seeds are always equal: the server does not sample then."""
        if len(samples) < 2 or self._alike >= ALIKE:
            return
        self._alike = 0 if len({sample.text for sample in samples}) > 1 else self._alike + 1
        if self._alike == ALIKE:
            self._note(
                f"{self.address.model}: {ALIKE} times in a row all samples for a prompt were the same, whatever the "
                "seed; check that the server samples (transformers serve does if the model's generation_config.json "
                'says "do_sample": true)'
            )

    async def _retried(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> tuple[Sample, ...]:
        """Samples of one request, between one and `count`. The request is retried until it succeeds or patience runs
        out. Raises SamplerError."""
        wait = self._settings.wait
        end = float("inf")

        def decide(error: Exception) -> bool | float:
            nonlocal end
            # Patience counts from the first failure: a successful response may take longer than that.
            end = min(end, time.monotonic() + self._settings.patience)
            return self._wait(error, end)

        retries = stamina.retry_context(
            on=decide,
            attempts=None,
            timeout=None,
            wait_initial=wait,
            wait_max=max(wait, LONGEST_WAIT),
            wait_jitter=wait,
        )
        try:
            async for attempt in retries:
                with attempt:
                    return (await self._once(prompt, count, seed, decoding)).samples[:count]
        except RequestFailed as error:
            raise self._error(error.fault) from error
        except AllRest as error:
            raise SamplerError(
                f"{self.address.model}: no answer within {self._settings.patience:g} s: {error}"
            ) from error
        raise AssertionError("stamina ends with a result or an error")

    def _wait(self, error: Exception, end: float) -> bool | float:
        """Seconds until the next try; True: the usual back-off; False: no further try."""
        now = time.monotonic()
        left = end - now
        if isinstance(error, AllRest):
            return left > 0 and min(left, max(self._fleet.wait(now), self._settings.wait))
        if not isinstance(error, RequestFailed) or error.fault.outcome not in REPEATED or left <= 0:
            return False
        if self._fleet.has_healthy_server(now):
            return 0.0
        return True if error.fault.wait is None else min(left, max(self._fleet.wait(now), error.fault.wait))

    def _error(self, fault: Fault) -> SamplerError:
        if fault.outcome is Outcome.TOO_LONG:
            return ContextExceeded(fault.text)
        over = f": no answer within {self._settings.patience:g} s" if fault.outcome in REPEATED else ""
        return SamplerError(f"{self.address.model}{over}: {fault.text}")

    async def _once(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Completion:
        """Send the request to one server, leaving out parameters that it rejects. Raises RequestFailed, AllRest."""
        place = self._fleet.pick(time.monotonic())
        if place is None:
            raise AllRest(self._fleet.words)
        end = self._endpoints[place.url]
        try:
            while True:
                supported = dataclasses.replace(end.supported)
                try:
                    completion = await self._asked(end, prompt, count, seed, decoding)
                except RequestFailed as error:
                    # A concurrent request may have learned in the meantime which parameter the server rejects.
                    if error.fault.outcome is not Outcome.ADAPTED and end.supported == supported:
                        self._failed(place, error.fault)
                        raise
                    continue
                self._fleet.succeeded(place)
                return completion
        finally:
            self._fleet.ended(place)

    async def _asked(self, end: Endpoint, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Completion:
        """Send one request and count it. Raises RequestFailed."""
        limit = self._settings.timeout + SECONDS_PER_TOKEN * decoding.max_tokens
        with self.usage.request() as request:
            try:
                completion = await end.complete(self.address.model, prompt, count, seed, decoding, limit)
                self.usage.answered(len(completion.samples), completion.tokens_in, completion.tokens_out)
                if fault := self._fault_of(end, completion):
                    raise RequestFailed(fault)
            except RequestFailed as error:
                request.outcome = error.fault.outcome
                refused = request.outcome is Outcome.REFUSED
                if refused and (left_out := end.supported.forget(error.fault.body, several=count > 1)):
                    self._note(f"{error.fault.text}; sending requests without `{left_out}` from now on")
                    request.outcome = Outcome.ADAPTED
                    raise RequestFailed(dataclasses.replace(error.fault, outcome=request.outcome)) from error
                raise
        if count > 1 and end.supported.n and completion.choices == 1:
            self._note(f"{end.place.url} returns one sample per request; sending one request per sample")
            end.supported.n = False
        return completion

    def _fault_of(self, end: Endpoint, completion: Completion) -> Fault | None:
        """The fault of a response that could be read; None if it is usable."""
        url = end.place.url
        if completion.model and end.model and completion.model != end.model:
            return Fault(Outcome.CHANGED, f"{url} runs the model `{completion.model}` now; it ran `{end.model}` before")
        end.model = end.model or completion.model
        if not completion.samples:
            why = "all samples were aborted" if completion.choices else "it has no sample"
            return Fault(Outcome.EMPTY, f"{url}: the response is empty: {why}")
        return None

    def _failed(self, place: Place, fault: Fault) -> None:
        """Record a fault of the server."""
        now = time.monotonic()
        if fault.outcome is Outcome.LIMITED:
            self._fleet.asked_to_wait(place, now, fault.wait or 0.0, fault.text)
        elif fault.outcome in REPEATED:
            rested = place.rests > 0
            if self._fleet.failed(place, now, fault.text) and not rested:
                self._note(f"{fault.text}; it rests after {place.failures} failures in a row")
            if fault.wait:
                self._fleet.asked_to_wait(place, now, fault.wait, fault.text)


@asynccontextmanager
async def open_openai(
    address: str | ServerAddress,
    settings: ModelSettings | None = None,
    *,
    note: Note = lambda text: None,
) -> AsyncIterator[OpenAISampler]:
    """A sampler over the servers of an address, for the duration of the block. `note` receives messages about servers
    that do not respond and about parameters that they do not support.

    Raises BadModel if a server does not have the model, SamplerError if no server responds.
    """
    if isinstance(address, str):
        address = parse_address(address)
    settings = settings or ModelSettings()
    await asyncio.to_thread(client_library)  # the first import takes seconds
    fleet = Fleet(address.urls, failures=settings.failures, rest=settings.rest)
    async with AsyncExitStack() as stack:
        endpoints = []
        for place in fleet.places:
            endpoints.append(endpoint(place))
            endpoints[-1].supported.seed = settings.seeds
            stack.push_async_callback(endpoints[-1].client.close)
        await check_servers(endpoints, address.model, note)
        yield OpenAISampler(address, settings, endpoints, fleet, note)


# --- checks at the start that servers respond and have the model ------------------------------------------------------

PATIENCE = 5.0
"""Seconds for which a server may be busy or restarting. Short, because the user may have mistyped the address."""

PAUSE = 0.5

ANSWER_SECONDS = 20.0
"""Timeout for the list of models, which servers return at once."""

LOADING_SECONDS = 600.0
"""Timeout for one token of a model that is not in the list: `transformers serve` loads the model first."""

SHOWN = 5
"""Maximum names of models in an error message."""

PROBES = (Prompt("a"), Prompt(messages=(ChatMessage("user", "a"),)))

_BUSY = frozenset({Outcome.LIMITED, Outcome.UNAVAILABLE, Outcome.UNREACHABLE, Outcome.TIMEOUT})


async def check_servers(endpoints: Sequence[Endpoint], model: str, note: Callable[[str], None]) -> None:
    """Check that at least one server responds, and that all that respond have the model. `note` receives a message for
    each server that does not respond.

    Raises BadModel if a server does not have the model, SamplerError if none responds.
    """
    problems = [each for each in await asyncio.gather(*(_problem(each, model, note) for each in endpoints)) if each]
    if len(problems) == len(endpoints):
        raise SamplerError("; ".join(problems))
    for problem in problems:
        note(f"{problem}; going on without it for now")


async def _problem(end: Endpoint, model: str, note: Callable[[str], None]) -> str:
    """Why a server cannot be used yet; empty if it can. Raises BadModel."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            await _check(end, model, note)
            return ""
        except RequestFailed as error:
            if error.fault.outcome not in _BUSY:
                raise BadModel(error.fault.text) from error
            if time.monotonic() > until:
                return error.fault.text
        await asyncio.sleep(PAUSE)


async def _check(end: Endpoint, model: str, note: Callable[[str], None]) -> None:
    """Check that one server has the model. Raises BadModel, RequestFailed."""
    names: list[str] | None = None
    try:
        names = await end.models(ANSWER_SECONDS)
    except RequestFailed as error:
        # Some servers have no list of models. `transformers serve` 5.23 fails without the hub's cache folder.
        if error.fault.outcome not in (Outcome.CHANGED, Outcome.REFUSED, Outcome.UNAVAILABLE):
            raise
    if names is not None and model in names:
        return
    refused = await _refused(end, model)
    if refused is None:
        if names:
            note(f"{end.place.url} accepts `{model}`, but lists {_listed(names)}; check that this is the right model")
        return
    choice = f"; choose one of {_listed(names)}" if names else ""
    raise BadModel(f"{end.place.url} does not have the model `{model}`{choice} ({refused.text})")


async def _refused(end: Endpoint, model: str) -> Fault | None:
    """Why the server rejects both a text and a conversation; None if it accepts one of them. Raises RequestFailed if it
    is busy or requires a key."""
    refused = None
    for prompt in PROBES:
        try:
            await _token(end, model, prompt)
            return None
        except RequestFailed as error:
            if error.fault.outcome not in (Outcome.CHANGED, Outcome.REFUSED):
                raise
            refused = error.fault
    return refused


async def _token(end: Endpoint, model: str, prompt: Prompt) -> None:
    """Request one token. Raises RequestFailed."""
    while True:
        try:
            await end.complete(model, prompt, 1, 0, Decoding(max_tokens=1), LOADING_SECONDS)
            return
        except RequestFailed as error:
            # Try again without the rejected parameter; raise if the error is about something else.
            if error.fault.outcome is not Outcome.REFUSED or not end.supported.forget(error.fault.body, several=False):
                raise


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(f"`{name}`" for name in names[:SHOWN]) + more
