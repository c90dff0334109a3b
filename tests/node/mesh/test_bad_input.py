"""Bad input to real nodes and commands: each gets a clear error, and nothing crashes."""

import asyncio
import math
import uuid
from collections.abc import Callable
from pathlib import Path

import msgpack
import msgspec
import nats
import pytest

from common.bus import Bus, BusSettings, RemoteFailure, names
from common.lean import OutcomeKind, Step, Theorem
from common.life.context import NodeContext
from common.output.command import Exit
from common.protocol import subjects
from common.protocol.attempts import TRAINED_PURPOSES, AttemptResult
from common.protocol.messages import (
    SCHEMA_VERSION,
    Failure,
    LeanRunReply,
    LeanRunRequest,
    LeanVerifyReply,
    LeanVerifyRequest,
    Message,
    TacticReply,
    TacticRequest,
    decode,
)
from common.settings import Sampling
from node.command import cli
from node.model import weights
from tests.commands import Called
from tests.message_values import attempt, heartbeat, named, node_info
from tests.node.model.tiny import tiny_weights
from tests.node.prover.nodes import inference_node, running

BAD = {
    "malformed": [b"", b"\xc1", b"hello", msgpack.packb({"type": "Nonsense", "v": SCHEMA_VERSION}), b"\x91" * 5_000],
    "version": [msgpack.packb({"type": "LeanRunRequest", "v": 99})],
    "oversized": [b"x" * 600_000],
}

REQUESTS = (subjects.TACTIC_REQUEST, subjects.LEAN_RUN, subjects.LEAN_VERIFY, subjects.PAUSE, subjects.RESUME)
QUEUED = (*map(subjects.todo, TRAINED_PURPOSES), *map(subjects.result, subjects.DURABLE_CLIENTS))
TELEMETRY = [f"telemetry.prover.{named('prover')}.{kind}" for kind in ("heartbeat", "log", "proof", "point")]

SWAP = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")


async def all_answer(bus: Bus) -> None:
    """Check that all kinds of requests still get correct replies."""
    lean = LeanRunRequest(theorem=SWAP, tactics=("intro h",))
    ran = await bus.request_patiently(subjects.LEAN_RUN, lean, LeanRunReply, timeout=30, deadline=120)
    assert ran.outcomes[0].kind is OutcomeKind.GOALS
    proof = LeanVerifyRequest(theorem=SWAP, script="exact fun h => ⟨h.2, h.1⟩")
    verdict = await bus.request_patiently(subjects.LEAN_VERIFY, proof, LeanVerifyReply, timeout=60, deadline=120)
    assert verdict.accepted
    ask = TacticRequest(state="⊢ True", samples=2, seed=1)
    sampled = await bus.request_patiently(subjects.TACTIC_REQUEST, ask, TacticReply, timeout=30, deadline=120)
    assert len(sampled.tactics) == 2


async def proves(bus: Bus) -> None:
    name = uuid.uuid4().hex
    await bus.publish_durable(subjects.todo("train"), attempt(name, theorem=SWAP, simulations=32), message_id=name)
    async with asyncio.timeout(120):
        while True:
            for lease in await bus.lease("results-learner", AttemptResult, limit=9, wait=1):
                await lease.ack()
                if lease.message.attempt_id == name:
                    assert lease.message.outcome == "proved", lease.message.message
                    return


