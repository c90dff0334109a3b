"""`proofmesh verify PATH...`, with real Lean."""

import json
from functools import partial

import pytest

from node.command import cli
from node.command.proofs.verdicts import Verdicts
from node.lean.check.files.report import DeclarationVerdict, FileReport
from tests import lean_project

pytestmark = pytest.mark.lean


@pytest.fixture
def verify(called):
    """The command in this process."""
    return partial(called, cli.main, "verify")


@pytest.fixture
def pocket(verify):
    """The command with pocket Lean, whatever the folder says."""
    return partial(verify, "--lean.toolchain", "pocket")


ORDINARY = """\
/-! Exercises. -/
namespace Exercise

variable {α : Type} (p q : Prop)

/-- Twice a number. -/
def double (n : Nat) : Nat := n + n

inductive Tree (α : Type) where
  | leaf : Tree α
  | node : Tree α → α → Tree α → Tree α

def Tree.size : Tree α → Nat
  | .leaf => 0
  | .node left _ right => left.size + right.size + 1

theorem and_swap (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩

theorem double_eq (n : Nat) : double n = n + n := rfl

example (h : p) : p ∨ q := Or.inl h

section
variable (h : p → q)
include h in
theorem modus_ponens : p → q := by
  intro hp
  exact h hp
end

theorem size_leaf : (Tree.leaf : Tree α).size = 0 := by
  rfl

mutual
theorem even_or : (n : Nat) → n = n ∨ False
  | 0 => Or.inl rfl
  | n + 1 => (odd_or n).elim (fun _ => Or.inl rfl) (fun h => h.elim)
theorem odd_or : (n : Nat) → n = n ∨ False
  | 0 => Or.inl rfl
  | n + 1 => (even_or n).elim (fun _ => Or.inl rfl) (fun h => h.elim)
end

theorem classical : p ∨ ¬p := Classical.em p

end Exercise
"""


def test_an_ordinary_file_is_accepted_as_it_stands(verify, tmp_path):
    file = tmp_path / "Exercise.lean"
    file.write_text(ORDINARY)
    result = verify(file)
    assert result.code == 0, result.out + result.err
    lines = result.out.splitlines()
    accepted = [line.split(": ")[1].split(" (")[0] for line in lines if line.startswith("accepted")]
    names = ("and_swap", "double_eq", "example", "modus_ponens", "size_leaf", "even_or", "odd_or", "classical")
    assert accepted == [name if name == "example" else f"Exercise.{name}" for name in names]
    assert f"accepted  {file}:17: Exercise.and_swap (axioms: none; Lean 4.35.0; checked again by the kernel" in lines[0]
    assert "axioms: Classical.choice, Quot.sound, propext" in lines[-1]


def test_what_a_statement_depends_on_is_named_and_strict_rejects_it(verify, tmp_path):
    file = tmp_path / "Exercise.lean"
    file.write_text(ORDINARY)
    assert "as this file defines: Exercise.double (def, line 6)" in verify(file).out
    strict = json.loads(verify(file, "--strict", "--json").out)
    rejected = [row["theorem"] for row in strict["theorems"] if row["verdict"] == "rejected"]
    # The second one has a hypothesis that its own text does not mention, by `variable` and `include`.
    assert rejected == ["Exercise.double_eq", "Exercise.modus_ponens", "Exercise.size_leaf"]


def test_definitions_get_verdicts_when_asked_for(verify, tmp_path):
    file = tmp_path / "Exercise.lean"
    file.write_text(ORDINARY)
    rows = json.loads(verify(file, "--all", "--json").out)["theorems"]
    kinds = {row["theorem"]: row["kind"] for row in rows}
    assert kinds["Exercise.double"] == "def" and kinds["Exercise.Tree"] == "inductive"
    assert kinds["Exercise.Tree.size"] == "def" and "Exercise.Tree.node" not in kinds


