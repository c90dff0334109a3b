"""Data that is not what the format says, very deep terms, panics, and code that the kernel could run."""

import random
import re
from collections.abc import Callable

import pytest

from node.lean.toolchain import judge
from tests.node.lean.toolchain.judge.conftest import Judge, Run
from tests.node.lean.toolchain.judge.declarations import Answer, Data, answer

pytestmark = pytest.mark.lean

DEEP = 200_000

WELL_FORMED = b"""proofmesh-declarations 1
names 3
s 0 4:Init
s 0 1:A
n 2 7
levels 1
p 2
expressions 3
s 0
s 1
c 3 1 1
imports 1
1
steps 1
a 3 1 2 1
queries 1
3
end
"""

MALFORMED = {
    "header": (b"proofmesh-declarations 1", b"proofmesh-declarations 2"),
    "no header": (b"proofmesh-declarations 1\n", b""),
    "two separators": (b"names 3", b"names  3"),
    "superfluous zero": (b"names 3", b"names 03"),
    "too few names": (b"names 3", b"names 4"),
    "too many names": (b"names 3", b"names 2"),
    "huge count": (b"names 3", b"names 99999999999999999999"),
    "sign": (b"names 3", b"names +3"),
    "parent ahead": (b"s 0 4:Init", b"s 1 4:Init"),
    "text too short": (b"4:Init", b"3:Init"),
    "text too long": (b"4:Init", b"5:Init"),
    "text without end": (b"4:Init", b"4000000:Init"),
    "not UTF-8": (b"4:Init", b"4:In\xfft"),
    "level of no name": (b"\np 2\n", b"\np 9\n"),
    "unknown level": (b"\np 2\n", b"\nz 2\n"),
    "level ahead": (b"\np 2\n", b"\nm 0 1\n"),
    "expression of no level": (b"\ns 1\n", b"\ns 2\n"),
    "expression ahead": (b"\ns 1\n", b"\na 0 1\n"),
    "unknown expression": (b"\ns 1\n", b"\nz 1\n"),
    "index too large": (b"\ns 1\n", b"\nb 1048576\n"),
    "upper-case digits": (b"\ns 1\n", b"\nn FF\n"),
    "literal with zeros": (b"\ns 1\n", b"\nn 00\n"),
    "literal without digits": (b"\ns 1\n", b"\nn \n"),
    "too few levels": (b"c 3 1 1", b"c 3 2 1"),
    "import of no name": (b"imports 1\n1", b"imports 1\n4"),
    "unknown module": (b"imports 1\n1", b"imports 1\n2"),
    "unknown step": (b"a 3 1 2 1", b"b 3 1 2 1"),
    "step of no expression": (b"a 3 1 2 1", b"a 3 1 2 3"),
    "step without value": (b"a 3 1 2 1", b"t 3 1 2 1"),
    "hint too large": (b"a 3 1 2 1", b"d 3 1 2 1 1 4294967298"),
    "no types": (b"a 3 1 2 1", b"i 0 0 0"),
    "query of no name": (b"queries 1\n3", b"queries 1\n4"),
    "no end": (b"end\n", b""),
    "half an end": (b"end\n", b"en"),
    "more behind the end": (b"end\n", b"end\nend\n"),
    "a zero": (b"end\n", b"end\0"),
    "empty": (WELL_FORMED, b""),
}


def test_well_formed_data_is_accepted_with_any_separators(run: Run) -> None:
    for content in (WELL_FORMED, WELL_FORMED[:-1].replace(b"\n", b" ")):
        finished = run(content)
        assert (finished.returncode, answer(finished.stdout, 1, 1)) == (0, Answer([""], [{("A", 7)}])), finished


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [3, pytest.param(len(MALFORMED), marks=pytest.mark.slow)])
def test_malformed_data_is_refused(run: Run, number: int) -> None:
    for name in random.Random(1).sample(sorted(MALFORMED), number):
        content = WELL_FORMED.replace(*MALFORMED[name])
        assert content != WELL_FORMED
        finished = run(content)
        assert finished.returncode != 0 and not finished.stdout, (name, finished)
        if name != "unknown module":
            assert finished.returncode == 2 and re.fullmatch(rb"judge: .*\n", finished.stderr), (name, finished)


