"""New weights of a run on their way to the inference nodes of a mesh: real broker, real nodes."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import torch

from common.bus import Bus, BusSettings, NotThere
from common.life.context import NodeContext
from common.life.pulse import stay_registered
from common.protocol.attempts import SELF_PLAY
from common.protocol.messages import ModelState, WeightsState
from common.settings import Sampling
from node.inference.models import KEY
from node.llm.address import parse_address, parse_hub_address
from node.llm.settings import HubSettings, ModelSettings
from node.llm.templates import load
from node.model import checkpoint
from node.model.checkpoint_folders import CheckpointError
from node.play import mesh as play, serving
from node.play.attempts import TrainedAttempts
from node.play.mesh import MeshAttempts
from node.play.serving import ServingError, announce, publish as serve
from node.stp.model import Model, conjecturer_prompt
from node.stp.network import Network, Question, StpError
from node.stp.records import Output, Seed
from tests.node.llm.server import Administration, Server, administered, running
from tests.node.model.tiny import role_tokenizer as tokenizer, tiny_model
from tests.node.prover.nodes import inference_node, model_node
from tests.node.stp.examples import COMM, EASY
from tests.node.stp.mesh import FALSE, SWAP, prover, proving_on, task, told


def writer(folder: Path, seed: int) -> Path:
    """A checkpoint of a network that says of itself that it was trained on proofs."""
    model = tiny_model(seed, ends=10.0, vocab_size=tokenizer().vocab_size)
    return checkpoint.save(folder / f"step-{seed:06d}", model, tokenizer(), step=seed, config={"proofs": True})


@pytest.fixture
def written_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files of weights are written in this process, which has torch, and not in a child that imports it first."""

    async def write(path: Path, file: Path, version: int) -> None:
        assert await asyncio.to_thread(serving.main, [str(path), str(file), str(version)]) == 0

    threads = torch.get_num_threads()
    monkeypatch.setattr(serving, "_write", write)
    yield
    torch.set_num_threads(threads)


async def state(bus: Bus) -> WeightsState:
    found = await bus.get_state("weights", WeightsState)
    assert found is not None
    return found


@pytest.mark.process
@pytest.mark.compute
async def test_versions_follow_each_other_and_repeats_do_nothing(bus: Bus, written_here: None, tmp_path: Path) -> None:
    first, second = writer(tmp_path, 1), writer(tmp_path, 2)
    await serve(bus, first, 1)
    old = await state(bus)
    await bus.get_object(old.object_name, tmp_path / "fetched", digest=old.digest)
    await serve(bus, first, 1)
    assert await state(bus) == old
    await serve(bus, second, 2)
    new = await state(bus)
    assert (new.version, old.version) == (2, 1) and new.object_name != old.object_name
    with pytest.raises(NotThere):
        await bus.get_object(old.object_name, tmp_path / "gone", digest=old.digest)
    with pytest.raises(ServingError, match=r"already serves version 2 of the weights, so"):
        await serve(bus, first, 1)
    await serve(bus, first, 2)  # trained anew, after a crash
    assert (await state(bus)).object_name == old.object_name.replace("000001", "000002")


