"""`proofmesh verify FILE.lean`, with real Lean."""

import subprocess
import sys

import pytest


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
