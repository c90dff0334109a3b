"""The cheats of docs/cheats.md against `serve`'s judge, with real Lean: with the task's statement, and without."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from node.lean.snippets.judge import FileJudge, NoJudgement
from node.lean.snippets.snippet import Snippet, Verdict
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.rewards.cheats import CHEATS, FALSE, HONEST, Cheat

pytestmark = pytest.mark.lean

TRUE_AS_STATED = {
    "a hypothesis in the statement",
    "another statement",
    "another name",
    "a look-alike name",
    "no theorem at all",
}
"""Proofs of what they state. Only a comparison with the task's statement shows that they prove something else."""

VARIANTS = (
    Cheat(
        "`=` with another meaning, by an escaped atom",
        f'local infix:50 (priority := 9999) " \\x3d " => fun (_ _ : Nat) => True\n{FALSE} := by\n  trivial',
    ),
    Cheat(
        "`#exit` behind another theorem",
        f"theorem other : True := by\n  trivial\n\ntheorem more : True := trivial\n#exit\n{FALSE} := by\n  rfl",
    ),
)
"""Variants of the cheats, with what they are about."""


@pytest.fixture
async def judge() -> AsyncIterator[FileJudge]:
    judge = FileJudge(LeanToolchain.pocket(), at_once=2, seconds=60, memory_mb=1024)
    yield judge
    await judge.close()


ALL = (HONEST, *CHEATS, *VARIANTS)

SAMPLE = (HONEST, VARIANTS[0])
AS_STATED = (*(each for each in CHEATS if each.name == "another statement"), VARIANTS[0])
"""For what the whole of the cheats is shown to in the slow tests."""


async def verdicts(judge: FileJudge, rows: Sequence[Cheat], *, compared: bool) -> dict[str, Verdict]:
    async def verdict(cheat: Cheat) -> Verdict:
        try:
            return (await judge.judge(Snippet(cheat.code, 60, against=cheat.statement if compared else ""))).verdict
        except NoJudgement as error:
            return Verdict(False, reason=str(error))

    found = await asyncio.gather(*map(verdict, rows))
    return {row.name: each for row, each in zip(rows, found, strict=True)}


some_and_all = pytest.mark.parametrize("rows", [SAMPLE, pytest.param(ALL, marks=pytest.mark.slow)], ids=["some", "all"])


@some_and_all
async def test_no_cheat_proves_the_statement_of_its_task(judge: FileJudge, rows: Sequence[Cheat]) -> None:
    found = await verdicts(judge, rows, compared=True)
    assert {name for name, each in found.items() if each.accepted} == {HONEST.name}
    assert all(each.reason for name, each in found.items() if name != HONEST.name)


@pytest.mark.parametrize("rows", [AS_STATED, pytest.param(ALL, marks=pytest.mark.slow)], ids=["some", "all"])
async def test_without_that_statement_only_what_is_proved_as_stated_counts(
    judge: FileJudge, rows: Sequence[Cheat]
) -> None:
    found = await verdicts(judge, rows, compared=False)
    true = {row.name for row in rows} & {HONEST.name, *TRUE_AS_STATED}
    assert {name for name, each in found.items() if each.accepted} == true


@some_and_all
async def test_behind_module_only_the_honest_proof_is_accepted_too(judge: FileJudge, rows: Sequence[Cheat]) -> None:
    modules = [replace(each, code=f"module\npublic section\n{each.code}") for each in rows]
    found = await verdicts(judge, modules, compared=True)
    assert {name for name, each in found.items() if each.accepted} == {HONEST.name}
