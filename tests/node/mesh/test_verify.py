"""`proofmesh verify PATH...`, with real Lean."""

import json
import subprocess
import sys

import pytest

from tests import lean_project

pytestmark = pytest.mark.lean


def verify(*arguments, environ=None):
    command = [sys.executable, "-m", "node.command.cli", "verify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


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


def test_an_ordinary_file_is_accepted_as_it_stands(tmp_path):
    file = tmp_path / "Exercise.lean"
    file.write_text(ORDINARY)
    result = verify(file)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    accepted = [line.split(": ")[1].split(" (")[0] for line in lines if line.startswith("accepted")]
    names = ("and_swap", "double_eq", "example", "modus_ponens", "size_leaf", "even_or", "odd_or", "classical")
    assert accepted == [name if name == "example" else f"Exercise.{name}" for name in names]
    assert f"accepted  {file}:17: Exercise.and_swap (axioms: none; Lean 4.35.0; checked again by the kernel" in lines[0]
    assert "axioms: Classical.choice, Quot.sound, propext" in lines[-1]


def test_what_a_statement_depends_on_is_named_and_strict_rejects_it(tmp_path):
    file = tmp_path / "Exercise.lean"
    file.write_text(ORDINARY)
    assert "as this file defines: Exercise.double (def, line 6)" in verify(file).stdout
    strict = json.loads(verify(file, "--strict", "--json").stdout)
    rejected = [row["theorem"] for row in strict["theorems"] if row["verdict"] == "rejected"]
    # The second one has a hypothesis that its own text does not mention, by `variable` and `include`.
    assert rejected == ["Exercise.double_eq", "Exercise.modus_ponens", "Exercise.size_leaf"]


def test_definitions_get_verdicts_when_asked_for(tmp_path):
    file = tmp_path / "Exercise.lean"
    file.write_text(ORDINARY)
    rows = json.loads(verify(file, "--all", "--json").stdout)["theorems"]
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


def test_one_rejected_proof_exits_with_1_and_says_why_and_the_rest_goes_on(tmp_path):
    file = tmp_path / "bad.lean"
    file.write_text(BAD)
    result = verify(file, "--json")
    rows = {row["theorem"]: row for row in json.loads(result.stdout)["theorems"]}
    assert result.returncode == 1
    assert {name for name, row in rows.items() if row["verdict"] == "accepted"} == {"b", "g"}
    assert "uses sorry" in rows["a"]["reason"] and "uses sorry" in rows["e"]["reason"]
    assert "other axioms than Lean's own: x" in rows["c"]["reason"]
    assert "ype mismatch" in rows["d"]["reason"] and rows["d"]["line"] == 7
    assert "uses a declaration that is not accepted" in rows["f"]["reason"]


def test_behind_a_command_that_others_may_depend_on_nothing_is_judged(tmp_path):
    file = tmp_path / "bad.lean"
    file.write_text("theorem a : True := trivial\nopen Nowhere\ntheorem b : True := trivial\n")
    result = verify(file)
    assert result.returncode == 1 and "accepted  " in result.stdout
    assert ":3: b: it may depend on the command in line 2, which fails" in result.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import Mathlib\ntheorem a : True := trivial\n", "unknown module prefix 'Mathlib'"),
        ('import Lean\nelab "x" : tactic => pure ()\n', "--lean.project"),
        (b"\xff\xfe", "not UTF-8"),
        (None, "No such file"),
    ],
)
def test_what_cannot_be_read_exits_with_2(tmp_path, text, says):
    file = tmp_path / "worse.lean"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = verify(file)
    assert result.returncode == 2 and says in result.stderr and result.stdout == ""


def test_a_list_of_statements_is_refused_with_a_hint_that_it_is_no_lean_source(tmp_path):
    file = tmp_path / "miniF2F.jsonl"
    file.write_text('{"name": "a", "formal_statement": "theorem a : True := by"}\n')
    result = verify(file)
    assert result.returncode == 2 and "`verify` reads Lean source (.lean), and this is a .jsonl file" in result.stderr


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