BAD = """\
theorem a (p : Prop) : p := by
  sorry
theorem b (p : Prop) (h : p) : p := by
  exact h
axiom x : False
theorem c : 1 = 2 := x.elim
theorem d (p : Prop) (h : p) : p := by
  exact (h : False)
theorem e : 1 = 2 := by
  exact a _
theorem f (p : Prop) (h : p) : p := d p h
theorem g : True := trivial
"""


def test_one_rejected_proof_exits_with_1_and_says_why_and_the_rest_goes_on(verify, tmp_path):
    file = tmp_path / "bad.lean"
    file.write_text(BAD)
    result = verify(file, "--json")
    rows = {row["theorem"]: row for row in json.loads(result.out)["theorems"]}
    assert result.code == 1
    assert {name for name, row in rows.items() if row["verdict"] == "accepted"} == {"b", "g"}
    assert "uses sorry" in rows["a"]["reason"] and "uses sorry" in rows["e"]["reason"]
    assert "other axioms than Lean's own: x" in rows["c"]["reason"]
    assert "ype mismatch" in rows["d"]["reason"] and rows["d"]["line"] == 7
    assert "uses a declaration that is not accepted" in rows["f"]["reason"]


def test_behind_a_command_that_others_may_depend_on_nothing_is_judged(verify, tmp_path):
    file = tmp_path / "bad.lean"
    file.write_text("theorem a : True := trivial\nopen Nowhere\ntheorem b : True := trivial\n")
    result = verify(file)
    assert result.code == 1 and "accepted  " in result.out
    assert ":3: b: it may depend on the command in line 2, which fails" in result.out


def test_what_cannot_be_read_exits_with_2(verify, tmp_path):
    worse = {
        "library.lean": (b"import Mathlib\ntheorem a : True := trivial\n", "unknown module prefix 'Mathlib'"),
        "code.lean": (b'import Lean\nelab "x" : tactic => pure ()\n', "--lean.project"),
        "bytes.lean": (b"\xff\xfe", "not UTF-8"),
        "nothing.lean": (None, "No such file"),
        "rows.jsonl": (b'{"name": "a"}\n', "`verify` reads Lean source (.lean), and this is a .jsonl file"),
    }
    for name, (text, _) in worse.items():
        if text is not None:
            (tmp_path / name).write_bytes(text)
    for asked in (list(worse), ["nothing.lean"]):
        result = verify(*asked)
        assert result.code == 2 and result.out == ""
        for name in asked:
            assert any(name in line and worse[name][1] in line for line in result.err.splitlines()), (name, result.err)


@pytest.fixture
def folder(tmp_path):
    """Files that import each other, and unrelated files."""
    root = tmp_path / "root"
    (root / "Lib").mkdir(parents=True)
    (root / "Lib" / "Basic.lean").write_text("def two : Nat := 2\ntheorem two_eq : two = 2 := rfl\n")
    (root / "Use.lean").write_text("import Lib.Basic\ntheorem four : two + two = 4 := rfl\n")
    (root / "Bad.lean").write_text("import Lib.Basic\ntheorem wrong : two = 3 := by simp [two]\n")
    (root / ".lake").mkdir()
    (root / ".lake" / "theirs.lean").write_text("not ours\n")
    (root / "lakefile.lean").write_text("import Lake\n")
    return root


def test_files_that_import_each_other_are_verified_each_once(pocket, folder):
    result = pocket(folder, folder / "Use.lean", "--json")
    told = json.loads(result.out)
    assert result.code == 1 and told["counts"] == {"accepted": 2, "rejected": 1, "unreadable": 0}
    assert {row["theorem"]: row["verdict"] for row in told["theorems"]} == {
        "two_eq": "accepted",
        "four": "accepted",
        "wrong": "rejected",
    }


def test_an_imported_file_is_found_beside_one_that_is_named_alone(pocket, folder):
    result = pocket(folder / "Use.lean")
    assert result.code == 0 and "four" in result.out and "two_eq" not in result.out


