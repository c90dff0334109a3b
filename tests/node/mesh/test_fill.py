"""`proofmesh fill PATH...`, with real Lean."""

import json
import signal
import stat
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from node.proving import fill_run
from tests.node.prover.nodes import shared_prover

pytestmark = pytest.mark.lean

HARD = "theorem hard (f : Nat → Nat) (h : ∀ n, f (f n) < f (n + 1)) : ∀ n, f n = n := by\n  sorry\n"
"""A statement that no search proves within a test's time, and that never exhausts a search."""


@pytest.fixture
def fill(proofmesh, lent_lean, tmp_path_factory, monkeypatch):
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr("node.proving.fill.cache_directory", lambda: cache)
    return partial(proofmesh, "fill")


class Running(subprocess.Popen[str]):
    """The command."""

    first: str = ""
    """The output line about a proved gap."""


@contextmanager
def running(*arguments: object) -> Iterator[Running]:
    """The running command, after it has reported a proved gap."""
    command = [sys.executable, "-m", "node.command.cli", "fill", *map(str, arguments)]
    process = Running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        process.first = next(line for line in process.stderr if line.startswith("proved"))
        yield process
    finally:
        process.kill()
        process.communicate()


FILE = """\
namespace Exercise
variable (p q : Prop)
/-- Twice a number; sorry. -/
def double (n : Nat) : Nat := n + n

theorem swap (h : p ∧ q) : q ∧ p := by
  constructor
  · sorry
  · sorry -- sorry

theorem double_eq (n : Nat) : double n = n + n := sorry
def unknown : Nat := sorry
theorem wrong : double 1 = 3 := by
  sorry
end Exercise
"""


def test_a_file_is_filled_as_far_as_it_goes_and_the_diff_says_how(fill, tmp_path):
    file = tmp_path / "Exercise.lean"
    text = FILE.replace("\n", "\r\n").rstrip().encode()
    file.write_bytes(text)
    file.chmod(0o640)
    done = fill("Exercise.lean", "--seconds", "10", "--write")
    assert done.code == 1, done.err
    assert "3 of 5 gaps filled; the whole file verified by Lean 4.35.0, checked again by the kernel" in done.err
    assert "left     Exercise.lean:12: unknown: a value is missing here, not a proof: Nat" in done.err
    assert "open     Exercise.lean:14: wrong: " in done.err
    filled = file.read_bytes()
    assert filled.count(b"\r\n") == filled.count(b"\n") == text.count(b"\n") and not filled.endswith(b"\n")
    assert filled.count(b"sorry") == text.count(b"sorry") - 3 and stat.S_IMODE(file.stat().st_mode) == 0o640
    file.write_bytes(text)
    patched = subprocess.run(["patch", "--binary", "-p0"], input=done.out.encode(), cwd=tmp_path, check=False)
    assert patched.returncode == 0 and file.read_bytes() == filled


def test_files_of_a_folder_may_import_each_other_and_one_that_changes_is_not_written(fill, tmp_path, monkeypatch):
    changed = tmp_path / "Changed.lean"
    write = fill_run.write_file

    def late(path, *arguments, **named):
        if path == changed:
            changed.write_text("-- another text\n")
        return write(path, *arguments, **named)

    monkeypatch.setattr(fill_run, "write_file", late)
    changed.write_text("theorem a : True := sorry\n")
    (tmp_path / "Lib").mkdir()
    (tmp_path / "Lib" / "Basic.lean").write_text("def two : Nat := 2\ntheorem two_eq : two = 2 := by\n  sorry\n")
    (tmp_path / "Use.lean").write_text("import Lib.Basic\ntheorem four : two + two = 4 := sorry\n")
    (tmp_path / "Whole.lean").write_text("theorem t : True := trivial\n")
    (tmp_path / "Broken.lean").write_text("import Mathlib\ntheorem t : True := sorry\n")
    result = fill(tmp_path, "--write", "--table", "--lean.toolchain", "pocket")
    said = result.err
    assert result.code == 2 and "Broken.lean: unknown module prefix 'Mathlib'" in said
    assert "Whole.lean: no `sorry` in it" in said and "two_eq" in said
    for name in ("Lib/Basic.lean", "Use.lean"):
        assert "sorry" not in (tmp_path / name).read_text() and f"+++ {tmp_path / name}" in result.out
    assert "not written: it has changed since it was read" in said and changed.read_text() == "-- another text\n"
    assert len(list(tmp_path.iterdir())) == 5
    again = fill(tmp_path / "Use.lean", "--lean.toolchain", "pocket")  # what it imports is found though it is not named
    assert again.code == 0 and again.out == ""


