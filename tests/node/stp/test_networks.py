"""Networks of self-play: conjectures over the broker, and statements as vectors."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from common.bus import Bus, BusSettings, Unanswered
from common.lean import Theorem
from node.bank import statements
from node.model import weights, weights as weights_file
from node.model.names import StatementNames
from node.model.prompt import unnamed, written_conjecture
from node.model.tokenizer import BOS, LEAN
from node.model.weights import Weights
from node.stp import embedding
from node.stp.embedding import batches, embeddings, vectors_of
from node.stp.network import Question, conjecture
from node.stp.records import Lemma, Seed, StpError
from tests.node.inference.writers import writer
from tests.node.model.tiny import role_tokenizer, tiny_model, tiny_weights
from tests.node.prover.nodes import inference_node
from tests.node.training.conjecturer import CONJECTURES, trained_conjecturer

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
    model = tiny_model(0, ends=10.0, vocab_size=role_tokenizer().vocab_size, context=320)
    weights.write(file, model, role_tokenizer(), {"proofs": "yes", "conjectures": "yes"})
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
