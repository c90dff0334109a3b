"""The inference node over a real broker, with a network of random weights."""

import asyncio
import contextlib
import functools
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from common.bus import Bus, BusSettings, BusyError, RemoteFailure, Unanswered
from common.life.context import NodeContext
from common.protocol.messages import (
    FailureKind,
    Message,
    PauseAcknowledged,
    PauseHold,
    PauseRequest,
    PinnedWeights,
    TacticReply,
    TacticRequest,
    WeightsState,
)
from common.protocol.subjects import PAUSE, RESUME, TACTIC_REQUEST
from common.settings import NodeSettings, Sampling
from node.command import cli
from node.inference.engine.engine import Engine, Job
from node.inference.serving import Serving
from node.inference.settings import EngineSettings, InferenceSettings
from node.model import checkpoint, weights as weights_file
from tests.background import RunOnBroker
from tests.commands import Called
from tests.node.model.tiny import tiny_model, tiny_tokenizer, tiny_weights
from tests.waiting import eventually, until

ENGINE = EngineSettings(slots=4, cells=8, new_tokens=16, dtype="float32")
STATE = "p q : Prop\nh₀ : p ∧ q\n⊢ q ∧ p"


class Learner:
    """Announces weights as a learner does."""

    def __init__(self, bus: Bus, folder: Path) -> None:
        self._bus, self._folder = bus, folder
        self._known: dict[int, WeightsState] = {}

    async def store(self, version: int) -> None:
        """Put random weights, different for each version, into the object store."""
        path = self._folder / "weights.safetensors"
        weights = tiny_weights(version, version)
        weights_file.write(path, weights.model, weights.tokenizer)
        name = f"weights-{version}"
        digest = await self._bus.put_object(name, path)
        self._known[version] = WeightsState(version=version, digest=digest, object_name=name)

    async def announce(self, version: int, *pinned: int, digest: str | None = None) -> None:
        for number in (version, *pinned):
            if number not in self._known:
                await self.store(number)
        state, known = self._known[version], (self._known[number] for number in pinned)
        pins = tuple(PinnedWeights(version=w.version, digest=w.digest, object_name=w.object_name) for w in known)
        await self._bus.put_state("weights", replace(state, digest=digest or state.digest, pinned=pins))


@pytest.fixture
def learner(bus: Bus, tmp_path: Path) -> Learner:
    return Learner(bus, tmp_path)


Serves = Callable[..., AbstractAsyncContextManager[NodeContext]]


@pytest.fixture
def serving(broker: BusSettings, bus: Bus, run_name: str, learner: Learner) -> Serves:
    """An inference node of the run that serves version 1 when the block begins; its settings are the arguments."""

    @asynccontextmanager
    async def opened(**changes: object) -> AsyncIterator[NodeContext]:
        await learner.announce(1)
        async with inference(broker, run_name, **changes) as context:
            await serves(bus, 1)
            yield context

    return opened


@asynccontextmanager
async def inference(broker: BusSettings, run: str, **changes: object) -> AsyncIterator[NodeContext]:
    """An inference node in this process; drained at the end."""
    context = NodeContext("inference", NodeSettings(run=run, bus=broker))
    context.bus = await Bus.connect(broker, run=run, name=context.id, wait=10)
    settings = InferenceSettings(engine=ENGINE, **changes)  # type: ignore[arg-type]
    work = asyncio.create_task(Serving(settings, context).run())
    try:
        yield context
    finally:
        context.stopping.set()
        await asyncio.wait_for(work, 60)
        await context.cancel_tasks()
        await context.bus.close()


def request(seed: int = 1, **changes: object) -> TacticRequest:
    return TacticRequest(**({"state": STATE, "samples": 4, "seed": seed} | changes))  # type: ignore[arg-type]


async def ask(bus: Bus, message: TacticRequest, deadline: float = 20.0) -> TacticReply:
    return await bus.request_patiently(TACTIC_REQUEST, message, TacticReply, timeout=5.0, deadline=deadline)


async def once(bus: Bus, message: Message) -> TacticReply:
    return await bus.request(TACTIC_REQUEST, message, TacticReply, timeout=60.0)


async def serves(bus: Bus, version: int) -> None:
    """Wait until the node serves a version as latest."""

    async def latest() -> bool:
        return (await ask(bus, request(samples=1))).weights == version

    await until(latest, what=f"version {version}")


async def busy(bus: Bus, why: str) -> None:
    """Ask until the node listens: its answer must be that it is busy, with this reason."""
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(Unanswered):
                with pytest.raises(BusyError, match=why):
                    await once(bus, request())
                return
            await asyncio.sleep(0.01)