def test_a_circle_of_imports_and_a_link_out_of_the_folder_fail_alone(pocket, folder, tmp_path):
    (folder / "One.lean").write_text("import Two\n")
    (folder / "Two.lean").write_text("import One\n")
    (tmp_path / "secret.lean").write_text("theorem s : True := trivial\n")
    (folder / "Link.lean").symlink_to(tmp_path / "secret.lean")
    result = pocket(folder)
    assert result.code == 2 and "circular imports: " in result.err
    assert "Link.lean: a link that leads out of the folder" in result.err
    assert "accepted" in result.out and "two_eq" in result.out and "four" in result.out


def test_a_lake_project_is_verified_from_its_sources_with_its_own_lean(verify, tmp_path, monkeypatch):
    toolchain = lean_project.make_elan(tmp_path / "elan")
    project = lean_project.make_project(tmp_path / "demo", toolchain)
    for name, value in lean_project.environ(tmp_path / "elan", tmp_path / "elan" / "bin").items():
        monkeypatch.setenv(name, value)
    # What was built says something else than the source that is to be checked.
    (project / "Demo" / "Basic.lean").write_text("def Demo.double (n : Nat) : Nat := 2 * n\n")
    (project / "Demo" / "Use.lean").write_text(
        "import Demo.Basic\ntheorem t : Demo.double 3 = 2 * 3 := by rw [Demo.double]\n"
    )
    whole = verify(project, "--all")
    assert whole.code == 0, whole.out + whole.err
    assert "Basic.lean:1: Demo.double" in whole.out and "Use.lean:2: t" in whole.out
    one = verify(project / "Demo" / "Use.lean")
    assert one.code == 0 and "Use.lean:2: t" in one.out, one.out + one.err


def test_a_file_by_itself_may_be_called_as_it_likes(verify, tmp_path):
    file = tmp_path / "sheet-1.2 (draft).lean"
    file.write_text("theorem t : True := trivial\n")
    assert verify(file).code == 0


def test_a_table_shows_every_verdict_and_bad_input_wins_over_rejected(pocket, folder):
    (folder / "empty").mkdir()
    result = pocket(folder / "Bad.lean", folder / "Use.lean", folder / "empty", "--table")
    assert result.code == 2
    for word in ("accepted", "rejected", "unreadable", "no .lean file", "1 accepted, 1 rejected, 1 unreadable"):
        assert word in result.out, result.out


def test_an_endless_command_is_left_out_and_the_rest_goes_on(verify, tmp_path):
    file = tmp_path / "endless.lean"
    file.write_text(
        "theorem a : True := trivial\n"
        "set_option maxHeartbeats 0 in\n"
        "theorem endless : True := by\n  repeat (have h : True := trivial; clear h)\n  trivial\n"
        "theorem b : True := trivial\n"
    )
    result = verify(file, "--seconds", "3", "--json")
    rows = {row["theorem"]: row for row in json.loads(result.out)["theorems"]}
    assert result.code == 1 and rows["a"]["verdict"] == rows["b"]["verdict"] == "accepted"
    assert "exceeded a limit" in rows["endless"]["reason"]


@pytest.mark.parametrize("lines", [1_500, pytest.param(10_500, marks=pytest.mark.slow)])
def test_a_long_text_is_verified(verify, tmp_path, lines):
    """More than a pipe holds; the longer one is more than a megabyte."""
    file = tmp_path / "large.lean"
    file.write_text("theorem a : True := trivial\n" + f"-- {'x' * 96}\n" * lines + "theorem b : True := trivial\n")
    result = verify(file)
    assert result.code == 0 and f":{lines + 2}: b" in result.out


