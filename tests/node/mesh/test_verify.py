"""`proofmesh verify FILE.lean`, with real Lean."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.lean


def verify(*arguments):
    command = [sys.executable, "-m", "node.mesh.cli", "verify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_accepted_proofs_exit_with_0(tmp_path):
    file = tmp_path / "good.lean"
    file.write_text(
        "theorem swap (p q : Prop) : p ∧ q → q ∧ p := by\n  intro h\n  exact ⟨h.2, h.1⟩\n\n"
        "theorem em (p : Prop) : p ∨ ¬p := by exact Classical.em p\n"
    )
    result = verify(file)
    assert result.returncode == 0, result.stderr
    assert f"accepted  {file}:1: swap (axioms: none" in result.stdout
    assert f"accepted  {file}:5: em (axioms: Classical.choice, Quot.sound, propext" in result.stdout


def test_one_rejected_proof_exits_with_1_and_says_why(tmp_path):
    file = tmp_path / "bad.lean"
    file.write_text(
        "theorem a (p : Prop) : p := by\n  sorry\n"
        "theorem b (p : Prop) (h : p) : p := by\n  exact h\naxiom x : False\n"
        "theorem c (p : Prop) (h : p) : p := by\n  exact h\n"
        "theorem d (p : Prop) (h : p) : p := by\n  exact (h : False)\n"
    )
    result = verify(file)
    assert result.returncode == 1
    verdicts = [line.split()[0] for line in result.stdout.splitlines() if line.startswith(("accepted", "rejected"))]
    assert verdicts == ["rejected", "rejected", "accepted", "rejected"]
    assert "`sorry` is not allowed" in result.stdout and "`axiom` is not allowed" in result.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("theorem a (p : Prop) : q := by\n  simp\n", "Unknown identifier `q`"),
        ("def x := 1\n", "no theorem here"),
        ("theorem a : True := trivial\n", "begins with `:= by`"),
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


GOOD = "theorem {} (p : Prop) (h : p) : p := by exact h\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.lean").write_text(GOOD.format("a"))
    (tmp_path / "one" / "b.lean").write_text(GOOD.format("b") + "theorem c (p : Prop) : p := by skip\n")
    (tmp_path / "one" / ".lake").mkdir()
    (tmp_path / "one" / ".lake" / "theirs.lean").write_text("not ours\n")
    (tmp_path / "d.lean").write_text(GOOD.format("d"))
    return tmp_path


def test_files_and_folders_are_checked_each_once_and_reported_as_json(folder):
    result = verify(folder / "one", folder / "d.lean", folder / "one" / "a.lean", "--json", "--jobs", 2)
    told = json.loads(result.stdout)
    assert result.returncode == 1 and told["counts"] == {"accepted": 3, "rejected": 1, "unreadable": 0}
    assert [(row["theorem"], row["verdict"]) for row in told["theorems"]] == [
        ("a", "accepted"),
        ("b", "accepted"),
        ("c", "rejected"),
        ("d", "accepted"),
    ]
    assert told["theorems"][2]["line"] == 2 and "unsolved goals" in told["theorems"][2]["reason"]
    assert told["theorems"][0]["axioms"] == [] and told["theorems"][0]["lean"] == "4.35.0"


def test_a_table_shows_every_verdict_and_bad_input_wins_over_rejected(folder):
    (folder / "one" / "empty").mkdir()
    result = verify(folder / "one" / "b.lean", folder / "one" / "empty", "--table")
    assert result.returncode == 2
    for word in ("accepted", "rejected", "unreadable", "no .lean file", "1 accepted, 1 rejected, 1 unreadable"):
        assert word in result.stdout, result.stdout


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
        "open Nat set_option debug.skipKernelTC true\ntheorem f : 1 = 2 := by decide +kernel\n",
        'theorem t : True := by\n  trivial\n-- "\ntheorem f : 1 = 2 := by\n  exact r"\\"\n  sorry -- "\n',
        "theorem t : ∀ x : {n : Nat //-1 = n}, True := by\n  trivial\n-- -/\ntheorem f : 1 = 2 := by\n  sorry\n",
    ],
)
def test_a_file_that_would_smuggle_something_in_is_not_accepted(tmp_path, text):
    (tmp_path / "f.lean").write_text(text)
    assert verify(tmp_path / "f.lean").returncode in (1, 2)
