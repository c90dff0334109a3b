"""Texts above gaps, compiled once: commands mean the same behind the import as behind the text."""

from dataclasses import replace
from pathlib import Path

import pytest

from common.lean import Context, Place, Theorem
from node.lean.gaps.contexts import ContextModules, ScopedText
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import WorkerOptions
from node.lean.worker.runner import Runner
from tests.node.lean.olean.forging import compile_text

SCOPES = """\
set_option autoImplicit false
universe u
namespace A
variable (p q : Prop) {α : Type u}
private def two : Nat := 2
local notation "⟪" x "⟫" => Nat.succ x
theorem first (h : p) : p := h
section Inner
open Nat in
theorem second : succ 0 = 1 := rfl
variable (r : Prop)
@[simp] theorem third : two = 1 + 1 := rfl
theorem fourth (a : α) : a = a := rfl
"""
GAP = "theorem gap (h : p ∧ r) (a : α) : p ∧ ⟪two⟫ = 3 := by\n  "


def placed(context: str, before: str = GAP) -> Theorem:
    return Theorem("t", "", "?", place=Place(Context.of(context), before, "\n"))


def modules(tmp_path: Path, step: int) -> ContextModules:
    return ContextModules(LeanToolchain.pocket(), seconds=60, memory_mb=2048, folder=tmp_path / "m", step=step)


@pytest.mark.lean
async def test_everything_open_above_a_gap_is_open_behind_the_import(tmp_path):
    contexts = modules(tmp_path, 3)
    theorem = placed(SCOPES)
    short = await contexts.shortened(theorem)
    assert "import ProofmeshContext_" in short.place.context.text and "theorem first" not in short.place.context.text
    tactics = ("exact ⟨h.1, rfl⟩", "exact ⟨first p h.1, by simp⟩", "exact ⟨h.2, rfl⟩", "exact r", "constructor")
    seen = []
    for lean, each in ((contexts.toolchain, short), (LeanToolchain.pocket(), theorem)):
        runner = Runner(lean, WorkerOptions())
        plan = BatchPlan(each, (), dict(enumerate(tactics)))
        await runner.run(plan, timeout=20)
        await runner.stop()
        assert not plan.bad_statement
        seen.append((plan.state, {index: outcome.kind for index, outcome in plan.outcomes.items()}))
    assert seen[0] == seen[1]
    assert [seen[0][1][index].value for index in range(5)] == ["proved", "proved", "error", "error", "goals"]


@pytest.mark.lean
async def test_a_module_is_found_again_and_a_longer_text_begins_with_it(tmp_path):
    text = "".join(f"theorem t{number} : {number} = {number} := rfl\n" for number in range(10))
    first = await modules(tmp_path, 4).shortened(placed(text))
    made = sorted((tmp_path / "m").iterdir())
    assert len(made) == 1 and first.place.context.text.count("theorem") == 2
    again = await modules(tmp_path, 4).shortened(placed(text + "theorem t10 : True := trivial\n"))
    assert sorted((tmp_path / "m").iterdir()) == made and again.place.context.text.count("theorem") == 3
    longer = text + "theorem t10 : 1 = 1 := t1\ntheorem t11 : True := trivial\n"
    assert (await modules(tmp_path, 4).shortened(placed(longer))).place.context.text.count("theorem") == 0
    assert len(list((tmp_path / "m").iterdir())) == 2


@pytest.mark.lean
async def test_modules_that_another_process_removes_are_made_again(tmp_path, monkeypatch):
    working, theorem = modules(tmp_path, 2), placed("".join(f"theorem t{n} : {n} = {n} := rfl\n" for n in range(5)))
    short = await working.shortened(theorem)
    folder = (tmp_path / "m").stat().st_ino
    monkeypatch.setattr("node.lean.gaps.contexts.KEPT_MODULES", 0)
    modules(tmp_path, 2)
    assert [*(tmp_path / "m").iterdir()] == [] and (tmp_path / "m").stat().st_ino == folder
    assert await working.shortened(theorem) == short and len([*(tmp_path / "m").iterdir()]) == 1


@pytest.mark.lean
async def test_a_library_that_was_built_anew_has_modules_of_its_own(tmp_path):
    lean = LeanToolchain.pocket()
    library = tmp_path / "library"
    library.mkdir()
    names = []
    for _ in range(2):
        await compile_text("def own := 1\n", library, "Own")
        own = replace(lean, environment=lean.with_modules([library]))
        contexts = ContextModules(own, seconds=60, memory_mb=2048, folder=tmp_path / "m", step=2)
        text = "import Own\n" + "".join(f"theorem t{n} : own = 1 := rfl\n" for n in range(5))
        names.append((await contexts.shortened(placed(text))).place.context.text.split("\n")[0])
    assert names[0] != names[1] and all(name.startswith("import ProofmeshContext_") for name in names)


TEXT = Path(__file__).with_name("scopes.lean").read_text(encoding="utf-8")


def scope_behind(line: str, text: str = TEXT) -> str | None:
    scoped = ScopedText(text, 0)
    count = next(number for number, piece in enumerate(scoped.pieces) if line in scoped.of([piece])) + 1
    return scoped.open_scope(count)


def test_the_commands_of_a_text_cover_it_and_a_mutual_block_is_one():
    scoped = ScopedText(TEXT, 0)
    assert scoped.of(scoped.pieces) == TEXT
    keywords = [piece.keyword for piece in scoped.pieces]
    assert keywords.count("mutual") == 1 and keywords.count("theorem") == 5
    assert scoped.of([scoped.pieces[keywords.index("section")]]).startswith("/-- About")


OUTER = ["universe u", "open Nat (succ)", "namespace A"]
INNER = [*OUTER, "namespace B", "variable (p : Prop)"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("theorem one", INNER),
        ("theorem two", [*INNER, "section", "variable {q : Prop}"]),
        ("private", [*INNER, "section Inner", "set_option maxRecDepth 600"]),
        ("theorem five", [*OUTER, 'local notation "⟪" x "⟫" => x', "noncomputable section"]),
    ],
)
def test_what_is_open_behind_a_command_is_said_again(line, expected):
    assert scope_behind(line).split("\n") == [*expected, ""]


def test_local_instances_cannot_be_said_again_while_they_hold():
    local = "section\nlocal instance : Inhabited Nat := ⟨1⟩\ntheorem one : True := trivial\nend\n"
    text = f"{local}theorem two : True := trivial\n"
    assert scope_behind("theorem one", text) is None and scope_behind("theorem two", text) == ""
