"""Filling a file without Lean: what is not a gap stays byte by byte, files are replaced whole or left as they are, and
what earlier runs have found out about gaps."""

import os
import re
import stat
import subprocess
from random import Random
from unittest.mock import Mock

import pytest

from common.lean import Context, Place
from node.lean.gaps.gap import CommandSpan, FileGaps, Gap
from node.lean.text.lexing import mentions
from node.proving.fill import FillMemory, Remembered
from node.proving.fill_check import FORMS, FileText, Fill, applied, edits_of, unified_diff
from node.proving.fill_run import NotWritten, write_file
from node.proving.prover import Budget

SCRIPTS = (("simp",), ("intro x", "simp [x]"), ("cases h", "· rfl", "· omega"))


def gaps_of(text: str) -> FileGaps:
    """A file whose commands are divided by blank lines."""
    found, at, line = FileGaps(text), 0, 1
    for block in re.split(r"(?<=\n\n)", text):
        command = CommandSpan(at, at + len(block), line, line + max(block.count("\n") - 1, 0), "theorem")
        for mention in mentions(block):
            before = block[: mention.start]
            tactic = bool(re.search(r"(by|·|<;>|=>)\s*$", before))
            column = len(before) - before.rfind("\n") - 1
            found.gaps.append(Gap(at + mention.start, line + before.count("\n"), column, "t", command, tactic, "⊢ P"))
        at, line = at + len(block), line + block.count("\n")
    return found


PIECES = (
    "theorem t𝔸 : P := sorry\n\n",
    "theorem t : P := by\n  sorry -- sorry\n\n",
    "theorem t : P ∧ Q := ⟨sorry, by sorry⟩\n\n",
    "theorem t : P := by\n  have h : Q := by   sorry\n  constructor\n  · sorry\n  · exact foo sorry h\n\n",
    '/- sorry -/ def «sorry» := "sorry\t"\n\n',
    "theorem t : P := by\n  constructor <;> sorry\n\n",
    "example : P :=\n  sorry\n\n",
)


def test_only_gaps_and_blanks_before_them_change_whatever_ends_the_lines():
    random = Random(1)
    for _ in range(200):
        text = "".join(random.choices(PIECES, k=random.randrange(1, 6)))
        text = text if random.random() < 0.7 else text.rstrip("\n")
        file = gaps_of(text)
        chosen = [gap for gap in file.gaps if random.random() < 0.7]
        fills = {gap: Fill(random.choice(SCRIPTS), random.randrange(len(FORMS))) for gap in chosen}
        edits = edits_of(file, fills)
        filled = applied(text, edits)
        pieces, at = [], 0
        for gap in chosen:
            pieces.append(re.escape(text[at : gap.start].rstrip(" ")))
            at = gap.end
        assert re.fullmatch(r"(?s:.*?)".join([*pieces, re.escape(text[at:])]), filled)
        assert len(mentions(filled)) == len(file.gaps) - len(chosen)
        for end in ("\n", "\r\n") if "\n" in text else ("\n",):
            raw = text.replace("\n", end)
            assert FileText(raw.encode()).text == text
            assert FileText(raw.encode()).edited(edits) == filled.replace("\n", end)


def test_proofs_of_one_command_stand_each_behind_the_other():
    file = gaps_of("theorem t : P ∧ Q := ⟨sorry, by sorry⟩\n")
    fills = {gap: Fill(("intro x", "simp")) for gap in file.gaps}
    lines = applied(file.text, edits_of(file, fills)).split("\n")
    assert lines[0] == "theorem t : P ∧ Q := ⟨(by" and lines[2].strip() == "simp), by ("
    # The second block stands under its own parenthesis, wherever the first one has moved that.
    assert lines[3] == " " * (lines[2].index("by (") + len("by ") + 2) + "intro x" and lines[4].strip() == "simp)⟩"


