"""How a batch of transitions is divided among ranks and packed into forward passes."""

import random
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from common.protocol.attempts import Transition
from common.records import transitions
from node.learner.settings import TrainerSettings
from node.learner.trainer.group import ResilientTrainer
from node.learner.trainer.messages import ComputeConfig, RankCommand, StartConfig, by_file
from node.learner.trainer.rank import carry_out
from node.learner.trainer.worker import RankWorker, micro_batches, share
from node.model import checkpoint, weights
from node.model.checkpoint_folders import NO_PROOFS, PROOFS_KEY, why_no_proofs
from node.model.config import ModelConfig
from node.model.tokenizer import PAD
from node.training.documents import Document, Room, transition_document
from node.training.loader import PackedBatch
from node.training.trainer import RankDevice, share_cores, started, weights_of
from tests.node.model.tiny import role_tokenizer, tiny_model

pytestmark = pytest.mark.compute

SHAPE = ModelConfig(vocab_size=400, context=512)


def documents(count: int, longest: int = 200) -> list[Document]:
    """Documents whose tokens all differ from document to document."""
    rng = random.Random(count)
    sizes = [rng.randint(5, longest) for _ in range(count)]
    return [Document(tuple([5 + number] * size), 3, 1.0, 1) for number, size in enumerate(sizes)]


def tokens(batches: list[PackedBatch]) -> list[int]:
    """Every token that is not padding, sorted."""
    return sorted(token for batch in batches for token in batch.tokens.flatten().tolist() if token != PAD)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_shares_of_all_ranks_hold_every_document_once_and_are_about_equal(ranks: int) -> None:
    whole = documents(30)
    shares = [share(whole, rank, ranks) for rank in range(ranks)]
    together = [document for each in shares for document in each]
    assert sorted(each.tokens for each in together) == sorted(each.tokens for each in whole)
    sizes = [sum(len(document.tokens) for document in each) for each in shares]
    assert max(sizes) < 1.2 * min(sizes)


def test_passes_hold_every_document_once_within_the_budget() -> None:
    whole = documents(40)
    passes = micro_batches(whole, SHAPE, 1024)
    assert tokens(passes) == sorted(token for each in whole for token in each.tokens)
    assert len(passes) > 1 and all(each.tokens.numel() <= 1024 for each in passes)
    assert sum(each.count for each in passes) == len(whole)


@pytest.mark.parametrize("proofs", [True, False])
def test_what_a_network_has_learned_of_proofs_survives_reinforcement_learning(tmp_path: Path, proofs: bool) -> None:
    marks = role_tokenizer()
    config = {PROOFS_KEY: True} if proofs else {}
    model = tiny_model(vocab_size=marks.vocab_size)
    checkpoint.save(tmp_path / "step-000001", model, marks, step=1, config=config)
    start = StartConfig(str(tmp_path / "step-000001"), False, 1024, 0.01, 0.01, 1)
    with started(ComputeConfig(device="cpu", bf16="off", threads=1)) as device:
        worker = RankWorker(start, device)
        worker.write_weights(tmp_path / "w.safetensors", {"version": "2"})
        worker.save(tmp_path / "step-000002")
    says = "" if proofs else NO_PROOFS
    assert [why_no_proofs(tmp_path / name) for name in ("w.safetensors", "step-000002")] == [says, says]
    read = weights.read(tmp_path / "w.safetensors").information
    assert read == {"version": "2", **({PROOFS_KEY: "yes"} if proofs else {})}


def worker_of(folder: Path, device: RankDevice, average_steps: float = 0.0) -> RankWorker:
    marks = role_tokenizer()
    checkpoint.save(folder / "step-000001", tiny_model(vocab_size=marks.vocab_size), marks, step=1)
    config = StartConfig(str(folder / "step-000001"), False, 1024, 0.01, 0.01, 1, average_steps=average_steps)
    return RankWorker(config, device)