@pytest.mark.compute
async def test_bad_messages_end_no_node(bus: Bus, broker: BusSettings, lean_proxy: NodeContext, tmp_path: Path) -> None:
    tiny = tiny_weights()
    weights.write(tmp_path / "tiny.safetensors", tiny.model, tiny.tokenizer, {"version": "1"})
    async with (
        inference_node(bus, broker, str(tmp_path / "tiny.safetensors")),
        running(bus),
        await nats.connect(broker.url) as foreign,
    ):
        await all_answer(bus)
        for kind, payloads in BAD.items():
            for payload in payloads:
                for subject in REQUESTS:
                    answer = await foreign.request(f"{bus.run}.{subject}", payload, timeout=20)
                    assert decode(answer.data, Failure).kind == kind, subject
                for subject in TELEMETRY:
                    await foreign.publish(f"{bus.run}.{subject}", payload)
                for subject in QUEUED if kind != "oversized" else ():  # that the stream itself refuses
                    await foreign.jetstream().publish(f"{bus.run}.{subject}", payload)
        for key in ("weights", "pause"):
            await foreign.jetstream().publish(f"$KV.{names.state_bucket(bus.run)}.{key}", b"\xc1")
        await foreign.jetstream().publish(f"$KV.{names.nodes_bucket(bus.run)}.bad", b"\xc1")
        await send_nonsense(bus)
        await all_answer(bus)
        await proves(bus)
        assert not lean_proxy.crash and not lean_proxy.stopping.is_set()


async def send_nonsense(bus: Bus) -> None:
    for changes in (
        {"timeout": math.nan},
        {"timeout": -1e300},
        {"path": (Step("intro h", 7, ((3,), (9, 9))),)},
        {"path": (Step("intro h", -1, ((0,), (1,))),)},
        {"path": (Step("skip"),) * 3000},
        {"tactics": ("x" * 100_000, "trivial\0")},
    ):
        nonsense = LeanRunRequest(**{"theorem": SWAP, "tactics": ("skip",), **changes})
        answer = await answer_of(bus, subjects.LEAN_RUN, nonsense, LeanRunReply)
        proved = not isinstance(answer, RemoteFailure) and OutcomeKind.PROVED in [each.kind for each in answer.outcomes]
        assert not proved
    verify = LeanVerifyRequest(theorem=SWAP, script="exact fun h => ⟨h.2, h.1⟩\naxiom false : False")
    verdict = await answer_of(bus, subjects.LEAN_VERIFY, verify, LeanVerifyReply)
    assert isinstance(verdict, LeanVerifyReply) and not verdict.accepted and "`axiom`" in verdict.reason
    for samples, temperature in ((0, 1.0), (10**9, 1.0), (1, math.nan), (1, -3.0)):
        ask = TacticRequest(state="⊢ True", samples=samples, seed=1, sampling=Sampling(temperature=temperature))
        assert isinstance(await answer_of(bus, subjects.TACTIC_REQUEST, ask, TacticReply), RemoteFailure)
    name = named("prover")
    beat = heartbeat(name, time=math.nan, simulations=math.nan, a=1e308)
    await bus.publish(subjects.telemetry("prover", name, "heartbeat"), msgspec.structs.replace(beat, state=""))
    await bus.register(node_info(name, host="", pid=-1, version="", started=math.nan))
    for simulations in (0, -5):
        bad = attempt(uuid.uuid4().hex, "no such", theorem=SWAP, simulations=simulations, seed=-(2**63))
        await bus.publish_durable(subjects.todo("train"), bad, message_id=bad.attempt_id)


async def answer_of(bus: Bus, subject: str, message: Message, reply: type[Message]) -> Message | RemoteFailure:
    try:
        return await bus.request_patiently(subject, message, reply, timeout=60, deadline=60)
    except RemoteFailure as failure:
        return failure


# --- commands --------------------------------------------------------------------------------------------------------


@pytest.fixture
def refused(called: Called) -> Callable[..., str]:
    """What a command says that cannot do its work, in this process."""

    def refused(*arguments: object) -> str:
        code, out, err = called(cli.main, *arguments)
        assert code != Exit.DONE, out
        return err

    return refused


Refused = Callable[..., str]


def test_an_unusable_run_directory_ends_the_learner(refused: Refused, broker: BusSettings, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file is in the way")
    err = refused("learner", "--bus.url", broker.url, "--directory", "runs")
    assert all(word in err for word in ("runs", "cannot be written", "--directory"))


def test_no_broker_is_said_with_its_address(refused: Refused, unused_tcp_port: int) -> None:
    url = f"nats://127.0.0.1:{unused_tcp_port}"
    err = refused("prover", "--bus.url", url, "--node.broker-wait", "0.2")
    assert url in err and "proofmesh broker" in err
