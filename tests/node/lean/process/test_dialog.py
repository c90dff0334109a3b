"""The child that reads compiled files: one that cannot start says nothing about a proof."""

import asyncio

import pytest

from common.lean import Theorem
from node.lean.check.verify.verifier import VerificationFailed, Verifier
from node.lean.process import dialog
from node.lean.process.fresh import Limits, NotStarted
from node.lean.toolchain.lean_toolchain import LeanToolchain

HONEST = Theorem("t", "(p : Prop)", "p → p"), "exact fun h => h"


@pytest.mark.process
async def test_a_child_without_its_modules_is_told_apart_from_data_that_is_too_much() -> None:
    child = dialog.Dialog("node.lean.nowhere", Limits(seconds=20, memory_mb=512))
    with pytest.raises(NotStarted, match=r"cannot start"):
        await child.ask({}, dict)


@pytest.mark.lean
async def test_a_proof_is_not_rejected_because_its_judge_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where packages are installed for one process and not for its children."""
    monkeypatch.setattr(dialog, "_START", "import a_package_that_is_not_there")
    verifier = Verifier(LeanToolchain.pocket(), at_once=1, seconds=60, memory_mb=2048)
    try:
        for failed in await asyncio.gather(*(verifier.verify_many([HONEST] * n) for n in (1, 2))):
            assert all(isinstance(each, VerificationFailed) and "cannot start" in str(each) for each in failed)
    finally:
        await verifier.stop()