def tactics(worker: RankWorker) -> list[Document]:
    """Transitions of several lengths, several in a row."""
    texts = ["h : p\n⊢ p", "⊢ True", "a b : Nat\nh : a = b\n⊢ b = a", "⊢ p → p"] * 3
    return [
        transition_document(worker.tokenizer, Transition(text * (1 + number % 3), f"exact h.{number}", 1), Room(128))
        for number, text in enumerate(texts)
    ]


def test_log_probabilities_come_in_the_order_of_the_transitions_and_add_up_to_the_loss(tmp_path: Path) -> None:
    with started(ComputeConfig(device="cpu", bf16="off", threads=1)) as device:
        worker = worker_of(tmp_path, device)
        several = tactics(worker)
        together = worker.log_probabilities(several)
        alone = [worker.log_probabilities([each])[0] for each in several]
        assert together == pytest.approx(alone, abs=1e-4) and len(set(together)) > 3
        metrics = worker.evaluate(several)
        assert -sum(together) == pytest.approx(metrics["policy_loss"] * metrics["tokens"], rel=1e-4)
        assert worker.log_probabilities([]) == []


def test_transitions_whose_tactic_is_too_long_are_left_out_and_counted(tmp_path: Path) -> None:
    long = "exact " + "]" * 90
    rows = [Transition("⊢ q", long, 1), Transition("⊢ p", "exact h", 1)]
    picks = by_file(transitions.write(tmp_path / "transitions.sqlite", rows))
    with started(ComputeConfig(device="cpu", bf16="off", threads=1)) as device:
        worker = worker_of(tmp_path, device)
        (document,) = worker.read(picks)
        assert document == transition_document(worker.tokenizer, rows[1], Room(160))
        answer = carry_out(worker, RankCommand("log-probabilities", 1, picks), worker.read(picks), "")
        assert answer.values == [None, worker.log_probabilities([document])[0]] and answer.left_out == 1
        # A batch of nothing else counts as a step, so that nobody waits for it, and changes nothing.
        before = weights_of(worker.trainer.model)
        empty = carry_out(worker, RankCommand("step", 2, [(picks[0][0], picks[0][1][:1])]), [], "")
        assert (empty.step, empty.metrics, empty.error) == (2, {}, "")
        assert all(torch.equal(tensor, before[name]) for name, tensor in weights_of(worker.trainer.model).items())
        assert "at most 80 tokens" in carry_out(worker, RankCommand("evaluate", 3), [], "").error
    # The learner's log says so once for each number.
    said: list[int] = []
    log = SimpleNamespace(info=lambda _, transitions: said.append(transitions))
    trainer = ResilientTrainer(TrainerSettings(), tmp_path, tmp_path, 1, log)
    for number in (0, 1, 1, 3):
        trainer.group.left_out = number
        trainer.say_left_out()
    assert said == [1, 3]


def test_restored_weights_act_and_are_what_training_goes_on_with(tmp_path: Path) -> None:
    with started(ComputeConfig(device="cpu", bf16="off", threads=1)) as device:
        worker = worker_of(tmp_path, device, average_steps=5.0)
        several = tactics(worker)
        worker.write_weights(tmp_path / "before.safetensors", {})
        before = worker.log_probabilities(several)
        for _ in range(3):
            worker.step(several, 1.0, average=True)
        assert worker.log_probabilities(several) != pytest.approx(before, abs=1e-3)
        worker.restore(tmp_path / "before.safetensors")
        assert worker.log_probabilities(several) == pytest.approx(before, abs=1e-5)
        metrics = worker.evaluate(several)
        assert -sum(before) == pytest.approx(metrics["policy_loss"] * metrics["tokens"], rel=1e-4)


def test_a_rank_computes_with_its_threads_or_with_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr("node.training.launch.read_machine", lambda: SimpleNamespace(cores=6))
    try:
        share_cores(2)
        assert torch.get_num_threads() == 2
        share_cores(0)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
