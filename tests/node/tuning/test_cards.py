"""Model cards: the command that they print is one that there is."""

from __future__ import annotations

import re
import shlex
from types import SimpleNamespace
from typing import Any

import pytest

from node.tuning import grpo, sft as card
from node.tuning.settings import GrpoSettings, SftSettings
from tests.parsing import refusal_of

pytestmark = pytest.mark.compute  # imports transformers

SUMMARY = {
    "examples": 9, "steps": 3, "tokens": 99, "held_out_loss_before": 2.0, "held_out_loss": 1.0, "kind": "lean",
    "reward_first": 0.1, "reward_last": 0.2, "use": "hf:models/small-llama+runs/first/model",
}  # fmt: skip

BASE: Any = SimpleNamespace(address="hf:models/small-llama", template=SimpleNamespace(name="own"))


@pytest.mark.parametrize(
    "text",
    [
        card.card(BASE, SftSettings(model="models/small-llama"), SUMMARY),
        grpo._card(BASE, GrpoSettings(model="models/small-llama"), SUMMARY),
    ],
    ids=["hf-sft", "grpo"],
)
def test_the_command_of_a_card_is_taken(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = re.findall(r"Use: `proofmesh ([^`]+)`", text)
    assert refusal_of(shlex.split(line), monkeypatch) == ""
