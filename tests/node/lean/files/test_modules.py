"""Files of Lean's module system: what hides in a private part, or in the choice of a part, is found."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from node.lean.check.second.calling import SecondKernel
from node.lean.olean.module import PARTS, part
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.files.conftest import Judged
from tests.node.lean.files.verified import Verifying, file_verifier, modules, own_verifying, reasons, verdicts
from tests.node.lean.olean.forging import compile_text
from tests.node.lean.olean.judges import File, Forge, accepted, last_part

pytestmark = [pytest.mark.lean, pytest.mark.timeout(300)]

ORDINARY = Path(__file__).with_name("module.lean").read_text(encoding="utf-8")


async def test_ordinary_modules_and_files_that_import_them_are_accepted(verifying: Verifying) -> None:
    # Without `import all`, a module does not see private names or hidden bodies; other files see both.
    imports = "module\npublic import A\npublic theorem b : next 1 = 2 := rfl\ntheorem c : 1 < hidden 1 := hidden_lt 1\n"
    private = "theorem d (n : Nat) : mine n = n + 3 := mine_eq n\n"
    all_of_it = f"module\nimport all A\n{private}theorem e : hidden 1 = 3 := rfl\n"
    plain = "import A\nimport B\ntheorem f : hidden 1 = 3 := rfl\ntheorem g : next 1 = 2 := b\n"
    unseen = "module\nimport A\ntheorem h : hidden 1 = 3 := rfl\ntheorem i (n : Nat) : mine n = n + 3 := mine_eq n\n"
    found = reasons(await verifying.together(ORDINARY, imports, all_of_it, plain, unseen))
    assert "definitional" in found.pop("h") and "mine" in found.pop("i")
    assert {"next_lt", "mine_eq", "hidden_lt", "closed", "example", "not_public", "uses"} <= found.keys()
    assert {*"bcdefg"} <= found.keys()
    assert {name: reason for name, reason in found.items() if reason} == {}


# --- cheats in the text, each beside its honest twin ------------------------------------------------------------------

HIDING = (
    # A
    """\
module
private theorem p : 1 = 2 := sorry
public theorem bad_theorem : 1 = 2 := p
axiom a : 1 = 2
public theorem bad_axiom : 1 = 2 := a
public class C where
  out : 1 = 2
