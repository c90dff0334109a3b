"""An inference node that serves a third-party language model: as a gateway to servers, or in transformers.

It answers only requests for samples of this model: no tactic requests, no weights of a learner, no pauses. A node that
follows its run serves one model after another. Models have different names, so a request for one is never answered by
another.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from common.bus import BusError
from common.bus.connection import ServiceTime
from common.life import metrics
from common.life.node import NodeContext, NodeFailure
from common.life.waiting import unless_stopped
from common.protocol.messages import (
    ANSWER,
    HOLD,
    Busy,
    Failure,
    FailureKind,
    Message,
    ModelFacts,
    ModelState,
    SampleReply,
    SampleRequest,
    SampleWait,
)
from common.protocol.subjects import samples, samples_at_work
from node.inference.settings import InferenceSettings
from node.llm.address import BadModel, HubAddress, ModelAddress, ServerAddress
from node.llm.hub.folders import weights_of
from node.llm.models import (
    decoding_of,
    open_model,
    parse_model,
    parse_served,
    prompt_of,
    reply_of,
    served_name,
    template_of,
)
from node.llm.sampling import ContextExceeded, OpenedModel, SamplerError
from node.llm.templates import Template, TemplateError, for_model

if TYPE_CHECKING:
    from types import TracebackType

OPEN_AGAIN = 2.0
"""Seconds between attempts to open the model: its server may be starting."""

DRAIN_SECONDS = 5.0
"""Seconds for running requests at the end; requests that take longer are sent to another node."""

REPORT_SECONDS = 0.5
"""Seconds between reports: two for every heartbeat."""

HANDLERS = 2
"""Handlers for each running request: one for its caller, one for a repeated request whose reply was lost."""


class ModelServing:
    """Serves a language model until the node stops."""

    def __init__(self, settings: InferenceSettings, context: NodeContext) -> None:
        """Raises BadModel."""
        self._settings, self._context = settings, context
        self._address = parse_model(settings.model)
        self._name = ""
        self._model: OpenedModel | None = None
        self._problem = ""
        self._facts = ModelFacts(model="")
        self._counts: Counter[str] = Counter()
        self._desk = self._new_desk()
        self._seconds = metrics.histogram(
            "inference_model_seconds", "Time in which the language model that this node serves answered a prompt"
        )
        self._queue = metrics.gauge("inference_queue", "Requests held, running ones included")

    def _new_desk(self) -> SampleDesk:
        bus = self._context.bus
        return SampleDesk(self._sampled, self._context.id, limit=self._settings.queue, connected=lambda: bus.connected)

    async def run(self) -> None:
        """Serve until the node stops. Raises NodeFailure if the model cannot be loaded."""
        context = self._context
        if not self._settings.follow:
            await self._serve(self._address, context.stopping)
            return
        async with ModelFollower(self._address, self._settings.follow, context) as follower:
            while not context.stopping.is_set():
                await self._serve(*follower.turn())

    async def _serve(self, address: ModelAddress, until: asyncio.Event) -> None:
        """Serve one model. Raises NodeFailure."""
        context = self._context
        self._address, self._name = address, served_name(address)
        self._model, self._problem = None, "the model is being opened"
        self._desk = desk = self._new_desk()
        await unless_stopped(self._announce(), until)
        limit = HANDLERS * self._settings.queue
        asked = await context.bus.serve(samples(self._name), SampleRequest, self._asked, queue="inference", limit=limit)
        waited = await context.bus.serve(samples_at_work(context.id), SampleWait, desk.wait, queue=None, limit=limit)
        async with AsyncExitStack() as stack:
            report: asyncio.Task[None] | None = None
            if await unless_stopped(self._opened(stack), until) is not None:
                report = context.spawn(self._report(), "report")
                await until.wait()
            await asked.unsubscribe()  # new requests go to other nodes; waiting callers still get their replies
            await desk.drain(DRAIN_SECONDS)
            await waited.drain(DRAIN_SECONDS)
            if report is not None:
                report.cancel()
            if self._model is not None:
                self._count()
                context.log.info("model served", usage=str(self._model.usage))

    async def _announce(self) -> None:
        """Announce the served model, and the digest of its weights if they are local. Raises NodeFailure."""
        digest = ""
        if isinstance(self._address, HubAddress):
            try:
                digest = await asyncio.to_thread(weights_of, self._address)
            except BadModel as error:
                raise NodeFailure(f"[inference] model: {error}", exit_code=2) from error
        template = await asyncio.to_thread(self._template)
        named = template.name if template is not None and template.name != _named_by(self._name) else ""
        self._facts = ModelFacts(model=self._name, template=named, digest=digest, trouble=self._facts.trouble)
        self._context.facts = self._facts

    async def _opened(self, stack: AsyncExitStack) -> bool:
        """Open the model, and retry until its servers are up. Raises NodeFailure."""
        context = self._context
        while True:
            try:
                opening = open_model(self._address, self._settings.models, template=self._template(), note=self._note)
                self._model = await stack.enter_async_context(opening)
            except (BadModel, SamplerError) as error:
                # A restart cannot help a setting that is wrong. A model of a run that trains may have been replaced on
                # its server while it was opened: the announcement of the next one is on its way.
                if isinstance(error, BadModel) and not self._settings.follow:
                    raise NodeFailure(f"[inference] model: {error}", exit_code=2) from error
                self._trouble(str(error))
                self._problem = str(error)
            else:
                self._trouble("")
                context.log.info("model opened", model=self._name)
                return True
            await asyncio.sleep(OPEN_AGAIN)

    def _template(self) -> Template | None:
        """The prompt template that fits the model's name or folder; None if there is none. It gives the beam width, and
        the chat format if the tokenizer has none."""
        try:
            return template_of(self._address)
        except TemplateError:
            return None

    def _note(self, text: str) -> None:
        self._context.log.info("of the model", note=text)

    # --- requests ----------------------------------------------------------------------------------------------------

    async def _asked(self, request: SampleRequest) -> Message:
        if self._model is None:
            return Busy(retry_after=OPEN_AGAIN, reason=self._problem)
        if request.model != self._name:
            return Failure(reason=f"this node serves {self._name}, not {request.model}", kind=FailureKind.MALFORMED)
        return await self._desk.take(request)

    async def _sampled(self, request: SampleRequest) -> Message:
        assert self._model is not None
        prompt, decoding = prompt_of(request), decoding_of(request)
        try:
            with self._seconds.time():
                completions = await self._model.sample(prompt, request.count, request.seed, decoding)
        except ContextExceeded as error:
            self._counts["states"] += 1
            return Failure(reason=str(error), kind=FailureKind.TOO_LONG)
        except SamplerError as error:
            self._counts["failed"] += 1
            return Failure(reason=str(error), kind=FailureKind.MODEL)
        tokens = sum(sample.token_count for sample in completions)
        self._counts.update(states=1, samples=len(completions), tokens=tokens)
        return reply_of(completions)

    # --- telemetry ---------------------------------------------------------------------------------------------------

    async def _report(self) -> None:
        while True:
            assert self._model is not None
            self._trouble(self._model.trouble)
            self._count()
            await asyncio.sleep(REPORT_SECONDS)

    def _count(self) -> None:
        """Report the counters; `states` counts answered prompts."""
        self._queue.set(self._desk.at_work)
        counts = {name: float(self._counts[name]) for name in ("states", "samples", "tokens", "failed")}
        self._context.report(queue=self._desk.at_work, **counts)

    def _trouble(self, problem: str) -> None:
        """Report the current problem (empty: none) as the node's health, and in the registry, where clients that wait
        for a proof can see it."""
        context = self._context
        context.health("model", problem or None)
        if self._facts.trouble == problem:
            return
        if problem:
            context.log.warning("the model gives no samples", reason=problem)
        self._facts = context.facts = msgspec.structs.replace(self._facts, trouble=problem)


def _named_by(model: str) -> str:
    """The name of the template that a model's name implies; empty: none."""
    try:
        return for_model(model.partition(":")[2]).name
    except TemplateError:
        return ""


