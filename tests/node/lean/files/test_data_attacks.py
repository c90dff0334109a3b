"""Compiled files that attack what judges them: the order and names of declarations, files that hide their imports, and
the process that reads them.

The attacks of `tests/node/lean/olean/attacks.py` are others; this table only adds to them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path

import pytest

from node.lean.check.files import verifier as verifying
from node.lean.check.files.sources import from_text
from node.lean.check.files.verifier import FileVerifier
from node.lean.check.verify.kernel import KernelProcess
from node.lean.process.fresh import Limits
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean import writer
from tests.node.lean.olean.attacks import (
    BAD,
    FINE,
    Change,
    File,
    accepted,
    changed,
    forges,
    forging_verifier,
    judged,
    one_is_two,
    set_value,
)
from tests.node.lean.olean.writer import Forged, Maker, Object, details, natural, parts

pytestmark = pytest.mark.lean


# --- names, kinds and order of declarations ---------------------------------------------------------------------------


def axiom(*name: str | int) -> Change:
    """An axiom with this name, and `bad` proved by it."""

    def change(forged: Forged, make: Maker) -> None:
        forged.add(make.axiom(make.name(*name), one_is_two(make)))
        set_value(forged, "bad", make.constant(make.name(*name)))

    return change


def axiom_named_as_the_recursor(before: bool) -> Change:
    """An axiom with the name of a recursor that the kernel makes, before or behind its type."""

    def change(forged: Forged, make: Maker) -> None:
        made = make.inductive(make.name("T"), make.sort(1), [])
        if before:
            axiom("T", "rec")(forged, make)
            forged.add(made)
        else:
            forged.add(made)
            axiom("T", "rec")(forged, make)

    return change


def recursor_of_another_type(forged: Forged, make: Maker) -> None:
    name = make.name("T", "rec")
    forged.add(make.inductive(make.name("T"), make.sort(0), []))
    forged.add(make.recursor(name, one_is_two(make), [make.name("T")], []))
    set_value(forged, "bad", make.constant(name))


def axiom_behind_an_opaque_constant(forged: Forged, make: Maker) -> None:
    axiom("unknown")(forged, make)
    forged.add(make.opaque(make.name("hidden"), one_is_two(make), make.constant("unknown")))
    set_value(forged, "bad", make.constant("hidden"))


def axiom_behind_a_projection(forged: Forged, make: Maker) -> None:
    both = make.apply(make.constant("And"), one_is_two(make), make.constant("True"))
    forged.add(make.axiom(make.name("unknown"), both))
    set_value(forged, "bad", make.expression(writer.PROJECTION, make.name("And"), 0, make.constant("unknown")))


def axiom_behind_a_constructor(forged: Forged, make: Maker) -> None:
    type_, made = make.name("T"), make.name("T", "mk")
    axiom("unknown")(forged, make)
    forged.add(make.inductive(type_, make.sort(0), [made]))
    kind = make.forall("h", one_is_two(make), make.constant(type_))
    forged.add(make.constructor(made, kind, type_, numbers=(0, 0, 1)))
    proof = make.apply(make.constant(made), make.constant("unknown"))
    forged.add(make.theorem(make.name("it"), make.constant(type_), proof))
    set_value(forged, "bad", make.expression(writer.PROJECTION, type_, 0, make.constant("it")))


def largest_bound_variable(forged: Forged, make: Maker) -> None:
    """Its summary, which has 20 bits for it, overflows to that of a closed term."""
    variable = Object(writer.BOUND, [natural((1 << 20) - 1)], bytes(8))
    function = Object(writer.LAMBDA, [make.name("x"), make.constant("Nat"), variable], bytes(16))
    set_value(forged, "bad", function)


def undeclared_parameter(forged: Forged, make: Maker) -> None:
    level = make.level(writer.PARAMETER, make.name("u"))
    kind = make.expression(writer.SORT, make.level(writer.SUCCESSOR, level))
    function = make.lambda_("x", kind, make.reflexive(make.numeral_of(1)))
    set_value(forged, "bad", make.apply(function, make.expression(writer.SORT, level)))


def negative_type(forged: Forged, make: Maker) -> None:
    type_, made = make.name("T"), make.name("T", "mk")
    kind = make.constant(type_)
    negative = make.forall("h", make.forall("x", kind, make.constant("False")), kind)
    forged.add(make.inductive(type_, make.sort(1), [made], flags=(1, 0, 0)))
    forged.add(make.constructor(made, negative, type_, numbers=(0, 0, 1)))
    set_value(forged, "bad", make.constant(made))


def constructor_twice(forged: Forged, make: Maker) -> None:
    type_, made = make.name("T"), make.name("T", "mk")
    forged.add(make.inductive(type_, make.sort(1), [made, made]))
    forged.add(make.constructor(made, make.constant(type_), type_))
    set_value(forged, "bad", make.constant(made))


def constructor_for_the_theorem(forged: Forged, make: Maker) -> None:
    forged.remove("bad")
    forged.add(make.inductive(make.name("T"), make.sort(0), [make.name("bad")]))
    forged.add(make.constructor(make.name("bad"), make.constant("T"), make.name("T")))


def partial_definition(forged: Forged, make: Maker) -> None:
    forged.add(make.definition(make.name("d"), one_is_two(make), make.constant("d"), safety=writer.PARTIAL))
    set_value(forged, "bad", make.constant("d"))


def unsafe_opaque(forged: Forged, make: Maker) -> None:
    forged.add(make.opaque(make.name("d"), one_is_two(make), make.constant("d"), unsafe=1))
    set_value(forged, "bad", make.constant("d"))


def theorem_that_is_data(forged: Forged, make: Maker) -> None:
    forged.add(make.theorem(make.name("d"), make.constant("Nat"), make.numeral(1)))
    set_value(forged, "bad", make.constant("d"))


def name_that_runs_code(forged: Forged, make: Maker) -> None:
    name, bool_ = make.name("Lean", "reduceBool"), make.constant("Bool")
    forged.add(make.definition(name, make.forall("b", bool_, bool_), make.lambda_("b", bool_, make.bound(0))))
    set_value(forged, "bad", make.constant(name))


def highest_hint(forged: Forged, make: Maker) -> None:
    made = make.definition(make.name("d"), make.constant("Nat"), make.numeral(1))
    details(made).fields[2] = Object(2, [], (0xFFFFFFFF).to_bytes(8, "little"))
    forged.add(made)
    set_value(forged, "bad", make.reflexive(make.constant("d")))


def field_of_a_number(forged: Forged, make: Maker) -> None:
    set_value(forged, "bad", make.expression(writer.PROJECTION, make.name("Nat"), 0, make.numeral(5)))


def field_beyond_all(forged: Forged, make: Maker) -> None:
    pair = make.apply(make.constant("And"), make.constant("False"), make.constant("True"))
    field = make.expression(writer.PROJECTION, make.name("And"), natural(1 << 64), make.bound(0))
    set_value(forged, "bad", make.lambda_("h", pair, field))


def enormous_power(forged: Forged, make: Maker) -> None:
    power = make.apply(make.constant("Nat.pow"), make.numeral(2), make.numeral(1 << 40))
    set_value(forged, "bad", make.reflexive(power))


def parameters_that_are_not_there(forged: Forged, make: Maker) -> None:
    type_, made = make.name("T"), make.name("T", "mk")
    forged.add(make.inductive(type_, make.forall("a", make.sort(1), make.sort(1)), [made], numbers=(5, 0, 0)))
    kind = make.apply(make.constant(type_), make.constant("Nat"))
    forged.add(make.constructor(made, kind, type_, numbers=(0, 5, 0)))
    set_value(forged, "bad", make.constant(made))


CHANGES: dict[str, Change] = {
    "an axiom with the name of a recursor, before its type": axiom_named_as_the_recursor(True),
    "an axiom with the name of a recursor, behind its type": axiom_named_as_the_recursor(False),
    "a recursor of another type": recursor_of_another_type,
    "a digit that is no number": axiom("propext²"),
    "a number below the name of an axiom": axiom("Classical", "choice", 0),
    "a space of no width in the name of an axiom": axiom("propext\u200b"),
    "the name of an axiom in one part": axiom("Quot.sound"),
    "the library's axiom with another type": axiom("propext"),
    "a zero byte in the name of an axiom": axiom("propext\0"),
    "a number of more than 64 bits in a name": axiom("unknown", 1 << 70),
    "a name of two million characters": axiom("a" * 2_000_000),
    "a name of 1500 parts": axiom(*["a"] * 1500),
    "the name of a type that stands for a nested one": axiom("_nested", "T", 1),
    "an axiom behind an opaque constant": axiom_behind_an_opaque_constant,
    "an axiom behind a projection": axiom_behind_a_projection,
    "an axiom behind a constructor": axiom_behind_a_constructor,
    "a bound variable whose summary overflows": largest_bound_variable,
    "an undeclared universe parameter": undeclared_parameter,
    "a negative occurrence": negative_type,
    "a constructor twice": constructor_twice,
    "a constructor for the theorem": constructor_for_the_theorem,
    "a partial definition": partial_definition,
    "an unsafe opaque constant": unsafe_opaque,
    "a theorem that is data": theorem_that_is_data,
    "a name with which the kernel runs code": name_that_runs_code,
    "the highest hint": highest_hint,
    "a field of a number": field_of_a_number,
    "a field beyond all": field_beyond_all,
    "an enormous power": enormous_power,
    "parameters that are not there": parameters_that_are_not_there,
}


EVERY = 3
"""The default tests try one attack of so many; the slow tests try all."""


def some(table: Iterable[str]) -> list[object]:
    """The names of a table, most of them marked as slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] if at % EVERY else []) for at, name in enumerate(table)]


