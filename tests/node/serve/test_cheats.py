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
    *("a hypothesis in the statement", "another statement", "another name", "a look-alike name", "no theorem at all")
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


async def verdicts(judge: FileJudge, rows: Sequence[Cheat], *, compared: bool) -> dict[str, Verdict]:
    async def verdict(cheat: Cheat) -> Verdict:
        try:
            return (await judge.judge(Snippet(cheat.code, 60, against=cheat.statement if compared else ""))).verdict
        except NoJudgement as error:
            return Verdict(False, reason=str(error))

    found = await asyncio.gather(*map(verdict, rows))
    return {row.name: each for row, each in zip(rows, found, strict=True)}


ANOTHER = tuple(each for each in CHEATS if each.name == "another statement")
SAMPLES = ((HONEST, VARIANTS[0]), (*ANOTHER, VARIANTS[0]), (HONEST,))


@pytest.mark.parametrize(
    ("compared", "alone", "in_modules"),
    [SAMPLES, pytest.param(ALL, ALL, ALL, marks=pytest.mark.slow)],
    ids=["some", "all"],
)
async def test_no_cheat_proves_the_statement_of_its_task_and_without_it_only_what_is_proved_as_stated_counts(
    judge: FileJudge, compared: Sequence[Cheat], alone: Sequence[Cheat], in_modules: Sequence[Cheat]
) -> None:
    found = await verdicts(judge, compared, compared=True)
    assert {name for name, each in found.items() if each.accepted} == {HONEST.name}
    assert all(each.reason for name, each in found.items() if name != HONEST.name)
    found = await verdicts(judge, alone, compared=False)
    true = {row.name for row in alone} & {HONEST.name, *TRUE_AS_STATED}
    assert {name for name, each in found.items() if each.accepted} == true
    modules = [replace(each, code=f"module\npublic section\n{each.code}") for each in in_modules]
    found = await verdicts(judge, modules, compared=True)
    assert {name for name, each in found.items() if each.accepted} == {HONEST.name}
