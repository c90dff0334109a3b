"""Inference nodes that serve the language model which their run announces: a real broker, servers on loopback, and
models in this process."""

import asyncio
from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.protocol.messages import ModelState
from node.inference.models import KEY, announced
from node.inference.settings import InferenceSettings
from node.llm.address import BadModel
from node.llm.models import parse_model
from node.llm.sampling import Decoding, Prompt, SamplerError
from node.prover.policies.sources import MeshSampler
from tests.node.llm.server import Server, running
from tests.node.prover.nodes import model_node
from tests.waiting import eventually

FOLDER = Path("/runs/one")


def sampler(bus: Bus, model: str) -> MeshSampler:
    return MeshSampler(bus, model, patience=10.0)


async def test_a_node_serves_what_the_run_announces_under_its_own_name_alone(
    bus: Bus, broker: BusSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(Server()) as server:
        address = f"openai:{server.url}#prover"
        async with model_node(bus, broker, address, follow="runs") as node:
            assert len(await sampler(bus, "openai:prover").sample(Prompt("p"), 2, 0, Decoding())) == 2
            await bus.put_state(KEY, ModelState(version=1, model="hf:/elsewhere"))
            await eventually(lambda: node.state == "unhealthy", what="the word that it may not serve that")
            assert len(await sampler(bus, "openai:prover").sample(Prompt("p"), 1, 0, Decoding())) == 1
            server.model = "prover-2"
            await bus.put_state(KEY, ModelState(version=2, model="openai:prover-2"))
            await eventually(lambda: node.facts.model == "openai:prover-2" and node.state != "unhealthy")
            await bus.register(node.info())  # as the node's pulse does
            assert len(await sampler(bus, "openai:prover-2").sample(Prompt("p"), 3, 0, Decoding())) == 3
            monkeypatch.setattr("node.prover.policies.sources.ABSENT_SECONDS", 0.05)
            with pytest.raises(SamplerError, match="no inference node serves `openai:prover`"):
                await MeshSampler(bus, "openai:prover", patience=0.1).sample(Prompt("p"), 1, 0, Decoding())
            await eventually(lambda: node.heartbeat().values.get("samples") == 6, what="counts go on")
    assert {sent["model"] for sent in server.sent} == {"prover", "prover-2"}


async def test_requests_at_work_end_with_the_model_that_they_began_with(bus: Bus, broker: BusSettings) -> None:
    server = Server(fault=lambda number: "hang" if number == 0 else "")
    async with running(server), model_node(bus, broker, f"openai:{server.url}#prover", follow="runs") as node:
        asked = asyncio.create_task(sampler(bus, "openai:prover").sample(Prompt("p"), 1, 0, Decoding()))
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
