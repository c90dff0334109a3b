"""Files with proofs in their gaps: what is not a gap stays byte by byte."""

import re
import subprocess
from random import Random

import pytest

from node.lean.gaps.gap import CommandSpan, FileGaps, Gap
from node.lean.text.lexing import mentions
from node.proving.fill_check import FORMS, FileText, Fill, applied, edits_of, unified_diff

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
