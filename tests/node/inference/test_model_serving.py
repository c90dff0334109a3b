"""Inference nodes that serve a language model, what asks them, and those that follow the model which their run
announces: a real broker, servers on loopback, and models in this process."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from broker import streams
from broker.launcher import Server as BrokerServer
from common.bus import Bus, BusError, BusSettings, Unanswered
from common.life.context import NodeContext
from common.protocol.messages import (
    ModelFacts,
    ModelState,
    SampleReply,
    SampleRequest,
    TacticReply,
    TacticRequest,
    TextSample,
)
from common.protocol.subjects import TACTIC_REQUEST, samples
from node.command import cli
from node.inference.models import KEY, announced
from node.inference.settings import InferenceSettings
from node.llm.address import BadModel
from node.llm.models import parse_model
from node.llm.openai import open_openai
from node.llm.sampling import ChatMessage, ContextExceeded, Decoding, Prompt, SamplerError
from node.llm.settings import ModelSettings
from node.prover.policies.sources import MeshSampler
from tests.background import RunOnBroker, start_again
from tests.commands import Called
from tests.node.llm.server import Server, in_a_thread, running
from tests.node.prover.nodes import model_node
from tests.waiting import eventually

MODEL = "openai:prover"
DRAWN = Decoding(0.8, 0.95, 64, ("\n\n",))


def trouble(node: NodeContext) -> str:
    assert isinstance(node.facts, ModelFacts)
    return node.facts.trouble


def sampler(bus: Bus, model: str = MODEL, patience: float = 60.0, expected: bool = True) -> MeshSampler:
    return MeshSampler(bus, model, patience=patience, expected=expected)


async def test_samples_over_the_mesh_are_those_of_the_server(bus: Bus, broker: BusSettings) -> None:
    text, chat = Prompt("p ∧ q:::"), Prompt(messages=(ChatMessage("system", "s"), ChatMessage("user", "p ∧ q")))
    async with running(Server()) as server:
        address = f"openai:{server.url}#prover"
        async with open_openai(address) as here, model_node(bus, broker, address) as node:
            over_the_mesh = sampler(bus)
            for prompt in (text, chat):
                assert await over_the_mesh.sample(prompt, 5, 7, DRAWN) == await here.sample(prompt, 5, 7, DRAWN)
            greedy = Decoding(temperature=0.0)
            assert len(await over_the_mesh.sample(text, 5, 7, greedy)) == 1
            # More than an answer has room for: several requests, each with a seed of its own.
            many = await over_the_mesh.sample(text, 40, 7, Decoding(max_tokens=1024))
            assert len(many) == 40 and len({sent["seed"] for sent in server.sent[-3:]}) == 3
            assert node.facts == ModelFacts(model=MODEL)
            # It is no node of the mesh's network.
            with pytest.raises(Unanswered, match="no node serves it"):
                await bus.request(TACTIC_REQUEST, TacticRequest(state="⊢ p", samples=1, seed=0), TacticReply, timeout=5)
            await eventually(lambda: node.heartbeat().values.get("samples") == 51)
            told = node.heartbeat().values
            assert told["failed"] == 0 and told["states"] == 6 and told["tokens"] > 51


async def test_failures_of_the_server_are_told_apart(bus: Bus, broker: BusSettings) -> None:
    async with running(Server(context=20)) as server, model_node(bus, broker, f"openai:{server.url}#prover") as node:
        with pytest.raises(ContextExceeded, match="maximum context length is 20"):
            await sampler(bus).sample(Prompt("p" * 21), 1, 0, DRAWN)
        with pytest.raises(ContextExceeded, match="too long for a message"):
            await sampler(bus).sample(Prompt("p" * 600_000), 1, 0, DRAWN)
        server.fault = lambda number: "broken"
        with pytest.raises(SamplerError, match=r"no answer within 0\.3 s: .*answers 500") as failed:
            await sampler(bus).sample(Prompt("p"), 1, 0, DRAWN)
        assert not isinstance(failed.value, ContextExceeded)
        await eventually(lambda: node.state == "unhealthy" and "answers 500" in trouble(node))
        server.fault = lambda number: ""
        await sampler(bus).sample(Prompt("p"), 1, 0, DRAWN)
        await eventually(lambda: node.state != "unhealthy" and not trouble(node))


async def test_a_node_that_was_started_before_its_server_waits_for_it(
    bus: Bus, broker: BusSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.llm.openai.PATIENCE", 0.0)
    monkeypatch.setattr("node.inference.models.OPEN_AGAIN", 0.05)
    async with running(Server()) as server:
        port = int(server.url.split(":")[2].partition("/")[0])
    async with model_node(bus, broker, f"openai:http://127.0.0.1:{port}/v1#prover") as node:
        await eventually(lambda: node.state == "unhealthy" and "cannot be reached" in trouble(node))
        with pytest.raises(SamplerError, match="cannot be reached"):
            await sampler(bus, patience=0.2).sample(Prompt("p"), 1, 0, DRAWN)
        asked = asyncio.create_task(sampler(bus).sample(Prompt("p"), 1, 0, DRAWN))
        async with running(Server(), port):
            assert len(await asked) == 1
        assert node.state != "unhealthy"


async def test_requests_beyond_the_queue_wait_their_turn_and_the_end_answers_what_it_can(
    bus: Bus, broker: BusSettings
) -> None:
    server = Server(fault=lambda number: "hang" if number == 0 else "")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(server))
        address = f"openai:{server.url}#prover"
        settings = ModelSettings(patience=60.0, wait=0.02)
        node = await stack.enter_async_context(model_node(bus, broker, address, queue=1, models=settings))
        first = asyncio.create_task(sampler(bus).sample(Prompt("a"), 1, 0, DRAWN))
        await eventually(lambda: server.did["hang"] == 1)
        request = SampleRequest(request_id="b", model=MODEL, text="b")
        with pytest.raises(BusError, match="queue full"):
            await bus.request(samples(MODEL), request, SampleReply, timeout=10)
        second = asyncio.create_task(sampler(bus).sample(Prompt("b"), 1, 0, DRAWN))
        server.release.set()  # the first is answered with nothing, and asked again
        assert len(await first) == len(await second) == 1
        server.release.clear()
        server.fault = lambda number: "hang"
        last = asyncio.create_task(sampler(bus).sample(Prompt("c"), 1, 0, DRAWN))
        await eventually(lambda: server.did["hang"] == 2)
        node.stopping.set()
        server.fault = lambda number: ""
        server.release.set()
        assert len(await last) == 1


async def test_an_outage_of_the_broker_costs_no_work(own_broker: BrokerServer) -> None:
    bus = await Bus.connect(own_broker.bus, run="outage", name="test", wait=10)
    await streams.ensure(bus)
    server, models = Server(fault=lambda number: "hang" if number == 0 else ""), ModelSettings(patience=60.0, wait=0.02)
    async with running(server), model_node(bus, own_broker.bus, f"openai:{server.url}#prover", models=models):
        asked = asyncio.create_task(sampler(bus).sample(Prompt("p"), 1, 0, DRAWN))
        await eventually(lambda: server.did["hang"] == 1)
        await own_broker.stop(grace=0)
        await start_again(own_broker)
        server.release.set()
        assert len(await asked) == 1
        # It was asked once more because the first answer was empty, and not because it was begun anew.
        assert len(server.sent) == 2
    await bus.close()


async def test_a_request_whose_node_is_gone_is_asked_again_until_too_many_were_lost(bus: Bus) -> None:
    gone, here = SampleReply(at_work="a-node-that-died"), SampleReply(samples=(TextSample("simp"),))
    for lost in (1, 4):
        node = AsyncMock(side_effect=[*[gone] * lost, here])
        served = await bus.serve(samples(MODEL), SampleRequest, node, queue="inference", limit=8)
        (sample,) = await sampler(bus, expected=False).sample(Prompt("p"), 1, 0, DRAWN)
        asked = [request for (request,), _ in node.call_args_list]
        assert sample.text == "simp" and len(asked) == lost + 1 and len({each.request_id for each in asked}) == 1
        await served.unsubscribe()
    await bus.serve(samples(MODEL), SampleRequest, AsyncMock(return_value=gone), queue="inference", limit=8)
    with pytest.raises(SamplerError, match="5 inference nodes were lost"):
        await sampler(bus).sample(Prompt("p"), 1, 0, DRAWN)


async def test_nodes_that_come_within_patience_are_waited_for_and_a_model_of_nobody_is_not(
    bus: Bus, broker: BusSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.prover.policies.sources.ABSENT_SECONDS", 0.05)
    with pytest.raises(SamplerError, match="no inference node serves `openai:prover`; there are none"):
        await sampler(bus, expected=False).sample(Prompt("p"), 1, 0, DRAWN)
    asked = asyncio.create_task(sampler(bus).sample(Prompt("p"), 1, 0, DRAWN))
    async with running(Server()) as server:
        async with model_node(bus, broker, f"openai:{server.url}#prover"):
            assert len(await asked) == 1
            known = sampler(bus, expected=False)
            assert len(await known.sample(Prompt("p"), 1, 0, DRAWN)) == 1
        asked = asyncio.create_task(known.sample(Prompt("p"), 1, 0, DRAWN))  # it was there once
        async with model_node(bus, broker, f"openai:{server.url}#prover"):
            assert len(await asked) == 1


def test_a_model_that_the_server_does_not_have_ends_the_node_with_one_reason(
    mesh_run: RunOnBroker, called: Called
) -> None:
    with in_a_thread(Server()) as server:
        place = ("--run", mesh_run.name, "--bus.url", mesh_run.bus.url)
        ended = called(cli.main, "inference", "--model", f"openai:{server.url}#other", *place)
    assert ended.code == 2 and "[inference] model: " in ended.err
    assert "does not have the model `other`; choose one of `prover`" in " ".join(ended.err.split())


# --- following --------------------------------------------------------------------------------------------------------
FOLDER = Path("/runs/one")


async def test_a_node_serves_what_the_run_announces_under_its_own_name_alone(
    bus: Bus, broker: BusSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(Server()) as server:
        address = f"openai:{server.url}#prover"
        async with model_node(bus, broker, address, follow="runs") as node:
            assert len(await sampler(bus).sample(Prompt("p"), 2, 0, Decoding())) == 2
            await bus.put_state(KEY, ModelState(version=1, model="hf:/elsewhere"))
            await eventually(lambda: node.state == "unhealthy", what="the word that it may not serve that")
            assert len(await sampler(bus).sample(Prompt("p"), 1, 0, Decoding())) == 1
            server.model = "prover-2"
            await bus.put_state(KEY, ModelState(version=2, model="openai:prover-2"))
            await eventually(lambda: node.facts.model == "openai:prover-2" and node.state != "unhealthy")
            await bus.register(node.info())  # as the node's pulse does
            assert len(await sampler(bus, "openai:prover-2").sample(Prompt("p"), 3, 0, Decoding())) == 3
            monkeypatch.setattr("node.prover.policies.sources.ABSENT_SECONDS", 0.05)
            with pytest.raises(SamplerError, match="no inference node serves `openai:prover`"):
                await sampler(bus, patience=0.1, expected=False).sample(Prompt("p"), 1, 0, Decoding())
            await eventually(lambda: node.heartbeat().values.get("samples") == 6, what="counts go on")
    assert {sent["model"] for sent in server.sent} == {"prover", "prover-2"}


async def test_requests_at_work_end_with_the_model_that_they_began_with(bus: Bus, broker: BusSettings) -> None:
    server = Server(fault=lambda number: "hang" if number == 0 else "")
    async with running(server), model_node(bus, broker, f"openai:{server.url}#prover", follow="runs") as node:
        asked = asyncio.create_task(sampler(bus).sample(Prompt("p"), 1, 0, Decoding()))
        await eventually(lambda: server.did["hang"] == 1)
        server.fault = lambda number: ""
        await bus.put_state(KEY, ModelState(version=2, model="openai:prover-2"))
        server.release.set()
        assert len(await asked) == 1
        await eventually(lambda: node.facts.model == "openai:prover-2")
    assert {sent["model"] for sent in server.sent} == {"prover"}


@pytest.mark.parametrize(
    ("own", "model", "wanted"),
    [
        ("openai:http://a/v1#m@stp", "openai:m-2", "openai:http://a/v1#m-2@stp"),
        ("hf:/models/base@stp", "hf:/runs/one/trainings/a", "hf:/runs/one/trainings/a@stp"),
        ("hf:/models/base", "hf:/models/base+/runs/one/adapter", "hf:/models/base+/runs/one/adapter"),
        ("hf:owner/base", "hf:owner/base", "hf:owner/base"),
    ],
)
def test_an_announcement_names_folders_of_the_run_and_models_of_the_nodes_own_servers(
    own: str, model: str, wanted: str
) -> None:
    assert str(announced(parse_model(own), FOLDER, ModelState(version=1, model=model))) == wanted


@pytest.mark.parametrize(
    ("own", "model", "why"),
    [
        ("hf:/models/base", "hf:/etc/other", "is not below /runs/one"),
        ("hf:/models/base", "hf:/runs/one/../two", "is not below /runs/one"),
        ("hf:/models/base", "hf:owner/other", "is not below /runs/one"),
        ("hf:/models/base", "hf:/models/base+/etc/adapter", "is not below /runs/one"),
        ("hf:/models/base", "openai:m", "another kind"),
        ("openai:http://a#m", "openai:http://b#m", "inference nodes of a mesh choose it"),
    ],
)
def test_an_announcement_of_anything_else_is_refused(own: str, model: str, why: str) -> None:
    with pytest.raises(BadModel, match=why):
        announced(parse_model(own), FOLDER, ModelState(version=1, model=model))


def test_to_follow_without_a_model_is_refused() -> None:
    with pytest.raises(ValueError, match="name the language model that is served first"):
        InferenceSettings(follow="runs").check()