engine_of = functools.cache(lambda version: Engine(tiny_weights(version), ENGINE))


def tactics(reply: TacticReply) -> list[str]:
    return [sample.tactic for sample in reply.tactics]


def expected(version: int, seed: int, samples: int = 4) -> list[str]:
    engine = engine_of(version)
    engine.submit(Job(0, STATE, samples, seed))
    while True:
        for finished in engine.step():
            return [sample.tactic for sample in finished.tactics]


async def refused(bus: Bus, message: Message) -> RemoteFailure:
    with pytest.raises(RemoteFailure) as caught:
        await once(bus, message)
    return caught.value


async def test_before_any_weights_the_answer_is_busy_and_a_node_that_joins_during_a_pause_keeps_it(
    broker: BusSettings, bus: Bus, run_name: str, learner: Learner
) -> None:
    async with inference(broker, run_name):
        await busy(bus, "no weights yet")
        await learner.announce(1)
        await serves(bus, 1)
    await learner.announce(1)
    await bus.put_state("pause", PauseHold(epoch=4, seconds=60))
    async with inference(broker, run_name, pause_wait=0.05):
        await busy(bus, "paused|no weights")
        with pytest.raises(RemoteFailure, match="stale"):
            await hold(bus, RESUME, epoch=3, seconds=0)
        await bus.put_state("pause", PauseHold(epoch=4, seconds=0.0))
        await serves(bus, 1)


SENSELESS = (
    *(Sampling(temperature=each) for each in (math.nan, -1.0, 101.0)),
    *(Sampling(top_p=each) for each in (0.0, math.nan)),
    Sampling(stop=("a", "b", "c", "d")),
)


async def test_requests_that_make_no_sense_and_weights_that_are_not_what_was_announced_are_refused(
    bus: Bus, learner: Learner, serving: Serves
) -> None:
    async with serving() as context:
        senseless = [request(samples=0), request(samples=9), *(request(sampling=each) for each in SENSELESS)]
        for message in (*senseless, PauseRequest(epoch=1, seconds=0.0)):
            assert (await refused(bus, message)).kind == "malformed"
        assert (await refused(bus, request(v=99))).kind == "version"
        await learner.announce(2, digest="0" * 128)
        await eventually(lambda: "weights" in context.healthz()["problems"], what="a problem with the weights")
        assert "version 2 cannot be loaded" in context.healthz()["problems"]["weights"]
        assert (await ask(bus, request())).weights == 1, "and the node lives on"
        await learner.announce(3)
        await serves(bus, 3)
        assert context.healthz()["status"] == "ok"


async def test_a_pinned_version_is_served_while_it_is_listed(
    broker: BusSettings, bus: Bus, run_name: str, learner: Learner
) -> None:
    await learner.announce(2, 1, 4)
    async with inference(broker, run_name, versions=2):  # those that do not fit are loaded when asked for
        await serves(bus, 2)
        assert (await ask(bus, request(seed=4, weights=4))).weights == 4
        for version in (1, 2):
            found = await ask(bus, request(seed=4, weights=version))
            assert (found.weights, tactics(found)) == (version, expected(version, seed=4))
        failure = await refused(bus, request(weights=7))
        assert failure.kind == "unknown-weights" and "[1, 2, 4]" in failure.reason
        await learner.announce(3)
        await serves(bus, 3)
        assert (await refused(bus, request(weights=1))).kind == "unknown-weights"


async def test_new_weights_under_load_lose_no_request(bus: Bus, learner: Learner, serving: Serves) -> None:
    for version in range(1, 4):
        await learner.store(version)
    async with serving():
        stop = asyncio.Event()
        seen: list[list[int]] = []

        async def client(number: int) -> None:
            versions: list[int] = []
            seen.append(versions)
            while not stop.is_set():
                # Not the patient one: a single lost or refused request fails the test.
                versions.append((await once(bus, request(seed=number))).weights)

        clients = [asyncio.create_task(client(number)) for number in range(8)]
        for version in range(2, 4):
            await learner.announce(version)
            await serves(bus, version)
        stop.set()
        await asyncio.gather(*clients)
    assert all(versions == sorted(versions) for versions in seen), "a client never sees older weights again"
    assert {version for versions in seen for version in versions} == {1, 2, 3}


# --- pause -----------------------------------------------------------------------------------------------------------
async def hold(bus: Bus, subject: str, epoch: int, seconds: float) -> PauseAcknowledged:
    message = PauseRequest(epoch=epoch, seconds=seconds)
    return await bus.request(subject, message, PauseAcknowledged, timeout=60.0)


