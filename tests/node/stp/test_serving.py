"""Networks of self-play, and new weights on their way to the inference nodes of a mesh: real broker, real nodes."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from common.bus import Bus, BusSettings, NotThere, Unanswered
from common.lean import Theorem
from common.life.context import NodeContext
from common.life.pulse import stay_registered
from common.protocol.attempts import SELF_PLAY
from common.protocol.messages import ModelState, WeightsState
from common.settings import Sampling
from node.bank import statements
from node.inference.models import KEY
from node.llm.address import parse_address, parse_hub_address
from node.llm.settings import HubSettings, ModelSettings
from node.llm.templates import load
from node.model import checkpoint, weights as weights_file
from node.model.checkpoint_folders import CheckpointError
from node.model.names import StatementNames
from node.model.prompt import unnamed, written_conjecture
from node.model.tokenizer import BOS, LEAN
from node.model.weights import Weights
from node.play import mesh as play, serving
from node.play.mesh import MeshAttempts
from node.play.serving import ServingError, announce, publish as serve
from node.stp import embedding
from node.stp.embedding import batches, embeddings, vectors_of
from node.stp.model import Model, conjecturer_prompt
from node.stp.network import Network, Question, conjecture
from node.stp.records import Lemma, Seed, StpError
from tests.node.inference.writers import writer
from tests.node.llm.server import Administration, Server, administered, running
from tests.node.model.tiny import role_tokenizer as tokenizer, tiny_model, tiny_weights
from tests.node.prover.nodes import inference_node, model_node
from tests.node.stp.examples import COMM, EASY
from tests.node.stp.mesh import FALSE, SWAP, prover, proving_on, task, told
from tests.node.training.conjecturer import CONJECTURES, trained_conjecturer


def proving_network(folder: Path, seed: int) -> Path:
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
    first, second = proving_network(tmp_path, 1), proving_network(tmp_path, 2)
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
    await serve(bus, proving_network(tmp_path, 1), 1)
    monkeypatch.undo()
    old = await state(bus)
    damaged = proving_network(tmp_path, 2)
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
    await serve(bus, proving_network(tmp_path, 1), 1)
    hot, cold = Sampling(temperature=1.0), Sampling(temperature=0.0)
    async with inference_node(bus, broker), prover(bus, policy="inference"), asyncio.timeout(120):
        tasks = [task(theorem, 16, seed, f"-{seed}") for seed in range(4) for theorem in (SWAP, FALSE)]
        async with proving_on(bus, sampling=hot, at_once=8) as proving:
            results = []
            async for result in proving.attempts(tasks):
                results.append(result)
                if len(results) == 2:
                    await serve(bus, proving_network(tmp_path, 2), 2)
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
QUESTION = Question(SEED, 3, rng_seed=5, weights=1, temperature=1.0, patience=60.0)


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


def weights_folder(folder: Path, name: str, kind: str = "config.json") -> Path:
    """A folder that looks like a model, or like an adapter."""
    (folder / name).mkdir()
    (folder / name / kind).write_text("{}")
    (folder / name / "adapter_model.safetensors").write_bytes(b"")
    return folder / name


async def test_weights_are_on_all_servers_before_the_run_goes_on(bus: Bus, broker: BusSettings, tmp_path: Path) -> None:
    one, two = (Administration(), Server()), (Administration(), Server())
    async with administered(one, two) as urls, following(bus, broker, f"openai:{urls}#prover", follow="runs"):
        address = parse_address(f"openai:{urls}#prover")
        for version in (1, 2):
            folder = weights_folder(tmp_path, f"round-{version}")
            assert await announce(bus, address, parse_hub_address(str(folder)), version) == "openai:prover"
            for administration, _ in (one, two):
                assert (administration.weights, administration.version) == (str(folder), f"{bus.run}-{version}")
        with pytest.raises(ServingError, match="cannot be version"):
            await announce(bus, address, parse_hub_address(str(tmp_path / "round-1")), 1)
        two[0].refuses = "/collective_rpc"
        with pytest.raises(ServingError, match=r"-3 could not be loaded into the servers: .*CUDA out of memory"):
            await announce(bus, address, parse_hub_address(str(weights_folder(tmp_path, "round-3"))), 3)
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
                weights_folder(tmp_path, folder.name, "adapter_config.json")
            server.model = f"prover-{bus.run}-{version}"
            name = await announce(bus, address, parse_hub_address(f"base+{folder}"), version)
            assert name == node.facts.model == f"openai:{server.model}"
            assert administration.adapters == {server.model: str(folder)}


async def test_an_inference_node_that_does_not_follow_is_named(
    bus: Bus, broker: BusSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "PATIENCE", 0.3)
    folder = parse_hub_address(str(weights_folder(tmp_path, "round-1")))
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
            texts.append(await network.conjecture(place, replace(QUESTION, weights=version)))
        assert texts[0] == texts[1], "the weights are the same, and so are the seeds"
        assert len(texts[0]) == 3 and all(each.tokens <= 8 for each in texts[0])
        stale = Network({}, 1.0, Model(address, address, short, "stp"))
        with pytest.raises(StpError):
            await stale.conjecture(place, replace(QUESTION, weights=2, patience=0.1))
    vectors = await asyncio.to_thread(network.embed, first, [EASY.signature, SEED.lemma.statement, EASY.signature])
    assert vectors.shape == (3, 32) and (vectors[0] == vectors[2]).all() and (vectors[0] != vectors[1]).any()
    assert (abs((vectors**2).sum(1) - 1) < 1e-5).all()


def _short_template():
    """For a model with a context of 256 tokens, which are letters for the most part."""
    import msgspec

    form = msgspec.structs.replace(STP.statement, header="")
    sampling = msgspec.structs.replace(STP.sampling, max_tokens=8)
    template = msgspec.structs.replace(STP, template="{header}{statement}", statement=form, sampling=sampling)
    assert conjecturer_prompt(template, SEED).text.startswith("<lemma>")
    return template


# --- conjectures over the broker, and statements as vectors -----------------------------------------------------------
SEEDS = [
    Seed(statements.theorem(row["statement"]), row["proof"], Lemma(row["lemma"].split()[1], row["lemma"]))
    for row in CONJECTURES
]
LEARNED = [written_conjecture(row["conjecture"]) for row in CONJECTURES]


def question(seed: Seed = SEEDS[0], samples: int = 2, weights: int = 160, patience: float = 30.0) -> Question:
    return Question(seed, samples, rng_seed=1, weights=weights, temperature=0.0, patience=patience)


@pytest.mark.slow
async def test_a_network_that_has_learned_conjectures_gives_them(broker: BusSettings, bus: Bus, tmp_path: Path) -> None:
    async with inference_node(bus, broker, str(trained_conjecturer(tmp_path))):
        found = [await conjecture(bus, question(seed)) for seed in SEEDS]
    for outputs, learned in zip(found, LEARNED, strict=True):
        assert [(each.text, each.complete) for each in outputs] == [(learned, True)] * 2
        assert all(5 < each.tokens < 100 for each in outputs)


async def test_conjectures_come_from_an_inference_node(broker: BusSettings, bus: Bus, tmp_path: Path) -> None:
    """The weights are random: what they write is no statement."""
    file = tmp_path / "weights.safetensors"
    model = tiny_model(0, ends=10.0, vocab_size=tokenizer().vocab_size, context=320)
    weights_file.write(file, model, tokenizer(), {"proofs": "yes", "conjectures": "yes"})
    with pytest.raises(Unanswered):
        await conjecture(bus, question(samples=1, weights=1, patience=0.2))
    async with inference_node(bus, broker, str(file)) as first:
        found = [await conjecture(bus, question(seed, weights=first.weights)) for seed in SEEDS for _ in range(2)]
        assert found[0] == found[1] != found[2] == found[3]
        assert all(len(outputs) == 2 and outputs[0] == outputs[1] and outputs[0].tokens for outputs in found)
        long = Seed(Theorem("long", "", " ∧ ".join(["True"] * 200)), "trivial", SEEDS[0].lemma)
        assert await conjecture(bus, question(long, weights=first.weights)) == []
        endless = Seed(Theorem("endless", "", "True"), "-- " + "x" * 600_000, SEEDS[0].lemma)
        assert await conjecture(bus, question(endless, weights=first.weights)) == []
        with pytest.raises(StpError, match="99 samples asked for; this network gives 1 to 8 at once"):
            await conjecture(bus, question(samples=99, weights=first.weights))


# --- statements as vectors --------------------------------------------------------------------------------------------
STATEMENTS = [
    "theorem a (p q : Prop) : p ∧ q → q ∧ p",
    "theorem b (n : Nat) : n + 0 = n",
    "theorem c : True",
    "theorem d (x y : Prop) : x ∧ y → y ∧ x",
    f"theorem long (p : Prop) : {'p ∧ ' * 400}p",
]


def alone(weights: Weights, statement: str) -> np.ndarray:
    """By the definition, one statement at a time."""
    ids = weights.tokenizer.encode(StatementNames(unnamed(statement)).state)
    tokens = torch.tensor([[BOS, LEAN, *ids][: weights.model.config.context]])
    with torch.inference_mode():
        mean = weights.model.hidden(tokens)[0, 2:].mean(0)
    found: np.ndarray = (mean / mean.norm()).numpy()
    return found


def test_a_vector_is_the_mean_of_the_last_states_at_unit_length(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = writer()
    whole = vectors_of(weights, STATEMENTS)
    assert whole.shape == (5, weights.model.config.width) and whole.dtype == np.float32
    assert np.allclose(np.linalg.norm(whole, axis=1), 1.0, atol=1e-6)
    for statement, vector in zip(STATEMENTS, whole, strict=True):
        assert np.allclose(vector, alone(weights, statement), atol=1e-5)
    monkeypatch.setattr(embedding, "BATCH_TOKENS", 1)
    assert np.allclose(vectors_of(weights, STATEMENTS), whole, atol=1e-5)
    assert vectors_of(weights, []).shape == (0, weights.model.config.width)


def test_batches_hold_every_statement_once_and_few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "BATCH_TOKENS", 20)
    lengths = [3, 50, 7, 7, 1, 10, 10]
    found = list(batches(lengths))
    assert found[0] == [1] and sorted(index for batch in found for index in batch) == list(range(7))
    assert all(max(lengths[index] for index in batch) * len(batch) <= 20 for batch in found[1:])


def test_networks_that_give_no_vectors_say_why() -> None:
    with pytest.raises(StpError, match="no marks of roles"):
        vectors_of(tiny_weights(), STATEMENTS)
    broken = replace(writer(seed=1), model=writer(seed=1).model)
    with torch.no_grad():
        broken.model.blocks[0].feed_forward.up.weight.fill_(torch.nan)  # type: ignore[union-attr]
    with pytest.raises(StpError, match="not finite"):
        vectors_of(broken, STATEMENTS)


@pytest.mark.process
def test_a_checkpoint_that_is_not_there_is_one_line_and_the_caller_needs_no_torch(tmp_path: Path) -> None:
    with pytest.raises(StpError, match=r"^.*gone.safetensors: there is no such weights file$"):
        embeddings(tmp_path / "gone.safetensors", STATEMENTS)
    code = "import sys, node.stp.embedding, node.stp.network; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_bad_checkpoint_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = tmp_path / "weights.safetensors"
    weights_file.write(checkpoint, writer().model, writer().tokenizer)
    given = tmp_path / "statements.json"
    given.write_text(json.dumps(STATEMENTS), encoding="utf-8")
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    folder = tmp_path / "step-000001"
    folder.mkdir()
    for bad, says in ((checkpoint, "not a complete safetensors file"), (folder, "step-000001")):
        assert embedding.main([str(bad), str(given), str(tmp_path / "out.npy")]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert says in line
