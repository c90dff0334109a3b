"""Every tactic that pocket Lean promises: proofs that it accepts, and ones that it must refuse."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.node.lean.toolchain.pocket import cases

Each = Callable[[list[str]], list[list[Any]]]


@pytest.fixture(scope="module")
def accepted(elaborate_each: Each) -> dict[str, list[Any]]:
    return dict(zip(cases.ACCEPTED, elaborate_each(list(cases.ACCEPTED.values())), strict=True))


@pytest.fixture(scope="module")
def refused(elaborate_each: Each) -> dict[str, list[Any]]:
    return dict(zip(cases.REFUSED, elaborate_each([text for text, _ in cases.REFUSED.values()]), strict=True))


@pytest.mark.parametrize("name", cases.ACCEPTED)
def test_accepts(name: str, accepted: dict[str, list[Any]]) -> None:
    assert [message for message in accepted[name] if message.severity == "error"] == []
    assert not any("sorry" in message.text for message in accepted[name])


@pytest.mark.parametrize("name", cases.REFUSED)
def test_refuses(name: str, refused: dict[str, list[Any]]) -> None:
    errors = [message.text for message in refused[name] if message.severity == "error"]
    assert any(cases.REFUSED[name][1] in text for text in errors), errors