def pocket(*arguments):
    return verify(*arguments, "--lean.toolchain", "pocket")


def test_files_that_import_each_other_are_verified_each_once(folder):
    result = pocket(folder, folder / "Use.lean", "--json")
    told = json.loads(result.stdout)
    assert result.returncode == 1 and told["counts"] == {"accepted": 2, "rejected": 1, "unreadable": 0}
    assert {row["theorem"]: row["verdict"] for row in told["theorems"]} == {
        "two_eq": "accepted",
        "four": "accepted",
        "wrong": "rejected",
    }


def test_an_imported_file_is_found_beside_one_that_is_named_alone(folder):
    result = pocket(folder / "Use.lean")
    assert result.returncode == 0 and "four" in result.stdout and "two_eq" not in result.stdout


def test_a_circle_of_imports_and_a_link_out_of_the_folder_fail_alone(folder, tmp_path):
    (folder / "One.lean").write_text("import Two\n")
    (folder / "Two.lean").write_text("import One\n")
    (tmp_path / "secret.lean").write_text("theorem s : True := trivial\n")
    (folder / "Link.lean").symlink_to(tmp_path / "secret.lean")
    result = pocket(folder)
    assert result.returncode == 2 and "circular imports: " in result.stderr
    assert "Link.lean: a link that leads out of the folder" in result.stderr
    assert "accepted" in result.stdout and "two_eq" in result.stdout and "four" in result.stdout


def test_a_lake_project_is_verified_from_its_sources_with_its_own_lean(tmp_path):
    toolchain = lean_project.make_elan(tmp_path / "elan")
    project = lean_project.make_project(tmp_path / "demo", toolchain)
    environ = lean_project.environ(tmp_path / "elan", tmp_path / "elan" / "bin")
    # What was built says something else than the source that is to be checked.
    (project / "Demo" / "Basic.lean").write_text("def Demo.double (n : Nat) : Nat := 2 * n\n")
    (project / "Demo" / "Use.lean").write_text(
        "import Demo.Basic\ntheorem t : Demo.double 3 = 2 * 3 := by rw [Demo.double]\n"
    )
    whole = verify(project, "--all", environ=environ)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert "Basic.lean:1: Demo.double" in whole.stdout and "Use.lean:2: t" in whole.stdout
    one = verify(project / "Demo" / "Use.lean", environ=environ)
    assert one.returncode == 0 and "Use.lean:2: t" in one.stdout, one.stdout + one.stderr


def test_a_file_by_itself_may_be_called_as_it_likes(tmp_path):
    file = tmp_path / "sheet-1.2 (draft).lean"
    file.write_text("theorem t : True := trivial\n")
    assert verify(file).returncode == 0


def test_a_table_shows_every_verdict_and_bad_input_wins_over_rejected(folder):
    (folder / "empty").mkdir()
    result = pocket(folder / "Bad.lean", folder / "Use.lean", folder / "empty", "--table")
    assert result.returncode == 2
    for word in ("accepted", "rejected", "unreadable", "no .lean file", "1 accepted, 1 rejected, 1 unreadable"):
        assert word in result.stdout, result.stdout


def test_an_endless_command_is_left_out_and_the_rest_goes_on(tmp_path):
    file = tmp_path / "endless.lean"
    file.write_text(
        "theorem a : True := trivial\n"
        "set_option maxHeartbeats 0 in\n"
        "theorem endless : True := by\n  repeat (have h : True := trivial; clear h)\n  trivial\n"
        "theorem b : True := trivial\n"
    )
    result = verify(file, "--seconds", "5", "--json")
    rows = {row["theorem"]: row for row in json.loads(result.stdout)["theorems"]}
    assert result.returncode == 1 and rows["a"]["verdict"] == rows["b"]["verdict"] == "accepted"
    assert "exceeded a limit" in rows["endless"]["reason"]