async def test_a_long_pause_is_acknowledged_refuses_requests_and_ends_when_released(bus: Bus, serving: Serves) -> None:
    async with serving(pause_wait=0.05) as context:
        acknowledged = await hold(bus, PAUSE, epoch=1, seconds=60)
        assert (acknowledged.epoch, acknowledged.node_id, acknowledged.paused) == (1, context.id, True)
        with pytest.raises(BusyError, match="paused") as caught:
            await once(bus, request())
        assert 0 < caught.value.retry_after <= 1.0
        assert not (await hold(bus, RESUME, epoch=1, seconds=0)).paused
        assert (await once(bus, request())).weights == 1


async def test_what_runs_is_parked_in_a_pause_and_what_comes_waits_until_it_is_over(bus: Bus, serving: Serves) -> None:
    async with serving():
        asked = [asyncio.create_task(ask(bus, request(seed=seed, samples=8))) for seed in range(32)]
        # The first answer: others are in the batch, and more wait than there are slots.
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        await hold(bus, PAUSE, epoch=1, seconds=30)
        assert not all(task.done() for task in asked)
        await hold(bus, RESUME, epoch=1, seconds=0)
        replies = await asyncio.gather(*asked)
        over = time.monotonic() + 0.7
        await hold(bus, PAUSE, epoch=2, seconds=0.7)  # it runs out by itself
        assert len(await asyncio.gather(*(ask(bus, request(seed=seed)) for seed in range(6)))) == 6
        assert time.monotonic() >= over, "nothing was computed while the learner held"
    for seed, reply in enumerate(replies):
        assert tactics(reply) == expected(1, seed, samples=8)


async def test_beyond_the_queue_the_answer_is_busy(bus: Bus, serving: Serves) -> None:
    async with serving(queue=3, pause_wait=60.0):
        await hold(bus, PAUSE, epoch=1, seconds=30)
        asked = [asyncio.create_task(once(bus, request(seed=seed))) for seed in range(5)]
        done, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_EXCEPTION)
        while len(done) < 2:
            done, waiting = await asyncio.wait(asked, timeout=0.05)
        assert [type(task.exception()) for task in done] == [BusyError, BusyError]
        await hold(bus, RESUME, epoch=1, seconds=0)
        assert len(await asyncio.gather(*waiting)) == 3


# --- ends ------------------------------------------------------------------------------------------------------------
async def test_a_node_that_is_stopped_answers_what_it_has_taken(bus: Bus, serving: Serves) -> None:
    async with serving() as context:
        asked = [asyncio.create_task(once(bus, request(seed=seed, samples=8))) for seed in range(20)]
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        # The first answer goes out after the last request came in: requests travel faster than a forward pass.
        context.stopping.set()
        assert len(await asyncio.gather(*asked)) == 20


async def test_checkpoints_and_runs_are_served_by_their_step(
    broker: BusSettings, bus: Bus, run_name: str, tmp_path: Path
) -> None:
    for step in (3, 7, 9):
        checkpoint.save(tmp_path / f"checkpoints/step-{step:06d}", tiny_model(step), tiny_tokenizer(), step=step)
    (tmp_path / "checkpoints/step-000009/model.safetensors").write_bytes(b"short")  # passed over
    for weights, step in ((tmp_path / "checkpoints/step-000003", 3), (tmp_path, 7), (f"own:{tmp_path}", 7)):
        async with inference(broker, run_name, weights=str(weights)):
            latest = await ask(bus, request(seed=9))
            assert (latest.weights, tactics(latest)) == (step, expected(step, seed=9))
            assert await ask(bus, request(seed=9, weights=step)) == latest
            failure = await refused(bus, request(weights=step + 1))
            assert failure.kind is FailureKind.UNKNOWN_WEIGHTS and f"announced: [{step}]" in failure.reason


@pytest.mark.parametrize(("weights", "says"), [("nothing", "there is no such checkpoint"), ("short", "not a complete")])
def test_weights_that_cannot_be_served_end_the_command_with_a_line(
    mesh_run: RunOnBroker, called: Called, tmp_path: Path, weights: str, says: str
) -> None:
    (tmp_path / "short").write_bytes(b"short")
    place = ("--run", mesh_run.name, "--bus.url", mesh_run.bus.url)
    ended = called(cli.main, "inference", *place, "--weights", tmp_path / weights)
    assert ended.code == 2
    assert f"[inference] weights: {'' if weights == 'nothing' else tmp_path / weights}" in ended.err
    assert says in ended.err
