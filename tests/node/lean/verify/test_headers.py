"""Kept headers: a proof is compiled without an import of its header, and gets the verdict that it gets with one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.lean import Theorem
from node.command.cli import main
from node.lean.check.verify import checks, headers, kernel
from node.lean.check.verify.checks import PROOF, STATEMENT
from node.lean.check.verify.headers import LOAD, SAVE, KeptHeaders
from node.lean.check.verify.kernel import OPTIONS
from node.lean.process.fresh import FinishedProcess, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.conftest import Called
from tests.node.lean.cheats import BY_LEAN
from tests.node.lean.olean.forging import compile_text
from tests.node.lean.verify.recorded import opened

pytestmark = pytest.mark.lean

NEAR = Theorem("t", "(n : Nat)", "near n ≤ n + 1")
HONEST = "unfold near\nexact Nat.le_refl _"
WRONG = "exact Nat.le_refl _ n"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Lean compiles or saves from here on: `statement`, `proof`, `save`; `proof kept` starts from a state."""
    seen: list[str] = []

    async def run(command: Sequence[str], **more: Any) -> FinishedProcess:
        text = " ".join(command)
        for mark, name in ((STATEMENT, "statement"), (PROOF, "proof"), (SAVE, "save")):
            if mark in text:
                seen.append(f"{name} kept" if LOAD in text else name)
        return await run_fresh(command, **more)

    for module in (kernel, headers):
        monkeypatch.setattr(module, "run_fresh", run)
    monkeypatch.setattr(checks, "HEAVY_SECONDS", 0.0)
    return seen


@pytest.fixture
async def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LeanToolchain:
    """A Lean whose header imports a module of the test, with a cache of its own."""
    pocket = LeanToolchain.pocket()
    monkeypatch.setattr(headers, "cache_directory", lambda: tmp_path / "cache")
    (tmp_path / "library").mkdir()
    await compile_text("def near (n : Nat) : Nat := n + 1\n", tmp_path / "library", "Near")
    environment = pocket.with_modules([tmp_path / "library"])
    return replace(pocket, environment=environment, default_header="import Near\nopen Nat")


async def kept(toolchain: LeanToolchain) -> Path:
    """The folder of the state, which a verifier has kept."""
    begun: list[int] = []
    async with opened(toolchain) as verifier:
        await verifier.prepare(NEAR)
        await verifier.single.keep_header(NEAR, lambda: begun.append(1))
        await verifier.single.keep_header(NEAR, lambda: begun.append(1))
    assert begun == [1]
    found = await KeptHeaders(toolchain, OPTIONS).find(toolchain.header(""))
    assert found is not None
    return found.folder


async def test_a_proof_starts_from_the_kept_state_and_its_statement_never(library: LeanToolchain, runs: list[str]):
    async with opened(library) as verifier:
        assert (await verifier.verify(NEAR, HONEST)).accepted
        assert sorted(runs) == ["proof", "statement"]
        refused = await verifier.verify(NEAR, WRONG)
    runs.clear()
    await kept(library)
    assert runs == ["statement", "save"]
    runs.clear()
    # Another process, later.
    async with opened(library) as verifier:
        await verifier.prepare(NEAR)
        starts = verifier.single._judge._kernel.starts
        reply = await verifier.verify(NEAR, HONEST)
        assert (reply.accepted, reply.axioms, reply.rechecked) == (True, (), True)
        assert runs == ["statement", "proof kept"]
        assert starts == verifier.single._judge._kernel.starts == 1, "the kernel's process loads the library meanwhile"
        # What is refused is compiled again behind a true import, and so is each cheat.
        runs.clear()
        again = await verifier.verify(NEAR, WRONG)
        assert (again.accepted, again.reason) == (False, refused.reason)
        assert runs == ["proof kept", "proof"]
        for (theorem, cheat, reason), *_ in BY_LEAN.values():
            assert reason in (await verifier.verify(theorem, cheat)).reason


@pytest.mark.parametrize("damage", ["a module has changed", "the state is damaged"])
async def test_a_state_that_does_not_fit_any_more_goes_and_costs_time_and_no_proof(
    library: LeanToolchain, runs: list[str], tmp_path: Path, damage: str
):
    folder, is_damaged = await kept(library), damage == "the state is damaged"
    if is_damaged:
        os.truncate(folder / headers.STATE, 10_000)
    else:
        await compile_text("def near (n : Nat) : Nat := n + 2\n", tmp_path / "library", "Near")
    runs.clear()
    async with opened(library) as verifier:
        assert (await verifier.verify(NEAR, HONEST)).accepted is is_damaged
    assert sorted(runs) == ["proof", *["proof kept"] * is_damaged, "statement"]
    assert not folder.exists()


async def test_what_is_not_kept(library: LeanToolchain, runs: list[str], tmp_path: Path):
    states = KeptHeaders(library, OPTIONS)
    for header in ("", "open Nat", "import Near -- and more", "import Near #eval 1", "module\nimport Near"):
        await states.keep(header, 60)
        assert await states.find(header) is None
    assert runs == []
    await states.keep("import Nowhere", 60)
    assert await states.find("import Nowhere") is None
    cannot = KeptHeaders(replace(library, command=("true",)), OPTIONS)
    await cannot.keep("import Near", 60)
    assert runs == ["save"], "it is known beforehand that another program does not save"
    assert [*(tmp_path / "cache" / "headers").iterdir()] == []


async def test_only_the_last_used_states_stay(library: LeanToolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(headers, "MOST_KEPT", 1)
    states = KeptHeaders(library, OPTIONS)
    first, second = "import Near", "import Near\nimport Init"
    await states.keep(first, 60)
    left = tmp_path / "cache" / "headers" / f"{headers.SAVING}killed"
    left.mkdir()
    os.utime(left, (0, 0))
    await states.keep(second, 60)
    assert await states.find(first) is None
    found = await states.find(second)
    assert found is not None and [*found.folder.parent.iterdir()] == [found.folder]


PROVE = "prove", "theorem t (n : Nat) : near n = n + 1", "--lean.imports", "Near", "--fixed", "--lean.modules"


def test_the_second_prove_with_a_header_compiles_its_proof_without_an_import(
    library: LeanToolchain, runs: list[str], tmp_path: Path, called: Called
):
    for expected in (["proof", "save", "statement"], ["proof kept", "statement"]):
        answer = called(main, *PROVE, tmp_path / "library")
        assert answer.code == 0 and answer.out.startswith("theorem t"), answer
        assert sorted(runs) == expected
        assert ("saving Lean's state" in answer.err) == ("save" in expected)
        runs.clear()


def test_who_interrupts_the_saving_has_the_answer_and_its_exit_code(
    library: LeanToolchain, runs: list[str], tmp_path: Path, called: Called, monkeypatch: pytest.MonkeyPatch
):
    async def interrupted(*_: object) -> bool:
        raise asyncio.CancelledError

    monkeypatch.setattr(KeptHeaders, "_saved", interrupted)
    answer = called(main, *PROVE, tmp_path / "library")
    assert (answer.code, answer.err.split("\n")[-2]) == (0, "not saved")
    assert answer.out.startswith("theorem t")
    assert [*(tmp_path / "cache" / "headers").iterdir()] == []
