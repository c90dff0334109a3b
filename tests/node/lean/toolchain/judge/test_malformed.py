"""Data that is not what the format says, very deep terms, panics, and code that the kernel could run."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.lean.toolchain import judge
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.toolchain.judge.conftest import Judge, Run, compile_program
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
        assert (finished.returncode, answer(finished.stdout)) == (0, Answer([""], [{("A", 7)}])), finished


def some(seed: int, count: int) -> list[str]:
    return random.Random(seed).sample(sorted(MALFORMED), count)


def check_refused(run: Run, names: list[str]) -> None:
    for name in names:
        content = WELL_FORMED.replace(*MALFORMED[name])
        assert content != WELL_FORMED
        finished = run(content)
        assert finished.returncode != 0 and not finished.stdout, (name, finished)
        if name != "unknown module":
            assert finished.returncode == 2 and re.fullmatch(rb"judge: .*\n", finished.stderr), (name, finished)


def test_malformed_data_is_refused(run: Run) -> None:
    check_refused(run, some(1, 3))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_malformed_data_is_refused(run: Run) -> None:
    check_refused(run, sorted(MALFORMED))


def attempts() -> Data:
    """Many ways to prove False, all wrong, and things that are right."""
    data = Data()
    true, false, nat, one = data.const("True"), data.const("False"), data.const("Nat"), data.succ(0)
    intro = data.const("True.intro")
    data.axiom("assumed", false)
    data.theorem("honest", false, data.const("assumed"))
    data.fresh()
    for number, value in enumerate((intro, false, data.const("assumed"), data.const("bad3"), data.app(intro, intro))):
        data.theorem(f"bad{number}", false, value)
    bottom = data.const("Bottom")
    data.inductive([("Bottom", data.sort(one), [("Bottom.mk", data.pi(data.pi(bottom, false), bottom))])])
    data.inductive([("Good", data.sort(one), [("Good.mk", data.const("Good"))])])
    data.definition("two", nat, data.nat(2))
    data.theorem("equal", data.eq(one, nat, data.nat(2), data.const("two")), data.refl(one, nat, data.nat(2)))
    data.theorem("unequal", data.eq(one, nat, data.nat(3), data.const("two")), data.refl(one, nat, data.nat(2)))
    data.theorem("fine", true, intro)
    data.axiom("Nat.mul", false)
    data.ask(
        "honest",
        "bad0",
        "bad1",
        "bad2",
        "bad3",
        "bad4",
        "Bottom",
        "Good.rec",
        "equal",
        "unequal",
        "fine",
        "assumed",
        "Nat.mul",
    )
    return data


@dataclass
class Reader:
    """A second reader of the format, which keeps only what the tests look at. Raises ValueError."""

    content: bytes
    at: int = 0

    def word(self) -> bytes:
        match = re.compile(rb"([^ \n]*)[ \n]").match(self.content, self.at)
        if match is None:
            raise ValueError("no token")
        self.at = match.end()
        return match[1]

    def number(self, below: int | None = None) -> int:
        word = self.word()
        if not re.fullmatch(rb"0|[1-9][0-9]*", word) or (below is not None and int(word) >= below):
            raise ValueError("no number, or none that is allowed here")
        return int(word)

    def text(self) -> str:
        match = re.compile(rb"(0|[1-9][0-9]*):").match(self.content, self.at)
        if match is None or match.end() + int(match[1]) >= len(self.content):
            raise ValueError("no text")
        self.at = match.end() + int(match[1])
        if self.word():
            raise ValueError("more than the text")
        return self.content[match.end() : match.end() + int(match[1])].decode()

    def heading(self, word: bytes) -> int:
        if self.word() != word:
            raise ValueError("another heading")
        return self.number()


def claims(content: bytes) -> tuple[list[tuple[bytes, tuple[object, ...], bytes]], list[tuple[object, ...]]]:
    """The kind, name and entry of the type of each step (of a constant), and the queries. Raises ValueError."""
    # 1. Names, as tuples of their parts.
    reader = Reader(content)
    if reader.heading(b"proofmesh-declarations") != 1:
        raise ValueError("version")
    names: list[tuple[object, ...]] = [()]
    for _ in range(reader.heading(b"names")):
        kind = reader.word()
        parent = names[reader.number(len(names))]
        names.append((*parent, reader.text() if kind == b"s" else reader.number()))
        if kind not in (b"s", b"n"):
            raise ValueError("kind of name")
    # 2. Levels: only their number matters.
    levels = reader.heading(b"levels")
    for k in range(levels):
        match reader.word():
            case b"s":
                reader.number(k + 1)
            case b"m" | b"i":
                reader.number(k + 1), reader.number(k + 1)
            case b"p":
                reader.number(len(names))
            case _:
                raise ValueError("kind of level")
    # 3. Expressions: `False` is the only one that matters.
    terms: list[bytes] = []
    for k in range(reader.heading(b"expressions")):
        start = reader.at
        match reader.word():
            case b"b":
                reader.number(1_000_001)
            case b"s":
                reader.number(levels + 1)
            case b"c":
                name = names[reader.number(len(names))]
                for _ in range(count := reader.number()):
                    reader.number(levels + 1)
                terms.append(b"False" if name == ("False",) and not count else b"")
                continue
            case b"a" | b"l" | b"p":
                reader.number(k), reader.number(k)
            case b"t":
                reader.number(k), reader.number(k), reader.number(k)
            case b"n":
                if not re.fullmatch(rb"0|[1-9a-f][0-9a-f]*", reader.word()):
                    raise ValueError("literal")
            case b"q":
                reader.text()
            case b"j":
                reader.number(len(names)), reader.number(), reader.number(k)
            case _:
                raise ValueError("kind of expression")
        terms.append(content[start : reader.at])
    # 4. Imports and steps.
    for _ in range(reader.heading(b"imports")):
        reader.number(len(names))
    steps: list[tuple[bytes, tuple[object, ...], bytes]] = []
    for _ in range(reader.heading(b"steps")):
        kind = reader.word()
        if kind == b"e":
            steps.append((kind, (), b""))
        elif kind == b"i":
            for _ in range(reader.number()):
                reader.number(len(names))
            reader.number()
            for _ in range(reader.number()):
                reader.number(len(names)), reader.number(len(terms))
                for _ in range(reader.number()):
                    reader.number(len(names)), reader.number(len(terms))
            steps.append((kind, (), b""))
        elif kind in (b"a", b"d", b"t", b"o"):
            name = names[reader.number(len(names))]
            for _ in range(reader.number()):
                reader.number(len(names))
            type_ = terms[reader.number(len(terms))]
            if kind != b"a":
                reader.number(len(terms))
            if kind == b"d":
                reader.number()
            steps.append((kind, name, type_))
        else:
            raise ValueError("kind of step")
    # 5. Queries, and the end.
    queries = [names[reader.number(len(names))] for _ in range(reader.heading(b"queries"))]
    if content[reader.at :].strip(b" \n") != b"end":
        raise ValueError("end")
    return steps, queries


def mutated(content: bytes, chance: random.Random) -> bytes:
    """One to three changes: a byte, a piece removed, a piece repeated, two lines exchanged, another digit."""
    out = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(out))
        match chance.randrange(5):
            case 0:
                out[at] = chance.randrange(256)
            case 1:
                del out[at : at + chance.randint(1, 8)]
            case 2:
                out[at:at] = out[at : at + chance.randint(1, 8)]
            case 3:
                lines = out.split(b"\n")
                one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
                lines[one], lines[other] = lines[other], lines[one]
                out = bytearray(b"\n".join(lines))
            case _:
                digits = [k for k, byte in enumerate(out) if 48 <= byte < 58]
                out[chance.choice(digits)] = chance.randrange(48, 58)
    return bytes(out)


def check_mutation(run: Run, seed: int) -> bool:
    """True if the judge answered."""
    content = mutated(attempts().written(), random.Random(seed))
    finished = run(content)
    if finished.returncode != 0:
        assert b"end\n" not in finished.stdout, (seed, finished)
        return False
    found = answer(finished.stdout)
    steps, queries = claims(content)  # a complete answer is only for well-formed data
    assert len(steps) == len(found.steps) and len(queries) == len(found.axioms), seed
    # What proves False after the last fresh start is an axiom or uses one. What came before is not in the environment.
    last = max((k for k, step in enumerate(steps) if step[0] == b"e"), default=-1)
    accepted = {
        name
        for (kind, name, _), good in list(zip(steps, found.accepted, strict=True))[last + 1 :]
        if good and kind in b"adto"
    }
    for (kind, name, claim), good in list(zip(steps, found.accepted, strict=True))[last + 1 :]:
        if good and kind in (b"d", b"t", b"o") and claim == b"False" and name in queries:
            assert found.axioms[queries.index(name)], (seed, name)
    for name, axioms in zip(queries, found.axioms, strict=True):
        assert axioms is None or axioms <= accepted | {
            ("propext",),
            ("Quot", "sound"),
            ("Classical", "choice"),
            ("sorryAx",),
        }, seed
        assert (
            name not in (("bad0",), ("bad1",), ("Bottom",)) or axioms is None or name not in accepted or axioms or steps
        ), seed
    return True


def test_the_attempts_fail_and_the_rest_is_accepted(judged: Judge) -> None:
    found = judged(attempts())
    assert found.accepted == [True] * 3 + [False] * 6 + [True] * 3 + [False, True, False]
    assert found.axioms == [None] * 7 + [set(), set(), None, set(), None, set()]


@pytest.mark.parametrize("seed", range(2))
def test_mutated_data_is_refused_or_answered_correctly(run: Run, seed: int) -> None:
    check_mutation(run, seed)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_forty_mutations_are_refused_or_answered_correctly(run: Run) -> None:
    answered = sum(check_mutation(run, seed) for seed in range(100, 140))
    assert 0 < answered < 40


TERMS: dict[str, Callable[[Data, int], int]] = {
    "arguments": lambda data, depth: repeated(
        depth, lambda term: data.app(data.const("Nat.succ"), term), data.const("Nat.zero")
    ),
    "applications": lambda data, depth: repeated(
        depth, lambda term: data.app(term, data.const("Nat.zero")), data.const("Nat.succ")
    ),
    "functions": lambda data, depth: repeated(
        depth, lambda term: data.lam(data.const("Nat"), term), data.const("Nat.zero")
    ),
    "lets": lambda data, depth: repeated(
        depth, lambda term: data.let(data.const("Nat"), term, data.var(0)), data.const("Nat.zero")
    ),
    "projections": lambda data, depth: repeated(
        depth, lambda term: data.proj("And", 0, term), data.const("True.intro")
    ),
    "levels": lambda data, depth: data.sort(repeated(depth, data.succ, 0)),
    "names": lambda data, depth: data.const(("deep",) * 900),
}


def repeated(depth: int, wrap: Callable[[int], int], term: int) -> int:
    for _ in range(depth):
        term = wrap(term)
    return term


@pytest.mark.parametrize(
    ("kind", "depth"),
    [("arguments", DEEP // 5), *(pytest.param(kind, DEEP, marks=pytest.mark.slow) for kind in TERMS)],
)
def test_a_very_deep_term_is_refused_or_there_is_no_answer(run: Run, kind: str, depth: int) -> None:
    data = Data()
    deep = TERMS[kind](data, depth)
    data.theorem("deep", data.const("False"), deep)
    data.definition("deepNat", data.const("Nat"), deep)
    data.theorem("fine", data.const("True"), data.const("True.intro"))
    data.ask("deep", "fine")
    finished = run(data.written())
    if finished.returncode != 0:
        assert b"end\n" not in finished.stdout
        return
    found = answer(finished.stdout)
    assert found.steps[0] and not found.steps[2] and found.axioms == [None, set()]


def test_without_the_variable_that_makes_a_panic_end_the_process_nothing_is_judged(tmp_path: Path) -> None:
    toolchain = LeanToolchain.pocket()
    file = tmp_path / "declarations"
    file.write_bytes(WELL_FORMED)
    command, environment = judge.command(toolchain, file, tmp_path), judge.environment(toolchain)
    finished = subprocess.run(command, env=environment, capture_output=True, timeout=120)
    assert answer(finished.stdout).accepted == [True]
    finished = subprocess.run(command, env=dict(toolchain.environment), capture_output=True, timeout=120)
    assert finished.returncode == 2 and not finished.stdout and b"LEAN_ABORT_ON_PANIC" in finished.stderr


@pytest.mark.slow
def test_a_panic_would_end_the_process(tmp_path: Path) -> None:
    # An index larger than Lean can write down; the guard against it is taken out of the program.
    file, text = tmp_path / "declarations", judge.program(LeanToolchain.pocket())
    assert "largestIndex < index" in text
    file.write_bytes(WELL_FORMED.replace(b"\ns 1\n", b"\nb 1048576\n"))
    finished = compile_program(text.replace("largestIndex < index", "false"), tmp_path)(file)
    assert finished.returncode != 0 and not finished.stdout and b"bound variables" in finished.stderr, finished


def test_what_could_make_the_kernel_run_code_is_refused(tmp_path: Path) -> None:
    # Pocket Lean has no Lean.reduceBool. Nat.gcd takes its place here: whatever uses it is refused, through lemmas too.
    toolchain = LeanToolchain.pocket()
    text = judge.program(toolchain)
    reduce_bool = 'runsCode : List Name := [dotted ["Lean", "reduceBool"]'
    assert reduce_bool in text
    other = text.replace(reduce_bool, 'runsCode : List Name := [dotted ["Nat", "gcd"]')
    data = Data()
    nat, one = data.const("Nat"), data.succ(0)
    data.definition("direct", data.pi(nat, data.pi(nat, nat)), data.const("Nat.gcd"))
    data.theorem(
        "indirect", data.eq(one, nat, data.nat(1), data.nat(1)), data.app(data.const("Nat.gcd_self"), data.nat(1))
    )
    data.definition("fine", data.pi(nat, data.pi(nat, nat)), data.const("Nat.add"))
    data.ask("direct", "fine", "Nat.gcd_self")
    file = tmp_path / "declarations"
    file.write_bytes(data.written())
    found = answer(compile_program(other, tmp_path)(file).stdout)
    assert "compiled code" in found.steps[0] and "compiled code" in found.steps[1] and not found.steps[2]
    assert found.axioms == [None, set(), {("Nat", "gcd")}]