BAD = {
    "error": (b"theorem a : True := sorry\ntheorem b : 1 = true := rfl\n", "does not compile: line 2: "),
    "inside": (b"theorem a : True := by\n  exact b\n  sorry\n", "its command does not compile: line 2: Unknown id"),
    "mark": (b"\xef\xbb\xbftheorem a : True := sorry\n", "byte order mark"),
    "bytes": (b"\xff\xfe", "not UTF-8"),
    "nothing": (None, "No such file"),
}
"""What cannot be imported, has no gap, lacks a value or is false: above."""


def test_bad_input_gets_a_line_that_says_what_is_wrong_and_the_rest_goes_on(fill, tmp_path, monkeypatch):
    for name, (data, _) in BAD.items():
        if data is not None:
            (tmp_path / f"{name}.lean").write_bytes(data)
    (tmp_path / "good.lean").write_text("theorem a : True := sorry\n")
    result = fill(*(f"{name}.lean" for name in (*BAD, "good")))
    lines = result.err.split("\n")
    for name, (_, says) in BAD.items():
        assert sum(f"{name}.lean" in line and says in line for line in lines) == 1, (name, lines)
    assert result.code == 2 and "+++ good.lean" in result.out and "+++ error.lean" in result.out
    assert (tmp_path / "good.lean").read_text() == "theorem a : True := sorry\n"
    monkeypatch.setattr("node.proving.prover.CONNECT_SECONDS", 0.2)
    absent = (("--url", "nats://127.0.0.1:9", 3, "127.0.0.1:9"), ("--policy", "own:nowhere", 2, "--policy: "))
    for flag, value, code, says in absent:
        result = fill("good.lean", flag, value)
        assert result.code == code and says in result.err and "\n" not in result.err.strip()


LONG = ("--write", "--seconds", "600", "--simulations", "1000000")


def test_after_a_kill_the_file_is_whole_a_second_run_goes_on_and_ctrl_c_keeps_what_is_proved(tmp_path):
    file = tmp_path / "x.lean"
    text = f"-- {uuid.uuid4().hex}, so that no earlier run has seen it\ntheorem a : True := sorry\n{HARD}"
    file.write_text(text)
    with running(file, *LONG) as process:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    assert file.read_text() == text and len(list(tmp_path.iterdir())) == 1
    with running(file, *LONG) as process:
        assert "found by an earlier run" in process.first
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "1 of 2 gaps filled" in said and "waiting" in said and "+theorem a : True := by " in printed
    assert file.read_text().count("sorry") == 1


def test_gaps_are_given_to_a_running_mesh(fill, background, mesh_run, lean_proxy, tmp_path):
    file = tmp_path / "x.lean"
    file.write_text("variable (p q : Prop)\ntheorem swap (h : p ∧ q) : q ∧ p := ⟨sorry, h.1⟩\n")
    with shared_prover(background, mesh_run, policy="fixed", searches=1):
        done = fill(file, *mesh_run.flags, "--closing", "rfl")
        assert done.code == 0 and "the mesh" in done.err and "sorry" in file.read_text(), done.err
        again = fill(file, "--write", *mesh_run.flags, "--closing", "rfl", "--json")
    assert "sorry" not in file.read_text()
    told = json.loads(again.out)
    assert again.code == 0 and told["counts"]["filled"] == 1 and told["files"][0]["written"]
    assert told["files"][0]["diff"] == done.out and told["files"][0]["gaps"][0]["remembered"]