def test_a_submission_is_compared_with_a_reference_file_and_with_a_statement(verify, tmp_path):
    reference, good, bad = (tmp_path / name for name in ("Reference.lean", "good.lean", "bad.lean"))
    reference.write_text("def two : Nat := 2\ntheorem t : two + two = 4 := sorry\n")
    good.write_text(
        "def two : Nat := 2\ntheorem helper : two = 2 := rfl\ntheorem t : two + two = 4 := by rw [helper]\n"
    )
    bad.write_text("def two : Nat := 1 + 1\ntheorem t : two + two = 4 := rfl\n")
    accepted = verify(good, "--against", reference)
    assert accepted.code == 0 and "accepted" in accepted.out, accepted.out + accepted.err
    rejected = verify(bad, "--against", reference)
    assert rejected.code == 1 and "the definition of two differs" in rejected.out
    good.write_text("theorem t (p : Prop) (h : p) : p := h\n")
    assert verify(good, "--against", "theorem t (p : Prop) (h : p) : p").code == 0
    assert verify(good, "--against", "theorem t (p q : Prop) (h : p) : p").code == 1
    senseless = verify(good, "--against", "nothing.lean")
    assert senseless.code == 2 and "not an existing file or folder, and not a statement" in senseless.err


def test_a_file_that_imports_another_is_compared_with_a_statement(pocket, folder):
    (folder / "Use.lean").write_text(
        "import Lib.Basic\ntheorem four : two + two = 4 := rfl\ntheorem plain : 2 = 2 := two_eq\n"
    )
    plain = pocket(folder / "Use.lean", "--against", "theorem plain : 2 = 2", "--strict")
    assert plain.code == 0 and "plain (axioms: none" in plain.out, plain.out + plain.err
    # A statement may name what the imported file declares. Then the verdict says so.
    named = pocket(folder / "Use.lean", "--against", "theorem four : two + two = 4")
    assert named.code == 0 and "as this file defines: two (def, line 1)" in named.out, named.err
    assert "two_eq" not in named.out
    unknown = pocket(folder / "Use.lean", "--against", "theorem four : three + two.x = 4")
    assert unknown.code == 2 and "error in line 1" in unknown.err


def test_an_imported_file_cannot_change_what_a_statement_means(pocket, folder):
    (folder / "Lib" / "Basic.lean").write_text("macro_rules | `(1 = 2) => `(True)\n")
    (folder / "Use.lean").write_text("import Lib.Basic\ntheorem t : 1 = 2 := trivial\n")
    result = pocket(folder / "Use.lean", "--against", "theorem t : 1 = 2")
    assert result.code == 1 and "the type of t differs" in result.out, result.out + result.err


@pytest.mark.parametrize(
    ("basic", "says"),
    [
        ("axiom two : Nat\naxiom bad : two = 3\n", "axioms than Lean's own: bad, two"),
        ("def two : Nat := sorry\ntheorem bad : two = 3 := sorry\n", "sorry"),
    ],
)
def test_an_imported_file_that_a_statement_names_cannot_assume_things(pocket, folder, basic, says):
    (folder / "Lib" / "Basic.lean").write_text(basic)
    (folder / "Use.lean").write_text("import Lib.Basic\ntheorem t : two = 3 := bad\n")
    result = pocket(folder / "Use.lean", "--against", "theorem t : two = 3")
    assert result.code == 1 and says in result.out, result.out + result.err


def test_each_theorem_is_compared_within_its_own_file_and_what_that_imports(verify, tmp_path):
    reference, submission = tmp_path / "reference", tmp_path / "submission"
    for folder in (reference, submission):
        folder.mkdir()
    (reference / "Main.lean").write_text("def Hard : Prop := 1 = 2\ntheorem t : Hard := sorry\n")
    # Another file of the submission has the definition of the reference, and this one does not import it.
    (submission / "Also.lean").write_text("def Hard : Prop := 1 = 2\n")
    (submission / "Main.lean").write_text("def Hard : Prop := True\ntheorem t : Hard := trivial\n")
    result = verify(submission, "--against", reference)
    assert result.code == 1 and "the definition of Hard differs" in result.out