@pytest.mark.process
@pytest.mark.compute
async def test_what_cannot_be_served_is_told_and_the_old_version_stays(
    bus: Bus, written_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await serve(bus, writer(tmp_path, 1), 1)
    monkeypatch.undo()
    old = await state(bus)
    damaged = writer(tmp_path, 2)
    (damaged / "model.safetensors").write_bytes(b"half")
    with pytest.raises(CheckpointError, match="damaged checkpoint"):
        await serve(bus, damaged, 2)
    (tmp_path / "no-weights.safetensors").write_bytes(b"none")
    with pytest.raises(ServingError, match=r"the weights of .* cannot be written: .* not a complete safetensors file"):
        await serve(bus, tmp_path / "no-weights.safetensors", 2)
    with pytest.raises(CheckpointError, match="there is no such checkpoint"):
        await serve(bus, tmp_path / "missing", 2)
    assert serving.main([str(tmp_path / "missing"), str(tmp_path / "out"), "2"]) == 1
    assert await state(bus) == old


@pytest.mark.process
@pytest.mark.compute
async def test_inference_nodes_change_versions_while_provers_ask_them(
    bus: Bus,
    broker: BusSettings,
    lean_proxy: object,
    written_here: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The broker drops what it has seen, and the samples depend on the ids: so these are asked for as lost ones.
    monkeypatch.setattr(play, "LOST_AFTER", 0.5)
    monkeypatch.setattr(play, "LOOK_EVERY", 0.1)
    await serve(bus, writer(tmp_path, 1), 1)
    hot, cold = Sampling(temperature=1.0), Sampling(temperature=0.0)
    async with inference_node(bus, broker), prover(bus, policy="inference"), asyncio.timeout(120):
        tasks = [task(theorem, 16, seed, f"-{seed}") for seed in range(4) for theorem in (SWAP, FALSE)]
        async with proving_on(bus, sampling=hot, at_once=8) as proving:
            results = []
            async for result in proving.attempts(tasks):
                results.append(result)
                if len(results) == 2:
                    await serve(bus, writer(tmp_path, 2), 2)
        assert Counter(result.attempt_id for result in results) == Counter(each.attempt_id for each in tasks)
        assert {result.statistics.simulations for result in results} == {16}
        assert all(result.outcome.decided for result in results), [each.message for each in results]
        async with proving_on(bus, weights=2, sampling=hot, at_once=8) as proving:
            pinned = [result async for result in proving.attempts(tasks[:4])]
            again = [result async for result in proving.attempts(tasks[:4])]
        assert told(pinned) == told(again)
        tokens = [{each.attempt_id: each.statistics.tokens for each in results} for results in (pinned, again)]
        assert tokens[0] == tokens[1], "the same seeds, the same samples"
        async with proving_on(bus, weights=2, sampling=cold, at_once=8) as proving:
            likeliest = [result async for result in proving.attempts(tasks[:4])]
        for result in likeliest:
            wasted = result.statistics.duplicates + result.statistics.without_proof
            assert wasted >= 15, "the likeliest proof alone"
        assert any(each.statistics.duplicates + each.statistics.without_proof < 15 for each in pinned)


# --- language models --------------------------------------------------------------------------------------------------
STP = load("stp")
SEED = Seed(EASY, "omega", COMM)


@asynccontextmanager
async def following(bus: Bus, broker: BusSettings, model: str, **settings: object) -> AsyncIterator[NodeContext]:
    """An inference node whose entry in the registry is kept up to date, as of a real one."""
    async with model_node(bus, broker, model, **settings) as node:
        renewing = asyncio.create_task(stay_registered(node))
        try:
            yield node
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)


def weights(folder: Path, name: str, kind: str = "config.json") -> Path:
    """A folder that looks like a model, or like an adapter."""
    made = folder / name
    made.mkdir()
    (made / kind).write_text("{}")
    (made / "adapter_model.safetensors").write_bytes(b"")
    return made


async def test_weights_are_on_all_servers_before_the_run_goes_on(bus: Bus, broker: BusSettings, tmp_path: Path) -> None:
    one, two = (Administration(), Server()), (Administration(), Server())
    async with administered(one, two) as urls, following(bus, broker, f"openai:{urls}#prover", follow="runs"):
        address = parse_address(f"openai:{urls}#prover")
        for version in (1, 2):
            folder = weights(tmp_path, f"round-{version}")
            assert await announce(bus, address, parse_hub_address(str(folder)), version) == "openai:prover"
            for administration, _ in (one, two):
                assert (administration.weights, administration.version) == (str(folder), f"{bus.run}-{version}")
        with pytest.raises(ServingError, match="cannot be version"):
            await announce(bus, address, parse_hub_address(str(tmp_path / "round-1")), 1)
        two[0].refuses = "/collective_rpc"
        with pytest.raises(ServingError, match=r"-3 could not be loaded into the servers: .*CUDA out of memory"):
            await announce(bus, address, parse_hub_address(str(weights(tmp_path, "round-3"))), 3)
        assert await bus.get_state(KEY, ModelState) == ModelState(version=2, model="openai:prover")


async def test_each_adapter_has_a_name_and_the_old_one_goes(bus: Bus, broker: BusSettings, tmp_path: Path) -> None:
    administration, server = Administration(), Server(base="prover")
    async with (
        administered((administration, server)) as url,
        following(bus, broker, f"openai:{url}#prover", follow="r") as node,
    ):
        address = parse_address(f"openai:{url}#prover")
        for version in (1, 2, 2):  # the same one again, as a run does that was killed
            folder = tmp_path / f"round-{version}"
            if not folder.exists():
                weights(tmp_path, folder.name, "adapter_config.json")
            server.model = f"prover-{bus.run}-{version}"
            name = await announce(bus, address, parse_hub_address(f"base+{folder}"), version)
            assert name == node.facts.model == f"openai:{server.model}"
            assert administration.adapters == {server.model: str(folder)}


async def test_an_inference_node_that_does_not_follow_is_named(
    bus: Bus, broker: BusSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "PATIENCE", 0.3)
    folder = parse_hub_address(str(weights(tmp_path, "round-1")))
    with pytest.raises(ServingError, match="no inference node serves a language model"):
        await announce(bus, parse_hub_address("base"), folder, 1)
    async with running(Server()) as server, following(bus, broker, f"openai:{server.url}#prover") as node:
        with pytest.raises(ServingError, match=rf"{node.id} \(openai:prover\); start them with \[inference\] follow"):
            await announce(bus, parse_hub_address("base"), folder, 1)


@pytest.mark.slow
@pytest.mark.compute
async def test_a_model_here_conjectures_and_embeds_version_by_version(
    bus: Bus, broker: BusSettings, llama_folder: Path, tmp_path: Path
) -> None:
    first, second = (Path(shutil.copytree(llama_folder, tmp_path / name)) for name in ("first", "second"))
    address = parse_hub_address(str(llama_folder))
    short = _short_template()
    network = Network({}, 1.0, Model(address, address, short, "stp"))
    models = ModelSettings(hf=HubSettings(device="cpu"))
    async with (
        following(bus, broker, str(address), follow=str(tmp_path), models=models) as node,
        MeshAttempts(bus, SELF_PLAY) as place,
    ):
        texts = []
        for version, folder in ((1, first), (2, second)):
            await network.serve(place, folder, version)
            assert network.policy == f"hf:{folder}@stp" and node.facts.model == f"hf:{folder}"
            texts.append(await _conjectures(network, place, version))
        assert texts[0] == texts[1], "the weights are the same, and so are the seeds"
        assert len(texts[0]) == 3 and all(each.tokens <= 8 for each in texts[0])
        stale = Network({}, 1.0, Model(address, address, short, "stp"))
        with pytest.raises(StpError):
            await _conjectures(stale, place, 2, patience=0.1)
    vectors = await asyncio.to_thread(network.embed, first, [EASY.signature, SEED.lemma.statement, EASY.signature])
    assert vectors.shape == (3, 32) and (vectors[0] == vectors[2]).all() and (vectors[0] != vectors[1]).any()
    assert (abs((vectors**2).sum(1) - 1) < 1e-5).all()


async def _conjectures(network: Network, place: TrainedAttempts, version: int, patience: float = 60.0) -> list[Output]:
    question = Question(SEED, 3, rng_seed=5, weights=version, temperature=1.0, patience=patience)
    return await network.conjecture(place, question)


def _short_template():
    """For a model with a context of 256 tokens, which are letters for the most part."""
    import msgspec

    form = msgspec.structs.replace(STP.statement, header="")
    sampling = msgspec.structs.replace(STP.sampling, max_tokens=8)
    template = msgspec.structs.replace(STP, template="{header}{statement}", statement=form, sampling=sampling)
    assert conjecturer_prompt(template, SEED).text.startswith("<lemma>")
    return template
