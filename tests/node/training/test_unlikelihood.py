"""The unlikelihood loss of failed tactics: its value, its gradient, and what it leaves alone."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from common.protocol.attempts import Transition
from node.model.transformer import Transformer
from node.training.documents import Document, Room, failed_documents, transition_document
from node.training.loader import collate
from node.training.objective import (
    LEAST_NATS,
    MOST_PULL,
    Objective,
    Totals,
    log_probabilities,
    report,
    unlikelihood_loss,
)
from node.training.settings import LossSettings
from tests.node.model.tiny import tiny_model, tiny_tokenizer

STATE = "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
PROVED = Transition(STATE, "exact ⟨h.2, h.1⟩", 1, ("exact h", "simp", "exact ⟨h.1, h.2⟩"))
LENGTH = 160


def pieces() -> tuple[list[Document], list[Document]]:
    """The document of the proof's tactic, and those of the failed ones."""
    tokenizer = tiny_tokenizer()
    room = Room(LENGTH)
    return [transition_document(tokenizer, PROVED, room)], list(failed_documents(tokenizer, PROVED, room))


def probabilities(model: Transformer, documents: list[Document]) -> list[float]:
    """p(tactic | state) of each document."""
    plain = [(replace(document, failed=False),) for document in documents]
    return log_probabilities(model, collate(plain, LENGTH)).exp().tolist()


def totals(documents: list[Document]) -> Totals:
    return Totals(sum(each.predicted for each in documents), len(documents))


@pytest.mark.parametrize("softcap", [0.0, 2.0])
def test_loss_and_gradient_are_those_of_autograd(softcap: float) -> None:
    owner = torch.tensor([0, 0, 1, 2, 2, 2, 2])
    targets = torch.randint(0, 20, (7,), generator=torch.Generator().manual_seed(3))
    parts = []
    for naive in (False, True):
        states = torch.randn(7, 8, generator=torch.Generator().manual_seed(1), requires_grad=True)
        matrix = torch.randn(20, 8, generator=torch.Generator().manual_seed(2), requires_grad=True)
        if naive:
            logits = states @ matrix.T
            logits = softcap * torch.tanh(logits / softcap) if softcap else logits
            chosen = logits.log_softmax(1)[range(7), targets]
            logs = torch.stack([chosen[owner == number].sum() for number in range(3)])
            loss = -(1 - logs.exp()).log().sum()
        else:
            loss, logs = unlikelihood_loss(states, matrix, targets, owner, 3, softcap)
        (2 * loss).backward()  # type: ignore[no-untyped-call]
        parts.append((loss, logs, states.grad, matrix.grad))
    for ours, theirs in zip(*parts, strict=True):
        assert ours is not None and theirs is not None
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_a_certain_failure_has_a_finite_loss_and_a_bounded_gradient() -> None:
    states = torch.tensor([[200.0, 0.0]], requires_grad=True)
    matrix = torch.eye(2, requires_grad=True)
    place = torch.zeros(1, dtype=torch.int64)
    loss, logs = unlikelihood_loss(states, matrix, place, place, 1, 0.0)
    loss.backward()  # type: ignore[no-untyped-call]
    assert float(logs) == 0.0 and float(loss.detach()) == pytest.approx(math.log(1 + MOST_PULL))
    assert states.grad is not None and bool(states.grad.isfinite().all())
    # At the limit itself the gradient is that of the formula: p / (1 - p) · (1 - p) = p for the logit of the token.
    even = torch.tensor([[0.0, math.log(math.expm1(LEAST_NATS))]], requires_grad=True)
    unlikelihood_loss(even, torch.eye(2), place, place, 1, 0.0)[0].backward()  # type: ignore[no-untyped-call]
    assert even.grad is not None and float(even.grad[0, 0]) == pytest.approx(math.exp(-LEAST_NATS), rel=1e-4)


def test_failed_tactics_change_no_other_metric() -> None:
    model = tiny_model(context=LENGTH)
    proved, failed = pieces()
    settings = LossSettings(unlikelihood=0.5)
    objective = Objective(model, settings)
    _, plain = objective(collate([tuple(proved)], LENGTH), totals(proved))
    loss, sums = objective(collate([(each,) for each in proved + failed], LENGTH), totals(proved))
    before, after = report(plain, settings), report(sums, settings)
    added = after.pop("unlikelihood_loss"), after.pop("failed_probability")
    naive = probabilities(model, failed)
    assert added == pytest.approx((-sum(math.log1p(-p) for p in naive) / 3, sum(naive) / 3), rel=1e-4)
    assert after.pop("loss") == pytest.approx(before.pop("loss") + 0.5 * 3 * added[0] / before["tokens"])
    assert after == pytest.approx(before, rel=1e-5)
    assert float(loss.detach()) == pytest.approx(report(sums, settings)["loss"], rel=1e-4)


def replace_failed(transition: Transition) -> Transition:
    return Transition(transition.state, transition.tactic, transition.remaining_steps)


def test_a_failed_tactic_that_reads_like_the_proof_is_left_out() -> None:
    twin = Transition(STATE, "exact ⟨h.2, h.1⟩", 1, ("exact ⟨h.2, h.1⟩", "simp"))
    assert len(failed_documents(tiny_tokenizer(), twin, Room(LENGTH))) == 1
    assert failed_documents(tiny_tokenizer(), replace_failed(PROVED), Room(LENGTH)) == ()