def test_a_megabyte_of_text_is_verified(tmp_path):
    file = tmp_path / "large.lean"
    file.write_text("theorem a : True := trivial\n" + f"-- {'x' * 96}\n" * 10_500 + "theorem b : True := trivial\n")
    assert file.stat().st_size > 2**20
    result = verify(file)
    assert result.returncode == 0 and ":10502: b" in result.stdout


def test_a_submission_is_compared_with_a_reference_file_and_with_a_statement(tmp_path):
    reference, good, bad = (tmp_path / name for name in ("Reference.lean", "good.lean", "bad.lean"))
    reference.write_text("def two : Nat := 2\ntheorem t : two + two = 4 := sorry\n")
    good.write_text(
        "def two : Nat := 2\ntheorem helper : two = 2 := rfl\ntheorem t : two + two = 4 := by rw [helper]\n"
    )
    bad.write_text("def two : Nat := 1 + 1\ntheorem t : two + two = 4 := rfl\n")
    accepted = verify(good, "--against", reference)
    assert accepted.returncode == 0 and "accepted" in accepted.stdout, accepted.stdout + accepted.stderr
    rejected = verify(bad, "--against", reference)
    assert rejected.returncode == 1 and "the definition of two differs" in rejected.stdout
    good.write_text("theorem t (p : Prop) (h : p) : p := h\n")
    assert verify(good, "--against", "theorem t (p : Prop) (h : p) : p").returncode == 0
    assert verify(good, "--against", "theorem t (p q : Prop) (h : p) : p").returncode == 1
    senseless = verify(good, "--against", "nothing.lean")
    assert senseless.returncode == 2 and "not an existing file or folder, and not a statement" in senseless.stderr


def test_a_file_that_imports_another_is_compared_with_a_statement(folder):
    (folder / "Use.lean").write_text(
        "import Lib.Basic\ntheorem four : two + two = 4 := rfl\ntheorem plain : 2 = 2 := two_eq\n"
    )
    plain = pocket(folder / "Use.lean", "--against", "theorem plain : 2 = 2", "--strict")
    assert plain.returncode == 0 and "plain (axioms: none" in plain.stdout, plain.stdout + plain.stderr
    # A statement may name what the imported file declares. Then the verdict says so.
    named = pocket(folder / "Use.lean", "--against", "theorem four : two + two = 4")
    assert named.returncode == 0 and "as this file defines: two (def, line 1)" in named.stdout, named.stderr
    assert "two_eq" not in named.stdout
    assert pocket(folder / "Use.lean", "--against", "theorem four : two + two = 4", "--strict").returncode == 1
    assert pocket(folder / "Use.lean", "--against", "theorem four : two + two = 5").returncode == 1
    unknown = pocket(folder / "Use.lean", "--against", "theorem four : three + two.x = 4")
    assert unknown.returncode == 2 and "error in line 1" in unknown.stderr


def test_an_imported_file_cannot_change_what_a_statement_means(folder):
    (folder / "Lib" / "Basic.lean").write_text("macro_rules | `(1 = 2) => `(True)\n")
    (folder / "Use.lean").write_text("import Lib.Basic\ntheorem t : 1 = 2 := trivial\n")
    result = pocket(folder / "Use.lean", "--against", "theorem t : 1 = 2")
    assert result.returncode == 1 and "the type of t differs" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("basic", "says"),
    [
        ("axiom two : Nat\naxiom bad : two = 3\n", "axioms than Lean's own: bad, two"),
        ("def two : Nat := sorry\ntheorem bad : two = 3 := sorry\n", "sorry"),
    ],
)
def test_an_imported_file_that_a_statement_names_cannot_assume_things(folder, basic, says):
    (folder / "Lib" / "Basic.lean").write_text(basic)
    (folder / "Use.lean").write_text("import Lib.Basic\ntheorem t : two = 3 := bad\n")
    result = pocket(folder / "Use.lean", "--against", "theorem t : two = 3")
    assert result.returncode == 1 and says in result.stdout, result.stdout + result.stderr


