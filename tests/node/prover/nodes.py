"""Nodes of a mesh in this process, for tests of what provers do with them."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from common.bus import Bus, BusSettings
from common.life import faults
from common.life.context import NodeContext
from common.life.process import kill_group, spawn_child
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptResult
from common.protocol.messages import Message, ProverFacts, TacticReply, TacticRequest
from common.settings import NodeSettings
from node.inference.models import ModelServing
from node.inference.serving import Serving
from node.inference.settings import EngineSettings, InferenceSettings
from node.llm.settings import ModelSettings
from node.prover.prover import Prover
from node.prover.settings import ProverSettings
from tests.background import Background, RunOnBroker
from tests.results import results
from tests.waiting import eventually

Inference = tuple[NodeContext, asyncio.Task[None]]

ENGINE = EngineSettings(slots=4, cells=8, new_tokens=32, dtype="float32")
"""In float32: in bfloat16 a sample may depend on what else is in its batch."""


@asynccontextmanager
async def _inference(bus: Bus, broker: BusSettings, settings: InferenceSettings) -> AsyncIterator[Inference]:
    context = NodeContext("inference", NodeSettings(run=bus.run, bus=broker))
    context.bus = await Bus.connect(broker, run=bus.run, name=context.id, wait=10)
    work = asyncio.create_task((ModelServing if settings.model else Serving)(settings, context).run())
    try:
        yield context, work
    finally:
        context.stopping.set()
        await asyncio.wait({work}, timeout=60)
        await context.cancel_tasks()
        await context.bus.unregister(context.role, context.id)
        await context.bus.close()


@asynccontextmanager
async def inference_node(bus: Bus, broker: BusSettings, weights: str = "") -> AsyncIterator[TacticReply]:
    """An inference node with these weights, without with the run's; its first answer."""
    async with _inference(bus, broker, InferenceSettings(weights=weights, engine=ENGINE)) as (context, work):
        first = TacticRequest(state="⊢ True", samples=2, seed=0)
        asked = context.bus.request_patiently(subjects.TACTIC_REQUEST, first, TacticReply, timeout=10, deadline=60)
        answer = asyncio.create_task(asked)
        await asyncio.wait({work, answer}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            answer.cancel()
            work.result()  # what ended it
        yield await answer


@asynccontextmanager
async def model_node(bus: Bus, broker: BusSettings, model: str, **settings: object) -> AsyncIterator[NodeContext]:
    """An inference node that serves a language model; it is registered and answers when the block begins."""
    fields = {"models": ModelSettings(patience=0.3, wait=0.02, failures=1000)} | settings
    async with _inference(bus, broker, InferenceSettings(model=model, **fields)) as (context, work):  # type: ignore[arg-type]
        await eventually(lambda: work.done() or context.facts is not None)
        if work.done():
            work.result()  # what ended it
        await bus.register(context.info())
        yield context


@contextmanager
def shared_prover(background: Background, run: RunOnBroker, **settings: object) -> Iterator[NodeContext]:
    """A prover with these settings on a run, for tests without a loop."""
    fields: dict[str, object] = {"poll_seconds": 0.05, "drain_seconds": 0.0, **settings}
    playing = ProverSettings(**fields)  # type: ignore[arg-type]

    async def main(ctx: NodeContext) -> None:
        ctx.facts = ProverFacts(policy=playing.policy, leaves=playing.leaves, sampling=playing.sampling)
        await ctx.bus.register(ctx.info())
        await Prover(ctx.bus, playing, ctx.id, ctx.report).run(ctx.stopping)

    with background.node("prover", run.node, main, searches=playing.resolved_searches()) as node:
        yield node


def run_folder(folder: Path) -> Path:
    """A run with a checkpoint of random weights, of step 7."""
    from node.model import checkpoint
    from tests.node.model.tiny import tiny_model, tiny_tokenizer

    model = tiny_model(1, ends=12.0, sharpness=0.5)
    checkpoint.save(folder / "checkpoints/step-000007", model, tiny_tokenizer(), step=7)
    return folder


@asynccontextmanager
async def running(bus: Bus, **settings: object) -> AsyncIterator[Prover]:
    """A prover at work; it is stopped and drained at the end of the block."""
    fields: dict[str, object] = {"policy": "fixed", "searches": 2, "poll_seconds": 0.05, "drain_seconds": 0.0}
    prover = Prover(bus, ProverSettings(**{**fields, **settings}), "prover-1")  # type: ignore[arg-type]
    stopping = asyncio.Event()
    work = asyncio.create_task(prover.run(stopping))
    try:
        yield prover
    finally:
        stopping.set()
        await asyncio.wait_for(work, 60)


async def played(bus: Bus, attempts: list[Attempt], **settings: object) -> dict[str, AttemptResult]:
    """What a prover with these settings reports, by attempt."""
    for attempt in attempts:
        queue = subjects.todo(attempt.purpose, attempt.client)
        await bus.publish_durable(queue, attempt, message_id=attempt.attempt_id)
    async with running(bus, **settings):
        return {result.attempt_id: result for result in await results(bus, len(attempts), timeout=60.0)}


async def answer_tactics(bus: Bus, answers: list[Message]) -> list[TacticRequest]:
    """Serve `tactic.request` with these answers in turn, the last one for ever; returns the list of requests."""
    asked: list[TacticRequest] = []

    async def handler(request: TacticRequest) -> Message:
        asked.append(request)
        return answers[min(len(asked), len(answers)) - 1]

    await bus.serve(subjects.TACTIC_REQUEST, TacticRequest, handler, queue="inference", limit=8)
    return asked


@asynccontextmanager
async def prover_process(
    bus: Bus, broker: BusSettings, policy: str, *flags: str, fault: str = "", cwd: Path | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A prover as a process of its own, with nothing but the broker's address and credentials."""
    user, password = broker.credentials()
    environment = {**os.environ, "PROOFMESH_NATS_USER": user, "PROOFMESH_NATS_PASSWORD": password}
    if fault:
        environment[faults.VARIABLE] = fault
    command = [sys.executable, "-m", "node.command.cli", "prover", "--run", bus.run, "--bus.url", broker.url]
    command += ["--policy", policy, "--searches", "2", "--poll-seconds", "0.05", "--drain-seconds", "0", *flags]
    child = await spawn_child(command, env=environment, cwd=cwd)
    try:
        yield child
    finally:
        await kill_group(child, 0)