@pytest.mark.process
@pytest.mark.parametrize("command", [["patch", "-p0"], ["git", "apply", "-p0"]])
def test_patch_and_git_take_the_diff(tmp_path, command):
    folder = tmp_path / "a folder"
    folder.mkdir()
    old, new = "a\r\nb\nc\x0cc\u2028\nsorry", "a\r\nb\nc\x0cc\u2028\nby\r\n  simp"
    (folder / "x.lean").write_bytes(old.encode())
    diff = unified_diff("a folder/x.lean", old, new)
    result = subprocess.run(command, input=diff.encode(), cwd=tmp_path, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr + result.stdout
    assert (folder / "x.lean").read_bytes() == new.encode()


# --- writing ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def file(tmp_path):
    file = tmp_path / "x.lean"
    file.write_bytes(b"old")
    return file


def refused(file, why):
    with pytest.raises(NotWritten, match=why):
        write_file(file, b"old", b"new")


def test_a_file_is_replaced_with_its_mode_and_through_links(file):
    link = file.with_name("link.lean")
    file.chmod(0o640)
    link.symlink_to(file)
    write_file(link, b"old", b"new")
    assert file.read_bytes() == b"new" and stat.S_IMODE(file.stat().st_mode) == 0o640 and link.is_symlink()
    assert [each.name for each in sorted(file.parent.iterdir())] == ["link.lean", "x.lean"]


def test_a_file_that_is_write_protected_has_changed_or_is_gone_or_whose_folder_takes_none_is_left(file, monkeypatch):
    file.chmod(0o444)
    refused(file, "write-protected")  # also by root
    assert file.read_bytes() == b"old"
    file.chmod(0o644)
    file.write_bytes(b"other")
    refused(file, "has changed")
    assert file.read_bytes() == b"other" and len(list(file.parent.iterdir())) == 1
    file.unlink()
    refused(file, "No such file")
    file.write_bytes(b"old")
    # As a file system that is mounted read-only says it; root passes over permission bits.
    monkeypatch.setattr("tempfile.mkstemp", Mock(side_effect=OSError(30, os.strerror(30))))
    refused(file, "Read-only file system")


# --- memory -----------------------------------------------------------------------------------------------------------
PLACE = Place(Context.of("def a := 1\n"), "theorem t : a = 1 := ", "\n", False)


def test_a_place_is_recalled_by_its_text_and_its_lean_and_what_cannot_be_read_or_written_is_not_there(tmp_path):
    memory = FillMemory(tmp_path, ("4.35",))
    assert memory.recall(PLACE) is None
    memory.keep(PLACE, Remembered(("rfl",), by="search"))
    found = memory.recall(PLACE)
    assert found is not None and found.script == ("rfl",)
    assert FillMemory(tmp_path, ("4.36",)).recall(PLACE) is None
    assert memory.recall(Place(Context.of("def a := 2\n"), PLACE.before, PLACE.after, PLACE.tactic)) is None
    memory = FillMemory(tmp_path / "fill", ("4.35",))
    memory.keep(PLACE, Remembered(("rfl",)))
    (file,) = memory.folder.iterdir()
    file.write_bytes(b'{"script": ["rf')
    assert memory.recall(PLACE) is None
    (tmp_path / "no folder").write_text("")
    FillMemory(tmp_path / "no folder", ()).keep(PLACE, Remembered(("rfl",)))


def test_a_search_without_success_counts_for_no_larger_budget_and_no_other_way():
    failed = Remembered(reason="no proof", budget_seconds=20, budget_simulations=100, way="tactics")
    assert failed.spares(Budget(20, 100), "tactics") and failed.spares(Budget(5, 50), "tactics")
    assert not failed.spares(Budget(21, 100), "tactics") and not failed.spares(Budget(20, 101), "tactics")
    assert not failed.spares(Budget(20, 100), "own:model")
    assert Remembered(("rfl",)).spares(Budget(900, 9000), "whatever")
