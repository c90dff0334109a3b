"""Pocket Lean's own library: its declarations from compiled modules, and its axioms as `#print axioms` has them."""

import random
import re
import subprocess
from pathlib import Path

import pytest

from node.lean.olean.declarations import Declarations, groups, read_answer, uses
from node.lean.olean.module import Kind, Module
from node.lean.olean.terms import Terms
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.toolchain.judge.conftest import Run

pytestmark = pytest.mark.lean


def check_module(run: Run, file: Path) -> int:
    """Declare a module of the library again, after its imports. Returns the number of steps."""
    terms = Terms()
    module = Module(file, terms)
    declared = [group for group in groups(module, uses(module, terms)) if group[0].kind is not Kind.QUOTIENT]
    document = Declarations(terms)
    for group in declared:
        document.group(group)
    module.close()
    finished = run(document.written(module.imports, [group[0].name for group in declared]))
    answer = read_answer(finished.stdout, len(declared), len(declared))
    refused = {group[0].name: why for group, why in zip(declared, answer.reasons, strict=True) if why}
    # What the library may declare and a user may not, and what needs it.
    others = {name: why for name, why in refused.items() if "only the library" not in why and "not declared" not in why}
    assert not others and (not refused or any("only the library" in why for why in refused.values())), refused
    axioms = {"propext", "Quot.sound", "Classical.choice", "sorryAx"}
    assert all(each is None or each <= axioms for each in answer.axioms)
    return len(declared) - len(refused)


def library() -> list[Path]:
    return sorted(Path(LeanToolchain.pocket().environment["LEAN_PATH"]).rglob("*.olean"))


def test_a_module_of_the_library_is_accepted_again(run: Run) -> None:
    assert check_module(run, next(file for file in library() if file.stem == "Take")) > 30


def test_axioms_are_those_that_lean_prints(run: Run) -> None:
    # 1. Names of two modules that Lean can print.
    names: set[str] = set()
    for file in random.Random(3).sample(library(), 2):
        module = Module(file, Terms())
        names |= {name for name, each in module.constants.items() if each.safe and re.fullmatch(r"[\w.]+", name)}
        module.close()
    chosen = [name for name in sorted(names) if "_" not in name.split(".")[-1][:1] and not re.search(r"\.\d|\._", name)]
    # 2. The judge's answer, and Lean's.
    asked = run(Declarations(Terms()).written(["Init"], chosen)).stdout
    toolchain = LeanToolchain.pocket()
    printed = subprocess.run(
        [*toolchain.command, "--stdin"],
        env=dict(toolchain.environment),
        input="".join(f"#print axioms {name}\n" for name in chosen),
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    # 3. They are the same, of what is not private.
    compared = 0
    for name, found_axioms in zip(chosen, read_answer(asked, 0, len(chosen)).axioms, strict=True):
        axioms = found_axioms and found_axioms - {"Nat.gcd"}  # see RUNS_CODE
        if f"'{name}' does not depend on any axioms" in printed:
            assert axioms == set(), name
        elif found := re.search(rf"'{re.escape(name)}' depends on axioms: \[([^\]]*)\]", printed):
            assert axioms == {each.strip() for each in found[1].split(",")}, name
        else:
            continue
        compared += 1
    assert compared > 40
