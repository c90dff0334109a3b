"""The generated syntax modules are what the generator makes of the installed wheel."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from data.generators import pocket_syntax, pocket_syntax as native_symbols
from node.lean.toolchain.pocket import build, launcher


@pytest.mark.lean
def test_the_checked_in_modules_are_as_generated() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "data.generators.pocket_syntax", "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_symbols_are_read_as_lean_writes_them() -> None:
    assert native_symbols.demangle("l_Lean_Parser_Tactic_exact") == ("Lean", "Parser", "Tactic", "exact")
    assert native_symbols.demangle("l_Lean_term__Matches__") == ("Lean", "term_Matches_")
    assert native_symbols.demangle("l_term___u2227__") == ("term_∧_",)
    assert native_symbols.demangle("l_Nat_rec__on_x27") == ("Nat", "rec_on'")


def test_parsers_outside_the_promise_are_left_out() -> None:
    assert pocket_syntax.classify(("Lean", "Parser", "Tactic", "simp")) == "tactic"
    assert pocket_syntax.classify(("term_∧_",)) == "term"
    for name in (("Lean", "Parser", "Tactic", "grind"), ("Lean", "Parser", "Tactic", "bv_decide"), ("Std", "term_")):
        try:
            pocket_syntax.classify(name)
        except LookupError:
            continue
        raise AssertionError(name)


def declared_native(text: str) -> list[str]:
    """Full names of what a module declares to run as native code."""
    names: list[str] = []
    namespaces: list[str] = []
    for line in text.splitlines():
        if opened := re.match(r"namespace (\S+)", line):
            namespaces.append(opened[1])
        elif (closed := re.match(r"end (\S+)", line)) and namespaces and namespaces[-1] == closed[1]:
            namespaces.pop()
        elif declared := re.match(
            r'@\[.*extern "[^"]*".*?\] (?:protected |unsafe )*(?:opaque|def|instance) (\S+)', line
        ):
            names.append(".".join([*namespaces, declared[1]]))
    return names


@pytest.mark.slow
@pytest.mark.lean
def test_what_is_declared_native_has_its_native_function() -> None:
    symbols = [
        name for name, _ in native_symbols.dynamic_symbols(Path(launcher.find_library())) if name.startswith("l_")
    ]
    native = {".".join(native_symbols.demangle(symbol.removesuffix("___boxed"))) for symbol in symbols}
    files = build.module_files(build.SOURCES).values()
    generated = ("Syntax", "Unexpanders")
    declared = [name for file in files if file.stem not in generated for name in declared_native(file.read_text())]
    assert len(declared) > 150
    assert [name for name in declared if name not in native] == []