def test_a_file_may_not_stand_in_for_a_module_of_the_library(verify, tmp_path):
    (tmp_path / "Init.lean").write_text("prelude\n")
    (tmp_path / "Use.lean").write_text("theorem t : True := trivial\n")
    result = verify(tmp_path)
    assert result.code == 2 and "Lean's library has a module Init" in result.err
    assert "t (axioms: none" in result.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((), "files or folders"), (("x.lean", "--seconds", "0"), "--seconds"), (("x.lean", "--jobs", "-1"), "--jobs")],
)
def test_senseless_arguments_exit_with_2(verify, arguments, says):
    result = verify(*arguments)
    assert result.code == 2 and says in result.err


SMUGGLED = [
    "set_option debug.skipKernelTC true\ntheorem f : 1 = 2 := by decide +kernel\n",
    "theorem f : 1 = 2 := by\n  set_option debug.skipKernelTC true in\n  decide +kernel\n",
    'theorem t : True := by\n  trivial\n-- "\ntheorem f : 1 = 2 := by\n  exact r"\\"\n  sorry -- "\n',
    "theorem t : ∀ x : {n : Nat //-1 = n}, True := by\n  trivial\n-- -/\ntheorem f : 1 = 2 := by\n  sorry\n",
    "theorem f : 1 = 2 := sorryAx _ false\n",
    "axiom propext' : 1 = 2\ntheorem f : 1 = 2 := propext'\n",
]


def test_files_that_would_smuggle_something_in_are_not_accepted(verify, tmp_path):
    for number, text in enumerate(SMUGGLED):
        (tmp_path / f"f{number}.lean").write_text(text)
    found = json.loads(verify(tmp_path, "--json").out)
    verdicts = [row for row in found["theorems"] if row["theorem"] == "f"]
    assert all(row["verdict"] == "rejected" for row in verdicts)
    # A file that Lean does not read at all has no verdict on a theorem.
    assert len({row["file"] for row in verdicts}) + found["counts"]["unreadable"] == len(SMUGGLED)


def test_what_plain_lean_lacks_is_said_with_what_to_do(verify, tmp_path):
    file = tmp_path / "mathlib.lean"
    file.write_text("theorem b (x y : Nat) : x + y = y + x := by ring\n\ntheorem c (x : ℝ) : x = x := rfl\n")
    result = verify(file)
    said = result.out.splitlines()
    assert result.code == 1
    assert said[0].startswith("rejected") and "`ring` needs Mathlib: --lean.project" in said[0]
    assert said[-1].startswith("note") and "line 3: nothing here declares `ℝ`" in said[-1]


def test_lemma_and_lean_3_are_named(verify, tmp_path):
    (tmp_path / "lemma.lean").write_text("lemma a : 1 = 1 := rfl\n\ntheorem b : 1 = 1 := rfl\n")
    (tmp_path / "only.lean").write_text("\nlemma a : 1 = 1 := rfl\n")
    (tmp_path / "three.lean").write_text("import data.nat.basic\nlemma a : true := trivial\n")
    result = verify(tmp_path / "lemma.lean", tmp_path / "only.lean", tmp_path / "three.lean")
    assert "only.lean: line 2: unexpected identifier; expected command; `lemma` is" in result.err
    assert "rfl: unexpected identifier; expected command; `lemma` is a command of Mathlib" in result.out
    assert "three.lean: unknown module prefix 'data'; this is Lean 3" in result.err


def test_a_cause_that_many_share_is_shown_once():
    cause = "it may depend on the command in line 2, which fails: unexpected token\n  of many\n  lines"
    other = "it may depend on the command in line 9, which fails: unknown namespace"
    reasons = {"a": cause, "b": cause, "c": "it uses sorry", "d": cause, "e": other}
    report = FileReport("A.lean")
    report.declarations = [DeclarationVerdict(name, "theorem", 3, reason) for name, reason in reasons.items()]
    verdicts = Verdicts()
    verdicts.add_file(report)
    short = "it may depend on the command in line 2 (see a)"
    assert [row.reason for row in verdicts.rows] == [cause, short, "it uses sorry", short, other]