def test_each_theorem_is_compared_within_its_own_file_and_what_that_imports(tmp_path):
    reference, submission = tmp_path / "reference", tmp_path / "submission"
    for folder in (reference, submission):
        folder.mkdir()
    (reference / "Main.lean").write_text("def Hard : Prop := 1 = 2\ntheorem t : Hard := sorry\n")
    # Another file of the submission has the definition of the reference, and this one does not import it.
    (submission / "Also.lean").write_text("def Hard : Prop := 1 = 2\n")
    (submission / "Main.lean").write_text("def Hard : Prop := True\ntheorem t : Hard := trivial\n")
    result = verify(submission, "--against", reference)
    assert result.returncode == 1 and "the definition of Hard differs" in result.stdout


def test_a_file_may_not_stand_in_for_a_module_of_the_library(tmp_path):
    (tmp_path / "Init.lean").write_text("prelude\n")
    (tmp_path / "Use.lean").write_text("theorem t : True := trivial\n")
    result = verify(tmp_path)
    assert result.returncode == 2 and "Lean's library has a module Init" in result.stderr
    assert "t (axioms: none" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((), "files or folders"), (("x.lean", "--seconds", "0"), "--seconds"), (("x.lean", "--jobs", "-1"), "--jobs")],
)
def test_senseless_arguments_exit_with_2(arguments, says):
    result = verify(*arguments)
    assert result.returncode == 2 and says in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "set_option debug.skipKernelTC true\ntheorem f : 1 = 2 := by decide +kernel\n",
        "theorem f : 1 = 2 := by\n  set_option debug.skipKernelTC true in\n  decide +kernel\n",
        'theorem t : True := by\n  trivial\n-- "\ntheorem f : 1 = 2 := by\n  exact r"\\"\n  sorry -- "\n',
        "theorem t : ∀ x : {n : Nat //-1 = n}, True := by\n  trivial\n-- -/\ntheorem f : 1 = 2 := by\n  sorry\n",
        "theorem f : 1 = 2 := sorryAx _ false\n",
        "axiom propext' : 1 = 2\ntheorem f : 1 = 2 := propext'\n",
    ],
)
def test_a_file_that_would_smuggle_something_in_is_not_accepted(tmp_path, text):
    (tmp_path / "f.lean").write_text(text)
    assert verify(tmp_path / "f.lean").returncode in (1, 2)


def test_what_plain_lean_lacks_is_said_with_what_to_do(tmp_path):
    file = tmp_path / "mathlib.lean"
    file.write_text("theorem b (x y : Nat) : x + y = y + x := by ring\n\ntheorem c (x : ℝ) : x = x := rfl\n")
    result = verify(file)
    said = result.stdout.splitlines()
    assert result.returncode == 1
    assert said[0].startswith("rejected") and "`ring` needs Mathlib: --lean.project" in said[0]
    assert said[-1].startswith("note") and "line 3: nothing here declares `ℝ`" in said[-1]


def test_lemma_and_lean_3_are_named(tmp_path):
    (tmp_path / "lemma.lean").write_text("lemma a : 1 = 1 := rfl\n\ntheorem b : 1 = 1 := rfl\n")
    (tmp_path / "only.lean").write_text("\nlemma a : 1 = 1 := rfl\n")
    (tmp_path / "three.lean").write_text("import data.nat.basic\nlemma a : true := trivial\n")
    result = verify(tmp_path / "lemma.lean", tmp_path / "only.lean", tmp_path / "three.lean")
    assert "only.lean: line 2: unexpected identifier; expected command; `lemma` is" in result.stderr
    assert "rfl: unexpected identifier; expected command; `lemma` is a command of Mathlib" in result.stdout
    assert "three.lean: unknown module prefix 'data'; this is Lean 3" in result.stderr
