"""A language model on servers with an OpenAI-compatible API: vLLM, SGLang, llama.cpp, transformers serve, and services.

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

from common.seeds import derive_seed
from common.waiting import all_results
from node.llm.address import ServerAddress, parse_address
from node.llm.client import SECONDS_PER_TOKEN, Endpoint, client_library, endpoint
from node.llm.completions import Completion
from node.llm.faults import REPEATED, ContextExceeded, Fault, Outcome, RequestFailed
from node.llm.fleet import Fleet, Place
from node.llm.opening import check_servers
from node.llm.sampling import Decoding, Prompt, Sample, SamplerError
from node.llm.settings import ModelSettings
from node.llm.usage import Usage

# What is repeated is counted, and what fails for good is told in our words.
stamina.instrumentation.set_on_retry_hooks(())

Note = Callable[[str], None]
"""Hears what a person should know of the servers."""

ALIKE = 5
"""Prompts in a row whose samples, asked for one by one, were all the same: a model that is sure may be so once."""

LONGEST_WAIT = 30.0
"""Seconds between two tries."""


class AllRest(Exception):
    """No server may be asked now."""


class OpenAISampler:
    """`node.llm.sampling.Sampler` over servers that have the same model. Make it with `open_openai`."""

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
        """What is wrong where no server answers at present; empty as long as one does."""
        return self._fleet.problem

    async def sample(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        """`count` samples; at temperature 0 one, because all would be equal. Servers that give one sample a request are
        asked as often as needed, each time with a seed of its own.

        Raises SamplerError, and its ContextExceeded.
        """
        if decoding.temperature == 0:
            count = min(count, 1)
        together = count > 1 and any(each.known.n for each in self._endpoints.values())
        samples = list(await self._repeated(prompt, count, derive_seed(seed, 0), decoding)) if together else []
        # Alone, and not what is missing together: a server that knows `n` has sent all.
        alone = await all_results(
            self._repeated(prompt, 1, derive_seed(seed, number), decoding) for number in range(len(samples), count)
        )
        found = [sample for each in alone for sample in each]
        self._look_for_differences(found)
        return [*samples, *found][:count]

    def _look_for_differences(self, alone: Sequence[Sample]) -> None:
        """Tell once if samples with seeds of their own are always the same: then they are no samples."""
        if len(alone) < 2 or self._alike >= ALIKE:
            return
        self._alike = 0 if len({sample.text for sample in alone}) > 1 else self._alike + 1
        if self._alike == ALIKE:
            self._note(
                f"{self.address.model}: {ALIKE} times in a row all samples for a prompt were the same, whatever the "
                "seed; does the server sample? (transformers serve does if the model's generation_config.json says "
                '"do_sample": true)'
            )

    async def _repeated(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> tuple[Sample, ...]:
        """Samples of one request, at least one and at most `count`, sent again until it is answered or patience is
        over. Raises SamplerError."""
        wait = self._settings.wait
        end = float("inf")

        def decide(error: Exception) -> bool | float:
            nonlocal end
            # From the first failure on: an answer may take longer than patience lasts.
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
        """Seconds until the next try; True: the usual time; False: there is none."""
        now = time.monotonic()
        left = end - now
        if isinstance(error, AllRest):
            return left > 0 and min(left, max(self._fleet.wait(now), self._settings.wait))
        if not isinstance(error, RequestFailed) or error.fault.outcome not in REPEATED or left <= 0:
            return False
        if self._fleet.has_a_well_one(now):
            return 0.0
        return True if error.fault.wait is None else min(left, max(self._fleet.wait(now), error.fault.wait))

    def _error(self, fault: Fault) -> SamplerError:
        if fault.outcome is Outcome.TOO_LONG:
            return ContextExceeded(fault.text)
        over = f": no answer within {self._settings.patience:g} s" if fault.outcome in REPEATED else ""
        return SamplerError(f"{self.address.model}{over}: {fault.text}")

    async def _once(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Completion:
        """Ask one server, without what it turns out not to know. Raises RequestFailed, AllRest."""
        place = self._fleet.pick(time.monotonic())
        if place is None:
            raise AllRest(self._fleet.words)
        end = self._endpoints[place.url]
        try:
            while True:
                known = dataclasses.replace(end.known)
                try:
                    completion = await self._asked(end, prompt, count, seed, decoding)
                except RequestFailed as error:
                    # Others may have found out meanwhile what this request was refused for.
                    if error.fault.outcome is not Outcome.ADAPTED and end.known == known:
                        self._failed(place, error.fault)
                        raise
                    continue
                self._fleet.succeeded(place)
                return completion
        finally:
            self._fleet.ended(place)

    async def _asked(self, end: Endpoint, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Completion:
        """One request, counted. Raises RequestFailed."""
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
                if refused and (left_out := end.known.forget(error.fault.body, several=count > 1)):
                    self._note(f"{error.fault.text}; asking without `{left_out}` from now on")
                    request.outcome = Outcome.ADAPTED
                    raise RequestFailed(dataclasses.replace(error.fault, outcome=request.outcome)) from error
                raise
        if count > 1 and end.known.n and completion.choices == 1:
            self._note(f"{end.place.url} gives one sample a request; asking as often as needed")
            end.known.n = False
        return completion

    def _fault_of(self, end: Endpoint, completion: Completion) -> Fault | None:
        """What is wrong with an answer that could be read."""
        url = end.place.url
        if completion.model and end.model and completion.model != end.model:
            return Fault(Outcome.CHANGED, f"{url} has the model `{completion.model}` now, and had `{end.model}`")
        end.model = end.model or completion.model
        if not completion.samples:
            why = "it gave up its samples" if completion.choices else "there is no sample in it"
            return Fault(Outcome.EMPTY, f"{url}: the answer is empty: {why}")
        return None

    def _failed(self, place: Place, fault: Fault) -> None:
        """What a fault says about the server."""
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
    """A sampler over the servers of an address, for as long as the block lasts. `note` hears of servers that do not
    answer, and of what they do not know.

    Raises BadModel: what was asked for is not there; SamplerError: no server answers.
    """
    if isinstance(address, str):
        address = parse_address(address)
    settings = settings or ModelSettings()
    await asyncio.to_thread(client_library)  # seconds, the first time
    fleet = Fleet(address.urls, failures=settings.failures, rest=settings.rest)
    async with AsyncExitStack() as stack:
        endpoints = []
        for place in fleet.places:
            endpoints.append(endpoint(place))
            endpoints[-1].known.seed = settings.seeds
            stack.push_async_callback(endpoints[-1].client.close)
        await check_servers(endpoints, address.model, note)
        yield OpenAISampler(address, settings, endpoints, fleet, note)
