"""How a batch of transitions is divided among ranks and packed into forward passes."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from node.learner.trainer.messages import ComputeConfig, StartConfig
from node.learner.trainer.worker import ROW, RankWorker, micro_batches, row_length, share
from node.model import checkpoint, weights
from node.model.config import ModelConfig
from node.model.tokenizer import PAD, Tokenizer
from node.model.trained import NO_PROOFS, PROOFS_KEY, why_no_proofs
from node.training.device import started
from node.training.documents import Document
from node.training.packing import PackedBatch
from tests.node.model.tiny import TEXTS, tiny_model

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


@pytest.mark.parametrize("prefix_lm", [False, True])
def test_passes_hold_every_document_once_within_the_budget(prefix_lm: bool) -> None:
    whole = documents(40)
    passes = micro_batches(whole, replace(SHAPE, prefix_lm=prefix_lm), 1024)
    assert tokens(passes) == sorted(token for each in whole for token in each.tokens)
    assert len(passes) > 1 and all(each.tokens.numel() <= 1024 for each in passes)
    assert sum(each.count for each in passes) == len(whole)


def test_packing_leaves_little_padding() -> None:
    whole = documents(64, longest=120)
    passes = micro_batches(whole, SHAPE, 8192)
    assert sum(each.tokens.numel() for each in passes) < 1.15 * sum(each.used for each in passes)


def test_a_row_has_room_for_the_longest_document_and_at_most_the_context() -> None:
    assert row_length(40, 512) == ROW
    assert row_length(ROW + 1, 512) == ROW + 64
    assert row_length(500, 512) == 512
    assert row_length(90, 100) == 100


def test_a_rank_without_documents_has_no_passes() -> None:
    assert micro_batches([], SHAPE, 1024) == []


@pytest.mark.parametrize("proofs", [True, False])
def test_what_a_network_has_learned_of_proofs_is_not_lost_in_reinforcement_learning(
    tmp_path: Path, proofs: bool
) -> None:
    marks = Tokenizer.train(TEXTS * 20, 330, roles=True)
    config = {PROOFS_KEY: True} if proofs else {}
    model = tiny_model(vocab_size=marks.vocab_size)
    checkpoint.save(tmp_path / "step-000001", model, marks, step=1, config=config)
    start = StartConfig(str(tmp_path / "step-000001"), False, 1024, 0.01, 0.01, 1, 0.001)
    with started(ComputeConfig(device="cpu", bf16="off", threads=1)) as device:
        worker = RankWorker(start, device)
        worker.write_weights(tmp_path / "w.safetensors", {"version": "2"})
        worker.save(tmp_path / "step-000002")
    says = "" if proofs else NO_PROOFS
    assert [why_no_proofs(tmp_path / name) for name in ("w.safetensors", "step-000002")] == [says, says]
    read = weights.read(tmp_path / "w.safetensors").information
    assert read == {"version": "2", **({PROOFS_KEY: "yes"} if proofs else {})}
