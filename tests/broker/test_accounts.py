"""The block of docs/operations.md that separates runs: with it, a run works, and no user reaches another run."""

from __future__ import annotations

import asyncio
import json
import re
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js.errors import NotFoundError

from broker import binary, streams
from common.bus import Bus, BusError, BusSettings, names
from common.lean import Theorem
from common.life.process import kill_group, spawn_child
from common.protocol import subjects
from common.protocol.attempts import Attempt, Purpose
from common.protocol.messages import Heartbeat, NodeInfo, PauseAcknowledged, PauseHold, PauseRequest
from tests.waiting import eventually

pytestmark = pytest.mark.broker

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
PASSWORDS = {"DEMO_PASSWORD": "demo-word", "OTHER_PASSWORD": "other-word"}


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """A nats-server with exactly the printed block, on a free port of loopback."""
    section = PAGE.read_text().partition("### Runs that must not see each other")[2]
    (block, *_) = re.findall(r"(?:^ {4}.*\n)+", section, re.MULTILINE)
    ports = f'listen: "127.0.0.1:-1"\nports_file_dir: "{tmp_path}"\n'
    (tmp_path / "server.conf").write_text(ports + textwrap.dedent(block))
    program = await asyncio.to_thread(binary.find)
    process = await spawn_child([program, "--config", tmp_path / "server.conf"], cwd=tmp_path, env=PASSWORDS)
    await eventually(lambda: bool(addresses(tmp_path)), what="the ports file")
    yield addresses(tmp_path)[0]
    await kill_group(process, grace=0)


def addresses(folder: Path) -> list[str]:
    for file in folder.glob("*.ports"):
        try:
            listed: list[str] = json.loads(file.read_text())["nats"]
        except (json.JSONDecodeError, KeyError):
            return []
        return listed
    return []


async def connected(url: str, user: str, run: str) -> Bus:
    return await Bus.connect(BusSettings(url=url, user=user, password=f"{user}-word"), run=run, name="n", wait=10)


async def begin(bus: Bus, tmp_path: Path) -> None:
    """What the nodes of a run do: streams, state, registry, work, requests, telemetry, weights."""
    await streams.ensure(bus)
    await bus.put_state("pause", PauseHold(epoch=1, seconds=5.0))
    seen: list[PauseHold | None] = []
    await bus.watch_state("pause", PauseHold, seen.append)
    await eventually(lambda: seen == [PauseHold(epoch=1, seconds=5.0)])
    await bus.register(NodeInfo(node_id="n1", role="prover", host="h", pid=1, version="0", started=0.0))
    assert [node.node_id for node in await bus.nodes()] == ["n1"]

    async def answer(request: PauseRequest) -> PauseAcknowledged:
        return PauseAcknowledged(epoch=request.epoch, node_id="n1")

    await bus.serve(subjects.PAUSE, PauseRequest, answer, queue=None, limit=1)
    asked = PauseRequest(epoch=3, seconds=1.0)
    assert (await bus.request(subjects.PAUSE, asked, PauseAcknowledged, timeout=10)).epoch == 3
    heard: list[Any] = []
    beat = subjects.telemetry("prover", "n1", "heartbeat")
    await bus.subscribe(beat, Heartbeat, lambda _, message: heard.append(message))
    await bus.publish(beat, Heartbeat(node_id="n1", role="prover", time=1.0, state="running"))
    await eventually(lambda: len(heard) == 1)
    for number in (1, 2):
        attempt = Attempt(
            attempt_id=f"a{number}",
            theorem_id="t",
            purpose=Purpose.EVAL,
            theorem=Theorem("t", "", "True"),
            seed=1,
            simulations=1,
        )
        await bus.publish_durable(subjects.todo(Purpose.EVAL), attempt, message_id=attempt.attempt_id)
    (lease,) = await bus.lease(names.TODO_PREFIX + Purpose.EVAL, Attempt, limit=1, wait=10)
    await lease.ack()
    (tmp_path / "weights").write_bytes(b"w" * 300_000)
    digest = await bus.put_object("w1", tmp_path / "weights")
    await bus.get_object("w1", tmp_path / "again", digest=digest)


async def test_with_the_printed_block_a_run_works_and_no_other_user_reaches_it(url: str, tmp_path: Path) -> None:
    demo = await nats.connect(url, user="demo", password="demo-word")
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(message.subject)

    hearing = await demo.subscribe(">", cb=hear)
    await demo.flush()
    other = await connected(url, "other", "other")
    await begin(other, tmp_path)

    # 1. demo hears nothing of what the run `other` did, and finds nothing of it.
    await demo.publish("demo.last", b"")
    await eventually(lambda: "demo.last" in heard)
    assert heard == ["demo.last"]
    await hearing.unsubscribe()  # or it would count as one who may answer
    jetstream = demo.jetstream()
    assert await jetstream.streams_info() == []
    stream = names.todo_stream("other")
    for reach in (
        jetstream.stream_info(stream),
        jetstream.get_last_msg(stream, f"other.{subjects.todo(Purpose.EVAL)}"),
        jetstream.purge_stream(stream),
        jetstream.delete_stream(stream),
    ):
        with pytest.raises(NotFoundError):
            await reach
    intruder = await connected(url, "demo", "other")
    with pytest.raises(BusError):
        await intruder.get_state("pause", PauseHold)
    with pytest.raises(BusError):
        await intruder.request(subjects.PAUSE, PauseRequest(epoch=9, seconds=9.0), PauseAcknowledged, timeout=10)

    # 2. demo's own run works, and streams that it makes under the other's name are not the other's.
    mine = await connected(url, "demo", "demo")
    await begin(mine, tmp_path)
    await streams.ensure(intruder)
    await intruder.put_state("pause", PauseHold(epoch=99, seconds=60.0))
    await streams.remove(intruder)
    assert await other.get_state("pause", PauseHold) == PauseHold(epoch=1, seconds=5.0)
    assert (await other.backlog())[names.TODO_PREFIX + Purpose.EVAL] == 1
    for bus in (other, mine, intruder):
        await bus.close()
    await demo.close()