@pytest.mark.parametrize("name", some(CHANGES))
async def test_a_forged_file_is_not_accepted(name: str) -> None:
    repair = CHANGES[name] is not largest_bound_variable
    forge = changed(CHANGES[name], repair=repair)
    assert "bad" not in accepted(await judged(((File("Main", FINE + BAD, forge),),)))


# --- files that hide their imports ------------------------------------------------------------------------------------


def hides(module: str) -> Change:
    """The compiled file does not import this module, which its text imports: Lean then does not see it."""

    def change(forged: Forged, make: Maker) -> None:
        imports = forged.items(writer.IMPORTS)
        imports[:] = [each for each in imports if parts(writer.fields_of(each, 1).fields[0]) != (module,)]

    return change


def x_is(number: int) -> Change:
    """`x` is this number, and a theorem says so."""

    def change(forged: Forged, make: Maker) -> None:
        forged.add(make.definition(make.name("x"), make.constant("Nat"), make.numeral(number)))
        equal = make.equal(make.constant("x"), make.numeral(number))
        forged.add(make.theorem(make.name(f"x_is_{number}"), equal, make.reflexive(make.numeral(number))))

    return change


def p_is_true(forged: Forged, make: Maker) -> None:
    forged.add(make.definition(make.name("P"), make.sort(0), make.constant("True")))