# --- running requests for samples on a node, and finished answers that wait to be fetched -----------------------------


@dataclass
class _Work:
    task: asyncio.Task[Message]
    forgotten: asyncio.TimerHandle
    """Drops the request if no caller asks for it in time."""


class SampleDesk:
    """Runs at most `limit` requests at a time. A caller waits for `hold` seconds, and may then ask again."""

    def __init__(
        self,
        sample: Callable[[SampleRequest], Awaitable[Message]],
        node_id: str,
        *,
        limit: int,
        connected: Callable[[], bool],
        hold: float = HOLD,
        keep: float = ANSWER,
    ) -> None:
        """`sample` answers a request, however long that takes. `connected` returns whether callers can reach this node.
        `keep`: seconds without a caller after which a request is cancelled, or its answer dropped."""
        self._sample = sample
        self._node_id = node_id
        self._limit = limit
        self._connected = connected
        self._hold, self._keep = hold, keep
        self._works: dict[str, _Work] = {}
        self._time = ServiceTime()

    @property
    def at_work(self) -> int:
        """Number of running requests."""
        return sum(not work.task.done() for work in self._works.values())

    async def take(self, request: SampleRequest) -> Message:
        """Start a request, or wait for it if it is a repetition of a running one."""
        key = request.request_id
        if key not in self._works:
            if self.at_work >= self._limit:
                return Busy(retry_after=self._time.retry_after(self._limit), reason="queue full")
            loop = asyncio.get_running_loop()
            task: asyncio.Task[Message] = loop.create_task(self._timed(request), name=f"samples {key}")
            self._works[key] = _Work(task, loop.call_later(self._keep, self._forget, key))
        return await self._progress(key)

    async def wait(self, wait: SampleWait) -> Message:
        """Wait again for a request that runs here."""
        if wait.request_id not in self._works:
            return Busy(retry_after=0.0, reason="not at work here")
        return await self._progress(wait.request_id)

    async def drain(self, seconds: float) -> None:
        """Wait at most `seconds` for the running requests, and cancel the others: callers send them to other nodes."""
        tasks = {work.task for work in self._works.values()}
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for key in list(self._works):
            self._drop(key)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _timed(self, request: SampleRequest) -> Message:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            return await self._sample(request)
        finally:
            self._time.observe(loop.time() - began)

    async def _progress(self, key: str) -> Message:
        """The answer, or a reply that the request is still running. Raises what `sample` raised."""
        work = self._works[key]
        self._keep_on(key, work)
        await asyncio.wait({work.task}, timeout=self._hold)  # the task goes on if the caller is cancelled
        if not work.task.done():
            return SampleReply(at_work=self._node_id)
        if work.task.cancelled():
            return Busy(retry_after=0.0, reason="the node ends")
        return work.task.result()

    def _keep_on(self, key: str, work: _Work) -> None:
        work.forgotten.cancel()
        work.forgotten = asyncio.get_running_loop().call_later(self._hold + self._keep, self._forget, key)

    def _forget(self, key: str) -> None:
        """Drop a request that no caller asks for: its search has ended, or its prover has crashed."""
        if key in self._works and not self._connected():
            self._keep_on(key, self._works[key])  # callers could not reach this node
        else:
            self._drop(key)

    def _drop(self, key: str) -> None:
        work = self._works.pop(key, None)
        if work is not None:
            work.forgotten.cancel()
            work.task.cancel()


