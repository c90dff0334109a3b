"""A checkpoint's weights on their way to the inference nodes of a run: real broker, real nodes."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from common.bus import Bus, BusSettings, NotThere
from common.protocol.messages import WeightsState
from common.settings import Sampling
from node.model import checkpoint
from node.model.checkpoint_folders import CheckpointError
from node.play import mesh as play, serving
from node.play.serving import ServingError, publish as serve
from tests.node.model.tiny import role_tokenizer as tokenizer, tiny_model
from tests.node.prover.nodes import inference_node
from tests.node.stp.mesh import FALSE, SWAP, prover, proving_on, task, told

pytestmark = [pytest.mark.process, pytest.mark.compute]


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


async def test_versions_follow_each_other_and_the_same_one_again_changes_nothing(
    bus: Bus, written_here: None, tmp_path: Path
) -> None:
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
        assert [each.statistics.tokens for each in sorted(pinned, key=lambda each: each.attempt_id)] == [
            each.statistics.tokens for each in sorted(again, key=lambda each: each.attempt_id)
        ], "the same seeds, the same samples"
        async with proving_on(bus, weights=2, sampling=cold, at_once=8) as proving:
            likeliest = [result async for result in proving.attempts(tasks[:4])]
        for result in likeliest:
            wasted = result.statistics.duplicates + result.statistics.without_proof
            assert wasted >= 15, "the likeliest proof alone"
        assert any(each.statistics.duplicates + each.statistics.without_proof < 15 for each in pinned)