def by_both(forged: Forged, make: Maker) -> None:
    numbers = make.constant("Nat"), make.numeral(2), make.numeral(1)
    symmetry = make.constant("Eq.symm", make.number_level(1))
    set_value(forged, "bad", make.apply(symmetry, *numbers, make.constant("x_is_1")))


def by_truth(forged: Forged, make: Maker) -> None:
    set_value(forged, "bad", make.constant("True.intro"))


def text(name: str, *imports: str) -> str:
    return "".join(f"import {each}\n" for each in imports) + f"theorem {name} : 1 = 1 := rfl\n"


HIDDEN: dict[str, tuple[File, ...]] = {
    # `x` of One was accepted as 1, and then taken for 2: without a check, the second one stood in its place.
    "two meanings of a name, each accepted alone": (
        File("One", text("one"), changed(x_is(1))),
        File("Two", text("two"), changed(x_is(2))),
        File("Between", text("between", "One"), changed(hides("One"))),
        File("Main", "import Between\nimport Two\n" + FINE + BAD, changed(by_both)),
    ),
    # The kernel had `P` of One, and the statements were compared with `P` of Two.
    "a definition of a text that the kernel has otherwise": (
        File("One", text("one"), changed(p_is_true)),
        File("Between", text("between", "One"), changed(hides("One"))),
        File("Two", "import Between\ndef P : Prop := 1 = 2\ndef Q : Prop := P\n"),
        File("Main", "import Two\n" + FINE + "theorem bad : Q := sorry\n", changed(by_truth)),
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
async def test_a_name_means_the_same_in_all_files(name: str) -> None:
    reports = await judged((HIDDEN[name],))
    assert accepted(reports).isdisjoint({"bad", "fine"})
    assert any("differently" in each.problem for each in reports)


async def test_files_that_are_not_imported_together_may_declare_one_name() -> None:
    one, two = "def x := 1\ntheorem one : x = 1 := rfl\n", "def x := 2\ntheorem two : x = 2 := rfl\n"
    assert accepted(await judged(((File("One", one), File("Two", two)),))) == {"one", "two"}


# --- the processes ----------------------------------------------------------------------------------------------------


async def test_a_pipe_is_no_compiled_file(monkeypatch: pytest.MonkeyPatch) -> None:
    async with forging_verifier() as verifier:
        compiler = verifier._compiler
        compile_ = compiler.compile

        async def piped(*arguments: object, **options: object) -> object:
            compiled = await compile_(*arguments, **options)  # type: ignore[arg-type]
            assert compiled.olean is not None
            compiled.olean.unlink()
            os.mkfifo(compiled.olean)
            return compiled

        monkeypatch.setattr(compiler, "compile", piped)
        assert not forges(verifier)
        report = await verifier.verify_text(FINE)
    assert "another kind of file" in report.problem


@pytest.mark.parametrize(
    "request_",
    ["CompareRequest", *(pytest.param(each, marks=pytest.mark.slow) for each in ("AnswerRequest", "StatedRequest"))],
)
async def test_a_child_that_ends_between_two_requests_costs_no_verdict(
    request_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 1. The child ends before the first request of a kind.
    ask = verifying._Session.ask
    ended: list[str] = []

    async def ask_later(session: verifying._Session, request: object, keys: object, reply: object) -> object:
        if type(request).__name__ == request_ and not ended:
            ended.append(request_)
            await session.dialog.close()
        return await ask(session, request, keys, reply)  # type: ignore[arg-type]

    monkeypatch.setattr(verifying._Session, "ask", ask_later)
    verifier = FileVerifier(LeanToolchain.pocket(), at_once=2, seconds=20, memory_mb=1024)
    # 2. The verdicts are as ever, also on what an imported file proves.
    try:
        reference = [from_text("def P : Prop := True\ntheorem t : P := sorry\n", "Main", "Main")]
        proved = [from_text("def P : Prop := True\ntheorem t : P := trivial\n", "Main", "Main")]
        async with aclosing(verifier.compare_many([proved, proved], reference)) as compared:
            reasons = [[each.reason for each in verdicts] async for _, verdicts, _ in compared]
        assert reasons == [[""], [""]]
        first = from_text("axiom wrong : 1 = 2\ntheorem a : 1 = 1 := rfl\n", "A", "A")
        second = from_text("import A\ntheorem bad : 1 = 2 := wrong\ntheorem b : 1 = 1 := a\n", "B", "B")
        async with aclosing(verifier.verify([first, second])) as judgements:
            assert accepted([each.report async for each in judgements]) == {"a", "b"}
    finally:
        verifier.close()
    assert ended


# --- the kernel's process ---------------------------------------------------------------------------------------------

_NAMES = ["s 0 4:Init", "s 0 3:Nat", "s 0 1:x", "s 0 1:X", "s 4 2:mk", "s 4 3:rec"]
_INIT, _NAT, _X, _TYPE, _MADE, _RECURSOR = range(1, 7)
_TERMS = ["c 2 0", "n 1", "n 2", "s 1", "c 4 0"]  # Nat, 1, 2, Type, X
_INDUCTIVE = f"i 0 0 1 {_TYPE} 3 1 {_MADE} 4"


def document(steps: list[str]) -> str:
    sections = {"names": _NAMES, "levels": ["s 0"], "expressions": _TERMS, "imports": ["1"], "steps": steps}
    lines = ["proofmesh-declarations 1"]
    for title, entries in (sections | {"queries": []}).items():
        lines += [f"{title} {len(entries)}", *entries]
    return "\n".join([*lines, "end\n"])


STEPS: dict[str, tuple[list[str], str]] = {
    "a name of the library": ([f"D {_NAT} 0 3 3 0"], "n"),
    "a name twice": ([f"D {_X} 0 0 1 0", f"D {_X} 0 0 2 0"], "yn"),
    "a recursor's name": ([_INDUCTIVE, f"D {_RECURSOR} 0 0 1 0"], "yn"),
    "a type's name": ([f"D {_TYPE} 0 3 0 0", _INDUCTIVE], "yn"),
    "a name from before": ([f"D {_X} 0 0 1 0", "e", f"D {_X} 0 0 2 0"], "yyy"),
}


@pytest.mark.parametrize("name", STEPS)
def test_what_was_accepted_before_takes_no_name_that_is_there(name: str, tmp_path: Path) -> None:
    steps, wanted = STEPS[name]
    (tmp_path / "declarations").write_text(document(steps))
    kernel = KernelProcess(LeanToolchain.pocket(), Limits(), tmp_path)
    answer = asyncio.run(kernel.answer(tmp_path / "declarations"))
    assert "".join(line[0] for line in answer.splitlines()[2 : 2 + len(steps)]) == wanted