def test_a_process_that_has_judged_others_judges_as_a_fresh_one_and_only_with_the_same_imports(run: Run) -> None:
    # 1. What the first document declares, rightly or not, is unknown in the second.
    first, second = Data(), Data()
    first.axiom("assumed", "False")
    first.inductive([("Bottom", "Type", [("Bottom.mk", "∀ b : (∀ b : Bottom, False), Bottom")])])
    first.theorem("wrong", "False", "True.intro")
    second.theorem("borrowed", "False", "assumed")
    second.axiom("assumed", "True")
    second.theorem("right", "True", "assumed")
    second.ask("borrowed", "right")
    alone, behind = (run(*documents) for documents in ([second.written()], [first.written(), second.written()]))
    assert behind.returncode == 0 and behind.stdout == alone.stdout
    found = answer(behind.stdout, 3, 2)
    assert found.accepted == [False, True, True] and found.axioms == [None, {("assumed",)}]
    # 2. Another library needs another process.
    other = second.written().replace(b"imports 1", b"imports 2\n1", 1)
    assert other != second.written()
    finished = run(second.written(), other)
    assert finished.returncode == 2 and b"other imports" in finished.stderr, finished


def test_ways_to_prove_false_fail_and_what_is_right_beside_them_is_accepted(judged: Judge) -> None:
    data = Data()
    data.axiom("assumed", "False")
    data.theorem("honest", "False", "assumed")
    data.fresh()
    for number, value in enumerate(("True.intro", "False", "assumed", "bad3", "True.intro True.intro")):
        data.theorem(f"bad{number}", "False", value)
    data.inductive([("Bottom", "Type", [("Bottom.mk", "∀ b : (∀ b : Bottom, False), Bottom")])])
    data.inductive([("Good", "Type", [("Good.mk", "Good")])])
    data.definition("two", "Nat", "2")
    data.theorem("equal", "Eq.{1} Nat 2 two", "Eq.refl.{1} Nat 2")
    data.theorem("unequal", "Eq.{1} Nat 3 two", "Eq.refl.{1} Nat 2")
    data.theorem("fine", "True", "True.intro")
    data.axiom("Nat.mul", "False")
    data.ask("honest", "bad0", "bad1", "bad2", "bad3", "bad4", "Bottom")
    data.ask("Good.rec", "equal", "unequal", "fine", "assumed", "Nat.mul")
    found = judged(data)
    assert found.accepted == [True] * 3 + [False] * 6 + [True] * 3 + [False, True, False]
    assert found.axioms == [None] * 7 + [set(), set(), None, set(), None, set()]


TERMS: dict[str, Callable[[Data, int], int]] = {
    "arguments": lambda data, depth: repeated(depth, lambda term: data.app(data.const("Nat.succ"), term), zero(data)),
    "applications": lambda data, depth: repeated(depth, lambda term: data.app(term, zero(data)), zero(data)),
    "functions": lambda data, depth: repeated(depth, lambda term: data.lam(data.const("Nat"), term), zero(data)),
    "levels": lambda data, depth: data.sort(repeated(depth, data.succ, 0)),
    "names": lambda data, depth: data.const(("deep",) * 900),
}


def zero(data: Data) -> int:
    return data.const("Nat.zero")


def repeated(depth: int, wrap: Callable[[int], int], term: int) -> int:
    for _ in range(depth):
        term = wrap(term)
    return term


@pytest.mark.parametrize(
    ("kind", "depth"), [("arguments", DEEP // 5), *(pytest.param(kind, DEEP, marks=pytest.mark.slow) for kind in TERMS)]
)
def test_a_very_deep_term_is_refused_or_there_is_no_answer(run: Run, kind: str, depth: int) -> None:
    data = Data()
    deep = TERMS[kind](data, depth)
    data.theorem("deep", "False", deep)
    data.definition("deepNat", "Nat", deep)
    data.theorem("fine", "True", "True.intro")
    data.ask("deep", "fine")
    finished = run(data.written())
    if finished.returncode != 0:
        assert b"end\n" not in finished.stdout
        return
    found = answer(finished.stdout, 3, 2)
    assert found.steps[0] and not found.steps[2] and found.axioms == [None, set()]


def test_without_the_variable_that_makes_a_panic_end_the_process_nothing_is_judged(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "ABORT_ON_PANIC", "ANOTHER_VARIABLE")
    finished = run(WELL_FORMED)
    assert finished.returncode == 2 and not finished.stdout and b"LEAN_ABORT_ON_PANIC" in finished.stderr


def test_what_could_make_the_kernel_run_code_is_refused_through_lemmas_too(judged: Judge) -> None:
    data = Data()
    data.definition("direct", "∀ x : Nat, ∀ y : Nat, Nat", "Nat.gcd")
    data.theorem("indirect", "Eq.{1} Nat 1 1", "Nat.gcd_self 1")
    data.definition("fine", "∀ x : Nat, ∀ y : Nat, Nat", "Nat.add")
    data.ask("direct", "fine", "Nat.gcd_self")
    found = judged(data)
    assert "compiled code" in found.steps[0] and "compiled code" in found.steps[1] and not found.steps[2]
    assert found.axioms == [None, set(), {("Nat", "gcd")}]
