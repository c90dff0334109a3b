"""What Lean lets pass and nobody should pay for is an error message; what is proved is accepted, with its axioms; and
the cheats of docs/cheats.md, with the task's statement and without."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from node.lean.snippets.checker import make_checker
from node.lean.snippets.judge import FileJudge, NoJudgement
from node.lean.snippets.snippet import Snippet, SnippetLimits, Verdict
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.rewards.cheats import CHEATS, FALSE, HONEST, Cheat
from tests.node.serve.conftest import ACCEPTED, SECONDS, serving

pytestmark = pytest.mark.lean

MAGIC = (
    "set_option warn.sorry false\ntheorem u : 1 = 1 := rfl\naxiom magic (p : Prop) : p\ntheorem t : 1 = 2 := magic _"
)

REFUSED = {
    MAGIC: "t: it uses other axioms than Lean's own: magic",
    "set_option debug.skipKernelTC true\ntheorem t : 1 = 2 := by decide +kernel": "the kernel rejects",
    "theorem t : 1 = 2 := by\n  exact sorryAx _ false": "does not stand in the text as such",
    'notation "QED" => sorry\ntheorem t : 1 = 2 := QED': "",
    'macro "cheat" : tactic => `(tactic| exact sorryAx _ false)\ntheorem t : 1 = 2 := by cheat': "",
    "instance : Inhabited (1 = 2) := ⟨by native_decide⟩\ntheorem t : 1 = 2 := default": "native_decide",
}

PROVED = {
    "theorem t (p : Prop) : p ∨ ¬p := Classical.em p": ["Classical.choice", "Quot.sound", "propext"],
    "example (p q : Prop) (h : p ∧ q) : q ∧ p := by\n  -- no sorry, no axiom\n  exact ⟨h.2, h.1⟩": [],
    "def f (n : Nat) := n + 1\ntheorem t : f 1 = 2 := rfl\ntheorem u : f 2 = 3 := by decide": [],
}


async def test_a_cheat_is_no_proof_to_any_reader_and_its_honest_twin_is_accepted_with_its_axioms(wire):
    for result, says in zip(await wire.check(*REFUSED), REFUSED.values(), strict=True):
        messages = result["response"]["messages"]
        errors = [item["data"] for item in messages if item["severity"] == "error"]
        shown_as_sorry = result["response"].get("sorries") and any("uses 'sorry'" in item["data"] for item in messages)
        assert errors or shown_as_sorry, result
        assert any(says in text for text in errors) or not says, result
        assert result["verdict"]["accepted"] is False and result["verdict"]["reason"], result
    for result, (code, axioms) in zip(await wire.check(*PROVED), PROVED.items(), strict=True):
        assert set(result) == {"id", "time", "response", "verdict"} and result["response"] == {"env": 0}
        depends = ["f (def, line 1)"] if "def f" in code else []
        assert result["verdict"] == ACCEPTED | {"axioms": axioms, "depends": depends}


OWN_SYNTAX = """\
instance : Add Bool := ⟨or⟩
theorem t : true + true = true := rfl
namespace A
def Nat := Bool
theorem u (a : Nat) (h : a = true) : a = true := h
end A
notation "ONE" => 1
#eval 1
theorem v : ONE = 1 := rfl
"""
DEPENDS = ["instAddBool_main (instance, line 1)", "A.Nat (def, line 4)", 'notation "ONE" => 1 (notation, line 7)']
RUNS_CODE = ["#eval (#eval, line 8)"]


async def test_what_may_change_the_meaning_of_a_statement_needs_a_permission(wire):
    (refused,), (allowed,) = [await wire.check(OWN_SYNTAX, allow_own_syntax=allow) for allow in (False, True)]
    assert allowed["verdict"] == ACCEPTED | {"depends": DEPENDS, "runs_code": RUNS_CODE}
    verdict = refused["verdict"]
    assert not verdict["accepted"] and DEPENDS[0] in verdict["reason"], refused
    assert (verdict["depends"], verdict["runs_code"]) == (DEPENDS, RUNS_CODE)
    errors = [item["data"] for item in refused["response"]["messages"] if item["severity"] == "error"]
    for error, own in zip(errors, (*DEPENDS, *RUNS_CODE), strict=True):
        assert own in error


async def test_a_snippet_is_compared_with_a_statement_of_the_request(wire):
    code = 'def two := 2\nlocal notation "ONE" => 1\ntheorem t : ONE = 1 := rfl\ntheorem u : two = 2 := rfl'
    other = "def two := 3\ntheorem u : two = 2 := sorry\ntheorem t : 1 = 2 := sorry\ntheorem v : 1 = 1 := sorry"
    compared = {
        "theorem t : 1 = 1": [],
        "def two := 2\ntheorem u : two = 2 := sorry": [],
        other: ["definition of two differs", "the type of t differs", "missing"],
        "theorem t : No.such = 1": ["`against` cannot be used"],
    }
    snippets = [{"id": str(n), "code": code, "against": against} for n, against in enumerate(compared)]
    status, answer = await wire.post("/api/check", {"snippets": snippets, "timeout": SECONDS})
    assert status == 200
    for result, reasons in zip(answer["results"], compared.values(), strict=True):
        assert (result["verdict"] == ACCEPTED) is not bool(reasons), result
        assert not reasons or reasons[0] in result["verdict"]["reason"]
        told = result.get("error") or str(result["response"])
        assert all(reason in told for reason in reasons), result


async def test_there_are_no_more_workers_than_memory_holds_of_the_one_that_has_loaded_the_header():
    async with serving(workers=4, spares=0) as wire:
        await wire.checker.prepare()
        (ready,) = [worker for worker in wire.checker.workers if worker.lean.live]
        assert ready.lean.header_mb > 0
        wire.checker.limit(2)
        assert len(wire.checker.workers) == 2 and ready in wire.checker.workers
        results = await wire.check(*["theorem t : 1 + 1 = 2 := rfl"] * 3)
        assert all(result["verdict"]["accepted"] for result in results)


@pytest.mark.parametrize(("spares", "room_mb", "kept"), [(1, math.inf, True), (0, math.inf, False), (1, 1.0, False)])
async def test_idle_processes_keep_the_imports_of_earlier_snippets_as_far_as_there_is_room(spares, room_mb, kept):
    limits = SnippetLimits(workers=1, header_seconds=60, spares=spares, room_mb=room_mb)
    checker = make_checker(LeanToolchain.pocket(), limits)
    used: list[set[int]] = []
    try:
        for imports in ("", "import Init\n") * 2:
            result = await checker.check(Snippet(f"{imports}#check nowhere", 20.0))
            assert "Unknown identifier `nowhere`" in str(result.response), result
            used.append({worker.lean.pid for worker in checker.workers if worker.lean.live})
    finally:
        await checker.stop()
    assert [len(each) for each in used] == ([1, 2, 2, 2] if kept else [1, 1, 1, 1])
    assert (used[1] == used[3]) is kept


async def test_a_process_that_a_snippet_takes_while_room_is_made_is_not_ended():
    checker = make_checker(LeanToolchain.pocket(), SnippetLimits(workers=2, header_seconds=60, room_mb=0.0))
    first, second = checker.workers

    class Process:
        live, header_mb = True, 100.0

        async def stop(self):
            self.live = False
            if self is first.lean:
                checker._idle.remove(second)

    first.lean, second.lean = Process(), Process()
    await checker._make_room()
    assert not first.lean.live and second.lean.live


# --- the cheats of docs/cheats.md -------------------------------------------------------------------------------------
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