private instance : C := ⟨sorry⟩
public theorem bad_instance : 1 = 2 := C.out
public def wrong : {n : Nat // n = n + 1} := sorry
private theorem h : 1 = 1 := rfl
public theorem good_theorem : 1 = 1 := h
public class D where
  out : 1 = 1
private instance : D := ⟨rfl⟩
public theorem good_instance : 1 = 1 := D.out
public def right : {n : Nat // n = n + 0} := ⟨3, rfl⟩
""",
    # B, C, D
    "module\npublic import A\npublic theorem bad_import : 1 = 2 := bad_axiom\n"
    "public theorem good_import : 1 = 1 := good_theorem\n"
    "public theorem bad_body : wrong.1 = wrong.1 + 1 := wrong.2\n"
    "public theorem good_body : right.1 = right.1 + 0 := right.2\n",
    "module\nimport all A\npublic theorem bad_private : 1 = 2 := a\npublic theorem good_private : 1 = 1 := h\n",
    "import B\ntheorem bad_above : 1 = 2 := bad_import\ntheorem good_above : 1 = 1 := good_import\n",
    # E, F
    'module\npublic meta section\nmacro "easy" : tactic => `(tactic| exact sorry)\n'
    'macro "honest" : tactic => `(tactic| exact rfl)\n',
    "module\nmeta import E\npublic theorem bad_macro : 1 = 2 := by easy\n"
    "public theorem good_macro : 1 = 1 := by honest\n",
)
"""Theorems named `bad` rest on what a module hides: a private theorem, an axiom in a private section, a private
instance, the axiom of an imported module, the body of a definition that is not exposed, a private axiom behind
`import all`, an axiom two modules below a plain file, a macro of a module imported for its code."""
BY_SORRY = {"bad_theorem", "bad_instance", "bad_body", "bad_macro"}
BY_AXIOM_BELOW = {"bad_axiom", "bad_import", "bad_private", "bad_above"}


async def test_what_a_module_hides_is_found_and_its_honest_twin_accepted(verifying: Verifying) -> None:
    found = reasons(await verifying.together(*HIDING))
    assert {name for name in found if name.startswith("bad")} == BY_SORRY | BY_AXIOM_BELOW
    assert all("sorry" in found[name] for name in BY_SORRY) and all("axiom" in found[name] for name in BY_AXIOM_BELOW)
    good = {name: reason for name, reason in found.items() if name.startswith("good")}
    assert good == {name.replace("bad", "good"): "" for name in (BY_SORRY | BY_AXIOM_BELOW) - {"bad_axiom"}}


async def test_a_statement_with_a_private_redefinition_tells_what_it_depends_on(verifying: Verifying) -> None:
    theorems = "".join(f"theorem t{number} : 3 = two{number} := rfl\n" for number in (1, 2, 3))
    notations = 'local notation "two1" => 3\nsection\nnotation "two2" => 3\nend\nnotation "two2" => 3\n'
    text = f"module\n{notations}def two3 : Nat := 3\n{theorems}theorem u : 3 = 3 := rfl\n"
    found = verdicts(await verifying.together(text))
    depends = {name: {item.line for item in each.depends} for name, each in found.items()}
    assert depends["t1"] >= {2} and depends["t2"] & {4, 6} and depends["t3"] >= {7} and not depends["u"], depends


REFERENCE = "module\npublic def Goal (n : Nat) : Prop := 2 ≤ n\npublic theorem t : Goal 3 := sorry\n"
PROVED = "module\npublic def Goal (n : Nat) : Prop := 2 ≤ n\npublic theorem t : Goal 3 := (by decide : 2 ≤ 3)\n"
BY_AXIOM = PROVED.replace("public theorem", "axiom a : Goal 3\npublic theorem").replace("(by decide : 2 ≤ 3)", "a")
ANOTHER = PROVED.replace("2 ≤ n", "0 ≤ n").replace("(by decide : 2 ≤ 3)", "Nat.zero_le 3")
SUBMISSIONS = {
    "the same": (PROVED, True),
    "all of it private": (PROVED.replace("public ", ""), True),
    "the theorem private": (PROVED.replace("public theorem", "theorem"), True),
    "no module": (PROVED.replace("module\n", "").replace("public ", ""), True),
    "another body": (ANOTHER, False),
    "a private one with another body": (ANOTHER.replace("public ", ""), False),
    "another number": (PROVED.replace("Goal 3", "Goal 2").replace("2 ≤ 3", "2 ≤ 2"), False),
    "a private axiom": (BY_AXIOM, False),
    "private without module": (PROVED.replace("module\npublic", "").replace("public", "private"), False),
    "nothing of this name": (PROVED.replace("theorem t", "theorem u"), False),
}


async def test_a_submission_is_compared_with_its_reference_where_a_module_hides_a_body(verifying: Verifying) -> None:
    found = await verifying.compared([modules([text]) for text, _ in SUBMISSIONS.values()], modules([REFERENCE]))
    for (name, (_, honest)), reasons_ in zip(SUBMISSIONS.items(), found, strict=True):
        assert len(reasons_) == 1 and (reasons_ == [""]) is honest, (name, reasons_)


async def test_a_private_type_does_not_stand_for_a_public_one_of_the_same_form(verifying: Verifying) -> None:
    # If it did, one type could stand for two: `A.T = B.T` would be `T = T`.
    private = "module\ninductive T where | a\ntheorem s : T = T := rfl\n"
    public = private.replace("inductive", "public inductive").replace("theorem", "public theorem")
    (same,), (reason,) = await verifying.compared([modules([private]), modules([public])], modules([private]))
    assert same == "" and "stands where the reference has" in reason


# --- forged parts -----------------------------------------------------------------------------------------------------


LIE = "module\npublic theorem lie : 1 = 1 := rfl\npublic theorem t : 2 = 2 := rfl\n"
LYING = LIE.replace("theorem lie : 1 = 1 := rfl", "axiom lie : 1 = 2")


async def test_another_module_in_the_place_of_the_public_part_proves_nothing(tmp_path: Path, judged: Judged) -> None:
    # 1. To files that import it, A says `axiom lie : 1 = 2`. Its last part is the honest one.
    for name, text in (("honest", LIE), ("lying", LYING)):
        (tmp_path / name).mkdir()
        await compile_text(text, tmp_path / name, "A")
    public = (tmp_path / "lying" / "A.olean").read_bytes()
    honest = last_part(tmp_path / "honest" / "A.olean")
    lying = last_part(tmp_path / "lying" / "A.olean")

    def forged(last: bytes) -> Forge:
        def forge(_: bytes, olean: Path) -> bytes:
            part(olean, ".server").write_bytes((tmp_path / "lying" / "A.olean.server").read_bytes())
            part(olean, ".private").write_bytes(last)
            return public

        return forge

    importing = "module\npublic import A\npublic theorem bad : 1 = 2 := lie\npublic theorem fine : 2 = 2 := t\n"
    # 2. A is accepted for what its last part proves; what B concludes from the other part is not.
    reports = await judged([File("A", LIE, forged(honest)), File("B", importing)])
    assert accepted(reports) == {"lie", "t", "fine"}
    # 3. With its own last part, A does not say what its text says.
    reports = await judged([File("A", LIE, forged(lying)), File("B", importing)])
    assert not accepted(reports) & {"lie", "bad"}
    # 4. The honest twin.
    twin = importing.replace("bad : 1 = 2", "good : 1 = 1")
    assert accepted(await judged([File("A", LIE), File("B", twin)])) == {"lie", "t", "good", "fine"}


def without(suffix: str) -> Forge:
    def forge(content: bytes, olean: Path) -> bytes:
        part(olean, suffix).unlink()
        return content

    return forge


def linked(suffix: str) -> Forge:
    def forge(content: bytes, olean: Path) -> bytes:
        moved = part(olean, suffix).rename(olean.with_name("elsewhere"))
        part(olean, suffix).symlink_to(moved)
        return content

    return forge


def no_part(content: bytes, olean: Path) -> bytes:
    """The last part without its mark."""
    last = part(olean, ".private")
    changed = bytearray(last.read_bytes())
    changed[-8] = 0  # the root is the last object, and the mark its last field
    last.write_bytes(changed)
    return content


PARTS_LACKING: dict[str, tuple[Forge, str]] = {
    **{f"no {suffix}": (without(suffix), f"no file module.olean{suffix}") for suffix in PARTS},
    **{f"a link {suffix}": (linked(suffix), "is a link to another one") for suffix in PARTS},
    "a last part that is none": (no_part, "not a part of a module"),
}


@pytest.mark.parametrize("name", PARTS_LACKING)
async def test_a_part_that_is_missing_or_forged_is_told(name: str, judged: Judged) -> None:
    forge, told = PARTS_LACKING[name]
    (told_report,) = await judged([File("Main", LIE, forge)])
    assert told in told_report.problem and not told_report.accepted


async def test_a_text_that_is_no_module_has_no_parts_and_the_other_way_round(tmp_path: Path, judged: Judged) -> None:
    plain = LIE.replace("module\n", "").replace("public ", "")
    olean = await compile_text(LIE, tmp_path, "Main")
    (tmp_path / "plain").mkdir()
    compiled = await compile_text(plain, tmp_path / "plain", "Main")
    (split,) = await judged([File("Main", plain, lambda *_: olean.read_bytes())])
    assert "no file Main.olean.server" in split.problem
    (whole,) = await judged([File("Main", LIE, lambda *_: compiled.read_bytes())])
    assert "the compiled file is no module" in whole.problem


# --- modules of a project, compiled before ----------------------------------------------------------------------------

BUILT = """\
module
public section
private axiom wrong : 1 = 2
theorem lie : 1 = 2 := wrong
def hidden (n : Nat) : Nat := n + 2
theorem hidden_one : hidden 1 = 3 := by
  unfold hidden
  rfl
@[expose] def next (n : Nat) : Nat := n + 1
"""
USING = "import Built\ntheorem a : next 1 = 2 := rfl\n"
USING += "theorem b : hidden 1 = 3 := hidden_one\ntheorem bad : 1 = 2 := lie\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled module."""
    return asyncio.run(compile_text(BUILT, tmp_path_factory.mktemp("built"), "Built"))


def over(folder: Path) -> LeanToolchain:
    """A Lean that finds the modules in a folder."""
    pocket = LeanToolchain.pocket()
    return replace(pocket, environment=pocket.with_modules([folder]))


async def test_axioms_that_a_built_module_hides_are_found(built: Path) -> None:
    async with own_verifying(over(built.parent)) as verifying:
        reports = await verifying.together(USING, "module\n" + USING)
    for report in reports:
        found = verdicts([report])
        assert found["a"].accepted and found["b"].accepted
        assert "_private.Built.0.wrong" in found["bad"].reason


@pytest.mark.slow
async def test_the_second_kernel_reads_the_last_parts_of_built_modules(built: Path) -> None:
    second = SecondKernel(LeanToolchain.pocket())
    second.may_read(built.parent)
    try:
        async with file_verifier(over(built.parent), second=second) as verifier:
            report = await verifier.verify_text("module\n" + USING)
    finally:
        await second.close()
    assert report.rechecked == "kernel and a second kernel"
    assert [each.name for each in report.declarations if each.accepted] == ["a", "b"]


@pytest.mark.parametrize("suffix", PARTS)
async def test_a_built_module_without_one_of_its_parts_is_told(suffix: str, built: Path, tmp_path: Path) -> None:
    for file in built.parent.glob("Built.olean*"):
        shutil.copy(file, tmp_path)
    part(tmp_path / built.name, suffix).unlink()
    async with own_verifying(over(tmp_path)) as verifying:
        (report,) = await verifying.together(USING)
    assert f"Built.olean{suffix}" in report.problem and "lake build" in report.problem


async def test_a_module_that_imports_a_file_that_is_none_says_what_to_do(verifying: Verifying) -> None:
    texts = "theorem a : 1 = 1 := rfl\n", "module\nimport A\ntheorem b : 1 = 1 := a\n"
    (_, importing) = await verifying.together(*texts)
    assert "non-`module`" in importing.problem and "remove `module`" in importing.problem
