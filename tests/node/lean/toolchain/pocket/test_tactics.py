"""Every tactic that pocket Lean promises: proofs that it accepts, and ones that it must refuse."""

from collections.abc import Callable
from typing import Any

from tests.node.lean.toolchain.pocket import cases

Each = Callable[[list[str]], list[list[Any]]]


def test_it_accepts(elaborate_each: Each) -> None:
    for name, messages in zip(cases.ACCEPTED, elaborate_each(list(cases.ACCEPTED.values())), strict=True):
        assert [message for message in messages if message.severity == "error"] == [], name
        assert not any("sorry" in message.text for message in messages), name


def test_it_refuses(elaborate_each: Each) -> None:
    outcomes = elaborate_each([text for text, _ in cases.REFUSED.values()])
    for (name, (_, word)), messages in zip(cases.REFUSED.items(), outcomes, strict=True):
        errors = [message.text for message in messages if message.severity == "error"]
        assert any(word in text for text in errors), (name, errors)
