"""Whether servers are there and have the model, before anything is asked of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from node.llm.address import BadModel
from node.llm.client import Endpoint
from node.llm.faults import Fault, Outcome, RequestFailed
from node.llm.sampling import ChatMessage, Decoding, Prompt, SamplerError

PATIENCE = 5.0
"""Seconds for which a server may be busy or restarting. A person waits, who may have mistyped the address."""

PAUSE = 0.5

ANSWER_SECONDS = 20.0
"""For the list of models, which servers know by heart."""

LOADING_SECONDS = 600.0
"""For one token of a model that is not in the list: `transformers serve` loads it then."""

SHOWN = 5
"""Names of models in an error."""

PROBES = (Prompt("a"), Prompt(messages=(ChatMessage("user", "a"),)))

_BUSY = frozenset({Outcome.LIMITED, Outcome.UNAVAILABLE, Outcome.UNREACHABLE, Outcome.TIMEOUT})


async def check_servers(endpoints: Sequence[Endpoint], model: str, note: Callable[[str], None]) -> None:
    """All servers that answer have the model, and one answers. `note` hears of those that do not answer.

    Raises BadModel; SamplerError: none answers.
    """
    problems = [each for each in await asyncio.gather(*(_problem(each, model, note) for each in endpoints)) if each]
    if len(problems) == len(endpoints):
        raise SamplerError("; ".join(problems))
    for problem in problems:
        note(f"{problem}; going on without it for now")


async def _problem(end: Endpoint, model: str, note: Callable[[str], None]) -> str:
    """Why a server cannot be asked yet; empty: it can be. Raises BadModel."""
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
    """Raises BadModel, RequestFailed."""
    names: list[str] | None = None
    try:
        names = await end.models(ANSWER_SECONDS)
    except RequestFailed as error:
        # Some have no list. `transformers serve` 5.23 fails at it where the hub's cache folder is missing.
        if error.fault.outcome not in (Outcome.CHANGED, Outcome.REFUSED, Outcome.UNAVAILABLE):
            raise
    if names is not None and model in names:
        return
    refused = await _refused(end, model)
    if refused is None:
        if names:
            note(f"{end.place.url} answers to `{model}`, and lists {_listed(names)}: is it the model that you mean?")
        return
    has = f"; it has {_listed(names)}" if names else ""
    raise BadModel(f"{end.place.url} does not have the model `{model}`{has} ({refused.text})")


async def _refused(end: Endpoint, model: str) -> Fault | None:
    """Why the server refuses both a text and a chat; None: it answers one of them. Raises RequestFailed: it is busy, or
    wants a key."""
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
    """Ask for one token. Raises RequestFailed."""
    while True:
        try:
            await end.complete(model, prompt, 1, 0, Decoding(max_tokens=1), LOADING_SECONDS)
            return
        except RequestFailed as error:
            if error.fault.outcome is not Outcome.REFUSED or not end.known.forget(error.fault.body, several=False):
                raise


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(f"`{name}`" for name in names[:SHOWN]) + more