# ----------------------------------------------------------------------------------------------------------------------
# Following the run: which model to serve.

KEY = "model"
"""Key of the announcement in the run's state."""

STATE_RETRY = 0.5
"""Seconds between attempts to read the run's buckets, while the broker is still creating them."""


class ModelFollower:
    """Watches the run's announcements of models.

    async with ModelFollower(own, folder, context) as follower:
        address, until = follower.turn()    # serve this until the event is set, then call `turn` again
    """

    def __init__(self, own: ModelAddress, folder: str, context: NodeContext) -> None:
        """`own`: the model, and its servers, to serve until the run announces one; `folder`: announced model folders
        must be below it."""
        self._own, self._folder = own, Path(folder)
        self._context = context
        self._current = own
        self._heard = asyncio.Event()
        self._changed = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ModelFollower:
        """Begin to follow. Returns when the run's current announcement, if any, has been read."""
        context = self._context
        self._watch = context.spawn(self._follow(), "model")
        await unless_stopped(self._heard.wait(), context.stopping)
        context.spawn(self._until_stopped(), "model until the end")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def turn(self) -> tuple[ModelAddress, asyncio.Event]:
        """The model to serve now, and an event that is set when another model is announced or the node stops."""
        self._changed = asyncio.Event()
        if self._context.stopping.is_set():
            self._changed.set()
        return self._current, self._changed

    async def _follow(self) -> None:
        """Watch the key, once the broker has the run's buckets."""
        while True:
            try:
                watch = await self._context.bus.watch_state(KEY, ModelState, self._announced)
            except BusError as error:
                self._context.log.info("waiting for the run's state", key=KEY, reason=str(error))
                await asyncio.sleep(STATE_RETRY)
            else:
                break
        try:
            await asyncio.Event().wait()
        finally:
            await watch.unsubscribe()

    async def _until_stopped(self) -> None:
        await self._context.stopping.wait()
        self._changed.set()

    def _announced(self, state: ModelState | None) -> None:
        """Handle an announcement. None (no announcement) is ignored."""
        if state is not None:
            try:
                address = announced(self._own, self._folder, state)
            except BadModel as error:
                self._context.health("announced model", str(error))
                self._context.log.error("announced model not served", version=state.version, reason=str(error))
            else:
                self._context.health("announced model", None)
                if address != self._current:
                    self._current = address
                    self._changed.set()
        self._heard.set()


def announced(own: ModelAddress, folder: Path, state: ModelState) -> ModelAddress:
    """The address of an announced model, for a node that was started with the model `own`. Raises BadModel if this node
    may not serve it."""
    address = parse_served(state.model)
    if isinstance(own, ServerAddress) and isinstance(address, ServerAddress):
        return replace(own, model=address.model)
    if isinstance(own, HubAddress) and isinstance(address, HubAddress):
        for name in filter(None, (address.model, address.adapter)):
            if name not in (own.model, own.adapter) and not _is_below(Path(name), folder):
                raise BadModel(
                    f"version {state.version}, `{state.model}`, is not below {folder}: set [inference] follow"
                )
        return replace(address, template=own.template)
    raise BadModel(f"version {state.version}, `{state.model}`, is of another kind than this node's `{own.identity}`")


def _is_below(path: Path, folder: Path) -> bool:
    return path.expanduser().resolve().is_relative_to(folder.expanduser().resolve())
