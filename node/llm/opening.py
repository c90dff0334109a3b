"""Checks at the start that servers respond and have the model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from node.llm.address import BadModel
from node.llm.client import Endpoint
from node.llm.faults import Fault, Outcome, RequestFailed
from node.llm.sampling import ChatMessage, Decoding, Prompt, SamplerError

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
