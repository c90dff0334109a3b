"""`proofmesh verify` and `proofmesh trace`, and a lean-proxy on a Lake project; with genuine Lean."""

import json
from functools import partial

import pytest

from common.config import load
from common.lean import OutcomeKind, Theorem
from common.protocol import subjects
from common.protocol.messages import LeanRunReply, LeanRunRequest, LeanVerifyReply, LeanVerifyRequest
from node.command import trace
from node.lean_proxy.service import serve
from node.lean_proxy.settings import LeanProxySettings
from tests import lean_project
from tests.repositories import commit, repository

pytestmark = pytest.mark.lean


@pytest.fixture
def verify(proofmesh, lent_lean):
    return partial(proofmesh, "verify")


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


def test_rejected_proofs_are_told_with_why_and_strict_rejects_what_depends_on_its_file(pocket, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for name, text in (("Exercise.lean", ORDINARY), ("bad.lean", BAD)):
        (tmp_path / name).write_text(text)
    result = pocket("Exercise.lean", "bad.lean", "--strict", "--json")
    rows = {row["theorem"]: row for row in json.loads(result.out)["theorems"]}
    assert result.code == 1
    own = {name.removeprefix("Exercise.") for name, row in rows.items() if row["verdict"] == "accepted"}
    assert own == {"and_swap", "example", "even_or", "odd_or", "classical", "b", "g"}
    assert "Exercise.double (def, line 6)" in rows["Exercise.double_eq"]["reason"]
    # It has a hypothesis that its own text does not mention, by `variable` and `include`.
    assert rows["Exercise.modus_ponens"]["verdict"] == rows["Exercise.size_leaf"]["verdict"] == "rejected"
    assert "uses sorry" in rows["a"]["reason"] and "uses sorry" in rows["e"]["reason"]
    assert "other axioms than Lean's own: x" in rows["c"]["reason"]
    assert "ype mismatch" in rows["d"]["reason"] and rows["d"]["line"] == 7
    assert "uses a declaration that is not accepted" in rows["f"]["reason"]


def test_a_terminal_shows_a_table(pocket, tmp_path, monkeypatch):
    """Not where JSON is asked for: above."""
    (tmp_path / "short.lean").write_text("theorem a : True := trivial\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert pocket("short.lean").out.startswith("┏━")


def test_what_cannot_be_read_and_senseless_arguments_exit_with_2(verify, tmp_path):
    senseless = {(): "files or folders"} | {
        ("x.lean", *flag): flag[0] for flag in (("--seconds", "0"), ("--jobs", "-1"))
    }
    for arguments, says in senseless.items():
        result = verify(*arguments)
        assert result.code == 2 and says in result.err
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
    verdicts = {row["theorem"]: row["verdict"] for row in told["theorems"]}
    assert verdicts == {"two_eq": "accepted", "four": "accepted", "wrong": "rejected"}


def test_a_lake_project_is_verified_from_its_sources_with_its_own_lean(verify, tmp_path, monkeypatch):
    toolchain = lean_project.make_elan(tmp_path / "elan")
    project = lean_project.make_project(tmp_path / "demo", toolchain)
    for name, value in lean_project.environ(tmp_path / "elan", tmp_path / "elan" / "bin").items():
        monkeypatch.setenv(name, value)
    # What was built says something else than the source that is to be checked.
    text = "def Demo.double (n : Nat) : Nat := 2 * n\ntheorem t : Demo.double 3 = 2 * 3 := by rw [Demo.double]\n"
    (project / "Demo" / "Basic.lean").write_text(text)
    whole = verify(project, "--all")
    assert whole.code == 0, whole.out + whole.err
    assert "Basic.lean:1: Demo.double" in whole.out and "Basic.lean:2: t" in whole.out
    assert "as this file defines: Demo.double (def, line 1)" in whole.out


def test_a_submission_is_compared_with_a_reference_file_and_with_a_statement(verify, tmp_path):
    reference, good, bad = (tmp_path / name for name in ("Reference.lean", "good.lean", "bad.lean"))
    reference.write_text("def two : Nat := 2\ntheorem t : two + two = 4 := sorry\n")
    good.write_text("theorem helper : 1 + 1 = 2 := rfl\ntheorem t : 2 + 2 = 4 := by rw [← helper]\n")
    bad.write_text("def two : Nat := 1 + 1\ntheorem t : two + two = 4 := rfl\n")
    accepted = verify(good, "--against", "theorem t : 2 + 2 = 4")
    assert accepted.code == 0 and "accepted" in accepted.out, accepted.out + accepted.err
    rejected = verify(bad, "--against", reference)
    assert rejected.code == 1 and "the definition of two differs" in rejected.out
    senseless = verify(good, "--against", "nothing.lean")
    assert senseless.code == 2 and "not an existing file or folder, and not a statement" in senseless.err


# --- a lean-proxy on a Lake project -----------------------------------------------------------------------------------
@pytest.fixture
def project(tmp_path, monkeypatch):
    """A built project, and elan's `lake` first on PATH."""
    home = tmp_path / "elan"
    toolchain = lean_project.make_elan(home)
    for name, value in lean_project.environ(home, home / "bin").items():
        monkeypatch.setenv(name, value)
    return lean_project.make_project(tmp_path / "demo", toolchain)


@pytest.fixture
def config(project, tmp_path):
    """A configuration file for it."""
    file = tmp_path / "mesh.toml"
    file.write_text(f'[lean]\nproject = "{project}"\nimports = ["Demo.Basic"]\nopens = ["Demo"]\n')
    return file


def test_a_lean_proxy_serves_a_project_and_says_so(background, mesh_run, project, config, tmp_path):
    settings = load(LeanProxySettings, config, "lean_proxy")
    settings.workers, settings.key = 1, str(tmp_path / "key.pem")
    theorem = Theorem("t", "", "double 0 = 0")
    with background.node("lean-proxy", mesh_run.node, partial(serve, settings=settings)) as node:

        def ask(subject, request, reply):
            return background.run(node.bus.request_patiently(subject, request, reply, timeout=60, deadline=60), 90)

        ran = ask(subjects.LEAN_RUN, LeanRunRequest(theorem=theorem, tactics=("exact double_zero",)), LeanRunReply)
        assert ran.outcomes[0].kind is OutcomeKind.PROVED
        check = LeanVerifyRequest(theorem=theorem, script="exact double_zero")
        assert ask(subjects.LEAN_VERIFY, check, LeanVerifyReply).accepted
        facts = node.info().facts
        assert (facts.version, facts.name) == ("4.35.0", lean_project.NAME)
        assert (facts.project, facts.header) == (str(project), "import Demo.Basic\nopen Demo")


# --- proofmesh trace: files, folders, resuming, errors ----------------------------------------------------------------
GOOD = "theorem {name} (n m : Nat) (h : n = m) : n + 0 = m := by\n  rw [Nat.add_zero, h]\n"
BROKEN = "theorem broken (n : Nat) : n = n + 1 := by\n  rw [Nat.add_zero]\n"


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def make_files(folder):
    (folder / "sub").mkdir(parents=True)
    (folder / ".lake").mkdir()
    (folder / "a.lean").write_text(GOOD.format(name="first") + BROKEN + GOOD.format(name="second"))
    (folder / "sub" / "b.lean").write_text(GOOD.format(name="third"))
    (folder / ".lake" / "c.lean").write_text(GOOD.format(name="not_ours"))
    return folder


def test_a_folder_is_traced_with_errors_by_theorem_and_a_second_run_does_nothing_again(tmp_path, capsys):
    source, out = make_files(tmp_path / "source"), tmp_path / "out"
    formats = ["--format", "proofmesh", "leandojo", "leantree", "transitions"]
    assert trace.main([str(source), "--out", str(out), "--jobs", "2", *formats]) == 0
    said = capsys.readouterr()
    assert "2 files (0 of an earlier run, 0 failed); 4 theorems (1 that Lean does not accept)" in said.out
    assert "a.lean:3: broken:" in said.err
    steps = rows(out / "steps.jsonl")
    traced = (("a.lean", "first"), ("a.lean", "second"), ("sub/b.lean", "third"))
    wanted = [(*each, tactic) for each in traced for tactic in ("rw [Nat.add_zero]", "rw [h]")]
    assert [(row["file"], row["theorem"], row["tactic"]) for row in steps] == wanted
    assert len(rows(out / "theorems.jsonl")) == 4 and len(rows(out / "leantree.jsonl")) == 2
    assert len(json.loads((out / "leandojo" / "theorems.json").read_text())) == 3
    written = {path: path.read_bytes() for path in (out / "files").iterdir()}
    (source / "sub" / "b.lean").write_text(GOOD.format(name="renamed"))
    assert trace.main([str(source), "--out", str(out)]) == 0
    assert "2 files (1 of an earlier run" in capsys.readouterr().out
    assert sum(path.read_bytes() == text for path, text in written.items()) == 1
    assert rows(out / "steps.jsonl")[-1]["theorem"] == "renamed"


def test_a_commit_of_a_repository_is_traced_and_what_cannot_be_cloned_is_told_in_a_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("node.lean.trace.sources.cache_directory", lambda: tmp_path / "cache")
    origin = repository(tmp_path / "origin", {"A.lean": GOOD.format(name="first"), "lakefile.toml": 'name = "a"\n'})
    first = commit(origin)
    commit(origin, {"A.lean": GOOD.format(name="second")})
    out = ["--out", str(tmp_path / "out"), "--jobs", "1", "--no-split"]
    assert trace.main([f"file://{origin}@{first}", "--lean.toolchain", "pocket", *out]) == 0
    (row,) = rows(tmp_path / "out" / "steps.jsonl")
    assert (row["theorem"], row["commit"], row["url"]) == ("first", first, f"file://{origin}")
    capsys.readouterr()
    refused = {f"file://{origin}@v9": "no branch or tag `v9`", f"file://{origin}": "no commit given"}
    for name, reason in refused.items():
        assert trace.main([name, *out]) == 2
        assert reason in capsys.readouterr().err
