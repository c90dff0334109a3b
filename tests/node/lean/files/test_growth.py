"""Scanning a text takes time in proportion to its length, whatever the text."""

import gc
import time
from collections.abc import Callable

import pytest

from node.lean.check.files.clean import cleaned, code_in, touches_statements
from node.lean.check.files.commands import Command, LookedAt, Text
from node.lean.check.files.compiling import Compiled, _behind, _owner
from node.lean.check.files.proofs import theorems_assumed
from node.lean.check.files.report import FileMessage
from node.lean.check.files.sources import imports_of
from node.lean.text.declarations import NoProof, block_of, declarations
from node.lean.text.lexing import lex, mentions, uncommented
from node.lean.text.statement import imports_end

CHARACTERS = 8_000
"""Length of the shorter of two texts."""

MEASURABLE = 0.004
"""Seconds. Shorter times are too uncertain to compare."""

SHAPES = {
    "comments opened": "/- ",
    "comments opened and closed behind": "/- /- -/",
    "comments closed": "-/ ",
    "strings": '" ',
    "strings of escapes": '"\\',
    "raw strings": 'r#" ',
    "attributes unclosed": "@[",
    "attributes unclosed in lines": "@[a, b\n",
    "attribute commands": "attribute [",
    "prefixes": "open A in\n",
    "prefixes in a line": "set_option a in ",
    "brackets": "([{⟨",
    "examples": "example : 1 = 1 := rfl\n",
    "guards": "/-- info: 1 -/\n#guard_msgs in\n#eval 1\n",
    "guards in a line": "#guard_msgs in ",
    "a long line of names": "a.b ",
    "blanks": " ",
    "guillemets": "«",
    "variables": "variable (h : p)\n",
    "sections": "section\nvariable (n : Nat)\n",
    "notation": 'notation "a" => 1\n',
    "bars": "| ",
    "theorems": "theorem a : p := sorry\n",
    "theorems of bars": "theorem a : p\n | 0 => q\n",
    "signs of code": "+ native",
    "ends": "end\n",
    "exits": "#exit\n",
    "imports": "public import A\n",
}
OPENINGS = {"theorems of bars": "", "variables": "theorem t : p := sorry\n", "brackets": "theorem a : "}


def look(text: str) -> None:
    looked = LookedAt(text)
    looked.theorems()
    for command in looked.commands:
        looked.proof_start(command)


def divide(text: str) -> None:
    """Find commands by their text, as for those that Lean has not reported."""
    read = Text(text)
    found: list[Command] = []
    while (following := read.after(found[-1] if found else None)) is not None:
        found.append(following)
    read.namespaces(found)
    read.without(found)
    for command in found:
        _owner(found, read, FileMessage("error", "", command.line))
    if found:
        _behind(Compiled(read, commands=found[:1]), found[0])


def block(text: str) -> None:
    try:
        block_of(text)
    except NoProof:
        return


SCANS: list[Callable[[str], object]] = [
    *(lex, uncommented, mentions, imports_of, imports_end, declarations, block, theorems_assumed),
    *(Text, divide, look, code_in, touches_statements, cleaned),
]


def seconds(scan: Callable[[str], object], text: str) -> float:
    """Time of this process, without that of the garbage collector, which depends on all other tests."""
    gc.disable()
    try:
        started = time.process_time()
        scan(text)
        return time.process_time() - started
    finally:
        gc.enable()


ALWAYS = {
    *("comments opened", "strings of escapes", "attributes unclosed"),
    *("prefixes in a line", "guards in a line", "a long line of names"),
}
"""Shapes that are also tested when slow tests are left out."""


@pytest.mark.parametrize(
    "shape", [shape if shape in ALWAYS else pytest.param(shape, marks=pytest.mark.slow) for shape in SHAPES]
)
def test_four_times_the_text_takes_about_four_times_the_time(shape: str) -> None:
    """Sixteen times, if a scan is quadratic: eight is far from both, so the noise of a busy machine does not matter."""
    part = SHAPES[shape]
    short = OPENINGS.get(shape, "") + part * (CHARACTERS // len(part))
    long = OPENINGS.get(shape, "") + part * (4 * CHARACTERS // len(part))
    for scan in SCANS:
        once, fourfold = seconds(scan, short), seconds(scan, long)
        for _ in range(4):
            if fourfold <= 8 * max(once, MEASURABLE):
                break
            once, fourfold = min(once, seconds(scan, short)), min(fourfold, seconds(scan, long))
        assert fourfold <= 8 * max(once, MEASURABLE), (
            f"{getattr(scan, '__name__', scan)}: {once:.4f} s, {fourfold:.4f} s"
        )
