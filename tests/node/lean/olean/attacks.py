"""Files that are forged with a purpose: each would be accepted, or keep the verifier busy, if one check were missing.

The text states `1 = 2` and leaves the proof open; the forged compiled file is there to have it accepted all the same.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import methodcaller as new
from pathlib import Path
from typing import Any

from node.lean.olean.terms import mixed_hash
from tests.node.lean.olean import writer
from tests.node.lean.olean.judges import File, Forge
from tests.node.lean.olean.writer import (
    Forged,
    Maker,
    Object,
    Term,
    Value,
    common,
    details,
    fields_of,
    imported,
    linked,
    natural,
    parts,
)

Change = Callable[[Forged, Maker], None]
"""A change to the objects of a compiled file."""

MB = 1 << 20
BAD = "theorem bad : 1 = 2 := sorry\n"
FINE = "theorem fine : 1 = 1 := rfl\n"
TEXT = (
    f"{FINE}{BAD}inductive Two | a | b\ndef two : Nat := 2\ntheorem bad_two : 1 = two := sorry\n"
    "theorem fine_two : 2 = two := rfl\n"
)
"""Of all files with one change."""

ONE, TWO = (f"(OfNat.ofNat.{{0}} Nat {number} (instOfNatNat {number}))" for number in (1, 2))
"""Numerals as Lean's elaborator makes them."""
ONE_IS_TWO, ONE_IS_ONE, REFLEXIVE = f"Eq.{{1}} Nat {ONE} {TWO}", f"Eq.{{1}} Nat {ONE} {ONE}", f"Eq.refl.{{1}} Nat {ONE}"
TRUE = "True", "True.intro"


def changed(change: Change, *, repair: bool = True) -> Forge:
    """A forgery by a change to the objects of the file, with all hashes and summaries right again."""

    def forge(content: bytes, place: Path) -> bytes:
        forged = Forged.decode(content)
        change(forged, Maker())
        if repair:
            forged.repair()
        return forged.encode()

    return forge


def set_value(forged: Forged, name: str, value: Object) -> None:
    details(forged.info(name)).fields[1] = value


def set_type(forged: Forged, name: str, type_: Object) -> None:
    common(forged.info(name)).fields[2] = type_


def added(proof: Term | None = None, *constants: Callable[[Maker], Object], remove: str = "") -> Change:
    """These constants are added, and `bad` gets this proof."""

    def change(forged: Forged, make: Maker) -> None:
        if remove:
            forged.remove(remove)
        for each in constants:
            forged.add(each(make))
        if proof:
            set_value(forged, "bad", make.term(proof))

    return change


def axiom(*name: str | int) -> Change:
    """An axiom with this name, and `bad` proved by it."""
    return added(new("const", name), new("axiom", name, ONE_IS_TWO))


def trivial(*name: str | int) -> Change:
    """One more theorem with this name, which is true."""
    return added(None, new("theorem", name, *TRUE))


def states(type_: Term, value: Term, name: str = "bad") -> Change:
    """The theorem states this, with this proof."""

    def change(forged: Forged, make: Maker) -> None:
        set_type(forged, name, make.term(type_))
        set_value(forged, name, make.term(value))

    return change


def importing(*names: str | int) -> Change:
    """The compiled file imports this module, too."""
    return lambda forged, make: forged.items(writer.IMPORTS).append(imported(make.name(*names)))


def both(*changes: Change) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        for each in changes:
            each(forged, make)

    return change


# --- names and kinds --------------------------------------------------------------------------------------------------

AXIOM_NAMES: tuple[tuple[str | int, ...], ...] = (
    *(("propext",), ("Quot.sound",), ("propext\0",), ("propext", ""), ("", "propext"), ("propext", 0)),
    *(("«propext»",), ("_private", "Main", 0, "propext"), ("propext\n",), ("propext²",), ("propext\u200b",)),
    *(("Eq", "refl"), ("unknown", 1 << 70), ("a" * 2_000_000,), ("a",) * 1500, ("_nested", "T", 1)),
)
"""Names that may pass for one of Lean's own axioms, or that a reader cannot tell apart, or that are enormous."""


def of_kind(kind: str, type_: str = "Type", *, fields: tuple[int, int, int] = (0, 0, 0), **more: Any) -> Change:
    """A type T whose constructor `T.mk` has this type, parameters and fields; it is the proof of `bad`."""
    type_of = new("inductive", "T", type_, ["T.mk"], **more)
    return added("T.mk", type_of, new("constructor", "T.mk", kind, "T", fields))


def highest_hint(forged: Forged, make: Maker) -> None:
    made = make.definition("d", "Nat", "1")
    details(made).fields[2] = Object(2, [], (0xFFFFFFFF).to_bytes(8, "little"))
    forged.add(made)
    set_value(forged, "bad", make.term("Eq.refl.{1} Nat d"))


def largest_bound_variable(forged: Forged, make: Maker) -> None:
    """Its summary, which has 20 bits for it, overflows to that of a closed term."""
    variable = Object(writer.BOUND, [natural((1 << 20) - 1)], bytes(8))
    set_value(forged, "bad", Object(writer.LAMBDA, [make.name("x"), make.const("Nat"), variable], bytes(16)))


def equal(type_: str, one: str, other: str) -> Change:
    """`bad` states that two things are equal, and its proof is that the second equals itself."""
    return states(f"Eq.{{1}} {type_} {one} {other}", f"Eq.refl.{{1}} {type_} {other}")


# --- another compiled file than the text ------------------------------------------------------------------------------

another_statement = states(ONE_IS_ONE, REFLEXIVE)


def another_constant_in_its_place(forged: Forged, make: Maker) -> None:
    """Where the text has `bad`, the file has a true theorem of another name, and no `bad`."""
    another_statement(forged, make)
    fields_of(common(forged.info("bad")).fields[0], 2).fields[1] = writer.text("another")


def private_constant_of_its_name(forged: Forged, make: Maker) -> None:
    """A true theorem that is shown as `bad`, because its name is private; `bad` itself stays as it is."""
    private = make.name("_private", "Main", 0, "bad")
    forged.add(make.theorem(private, ONE_IS_ONE, REFLEXIVE))
    for row in positions(forged):
        pair = fields_of(row, 2)
        if parts(pair.fields[0]) == ("bad",):
            pair.fields[0] = private


def positions(forged: Forged) -> list[Value]:
    """The pairs of a declaration's name and where it stands in the text."""
    for entry in forged.items(writer.ENTRIES):
        pair = fields_of(entry, 2)
        if parts(pair.fields[0]) == ("Lean", "declRangeExt"):
            return fields_of(pair.fields[1], 0).fields
    return []


def with_positions(line: int) -> Change:
    """All declarations stand in this line."""

    def change(forged: Forged, make: Maker) -> None:
        for row in positions(forged):
            ranges = fields_of(fields_of(row, 2).fields[1], 2)
            fields_of(fields_of(ranges.fields[0], 4).fields[0], 2).fields[0] = natural(line)

    return change


def another_definition(forged: Forged, make: Maker) -> None:
    """`two` is 1."""
    set_value(forged, "two", make.term(ONE))
    set_value(forged, "bad_two", make.term(REFLEXIVE))


# --- size -------------------------------------------------------------------------------------------------------------


def use_each_other(count: int) -> Change:
    """A ring of theorems, each the proof of the one before."""
    ring = [new("theorem", f"ring_{at}", ONE_IS_TWO, f"ring_{(at + 1) % count}") for at in range(count)]
    return added("ring_0", *ring)


def empty_objects(content: bytes, place: Path) -> bytes:
    """32 MB of objects without fields behind all others."""
    assert content[6] & writer.ROOT_FIRST
    return content + struct.pack("<Q", 8 << 32) * (32 * MB // 8)


def doubled_statement(depth: int) -> Change:
    """`fine` states `P ∧ P` of `P ∧ P` of ..., so deep: one object for each depth, but a tree of 2 ** depth."""

    def change(forged: Forged, make: Maker) -> None:
        statement, proof = map(make.term, TRUE)
        for _ in range(depth):
            proof = make.app(make.const("And.intro"), statement, statement, proof, proof)
            statement = make.app(make.const("And"), statement, statement)
        set_type(forged, "fine", statement)
        set_value(forged, "fine", proof)

    return change


def doubled_level(depth: int) -> Change:
    """A theorem with a universe level that is so deep a `max` of twice the same."""

    def change(forged: Forged, make: Maker) -> None:
        level = make.param("u")
        for _ in range(depth):
            level = make.level(writer.MAX, level, level)
        statement, value = map(make.term, TRUE)
        kind = make.sort(level)
        levels = linked([make.name("u")])
        forged.add(make.theorem("doubled", make.pi(kind, statement), make.lam(kind, value), levels=levels))

    return change


def universe_parameters(count: int) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        levels = linked([make.name(f"u{index}") for index in range(count)])
        forged.add(make.theorem("wide", *TRUE, levels=levels))

    return change


def many_constants(count: int) -> Change:
    return both(*(trivial(f"t{index}") for index in range(count)))


def long_literal(digits: int) -> Change:
    """`fine : n = n`, with a number of so many digits."""

    def change(forged: Forged, make: Maker) -> None:
        literal = make.nat(1 << int(digits * 3.3219280949))
        instance = make.app(make.const("instOfNatNat"), literal)
        number = make.app(make.term("OfNat.ofNat.{0} Nat"), literal, instance)
        set_type(forged, "fine", make.app(make.term("Eq.{1} Nat"), number, number))
        set_value(forged, "fine", make.app(make.term("Eq.refl.{1} Nat"), number))

    return change


def deep_term(depth: int) -> Change:
    """`fine` states of a number, which is the successor of the successor of ... 0, that it equals itself.

    Its objects are written as bytes: so many are slow to make one by one.
    """

    def change(forged: Forged, make: Maker) -> None:
        # 1. The two constants, at the beginning of the file.
        successor, zero = make.const("Nat.succ"), make.const("Nat.zero")
        start = Forged(writer.array([successor, zero]), forged.header).encode()
        first = len(start) - 16  # the last two words are the array's items
        links, hashed = struct.unpack("<QQ", start[first:]), writer.scalar(zero)
        base = int.from_bytes(forged.header[writer.BASE_AT :], "little")
        # 2. Behind them the applications, each of the successor to the one before.
        at, inner = base + len(start), links[1]
        block = [start[writer.HEADER_BYTES + 8 :]]
        header = writer.APPLY << 56 | 2 << 48 | 32 << 32
        for count in range(1, depth + 1):
            mixed = mixed_hash(writer.scalar(successor), hashed)
            hashed = mixed & 0xFFFFFFFF | min(count, 255) << 32
            block.append(struct.pack("<QQQQ", header, links[0], inner, hashed))
            at, inner = at + 32, at
        # 3. The statement and the proof, which lead to the last one.
        forged.head = b"".join(block)
        term: Any = writer.Raw(inner, hashed)
        set_type(forged, "fine", make.app(make.term("Eq.{1} Nat"), term, term))
        set_value(forged, "fine", make.app(make.term("Eq.refl.{1} Nat"), term))

    return change


def many_imports(count: int) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        items = forged.items(writer.IMPORTS)
        items += [items[0]] * count

    return change


def type_together_with_itself(times: int) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        details(forged.info("Two")).fields[3] = linked([common(forged.info("Two")).fields[0]] * times)

    return change


def claims(tag: int, word: int, value: int) -> Change:
    """The last array, string or integer claims another size."""

    def change(forged: Forged, make: Maker) -> None:
        huge = 1 << 200
        forged.add(make.theorem("large", f"Eq.{{1}} Nat {huge} {huge}", f"Eq.refl.{{1}} Nat {huge}"))
        [each for each in writer.reachable([forged.root]) if each.tag == tag][-1].claims[word] = value

    return change


def number_of_parameters(number: Value) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        details(forged.info("Two")).fields[1] = details(forged.info("Two.a")).fields[3] = number

    return change


def cycle(forged: Forged, make: Maker) -> None:
    """A term that contains itself."""
    term = make.term("Nat.succ Nat.zero")
    set_value(forged, "bad", make.app(make.term("Eq.{1} Nat"), term, term))
    term.fields[1] = term


def cyclic_list(forged: Forged, make: Maker) -> None:
    cell = Object(1, [make.name("u"), 0])
    cell.fields[1] = cell
    common(forged.info("fine")).fields[1] = cell


EMPTY = new("inductive", "T", "Type", [])
UNKNOWN = new("axiom", "unknown", ONE_IS_TWO)
CHANGES: dict[str, Change] = {
    **{f"an axiom with the name {shown!r:.40}": axiom(*shown) for shown in AXIOM_NAMES},
    "an axiom with the name of a recursor, before its type": both(axiom("T", "rec"), added(None, EMPTY)),
    "an axiom with the name of a recursor, behind its type": both(added(None, EMPTY), axiom("T", "rec")),
    "a recursor of another type": added(
        "T.rec", new("inductive", "T", "Prop", []), new("recursor", "T.rec", ONE_IS_TWO, "T")
    ),
    "an unsafe constant with the name of an axiom": added(
        None, new("definition", "sorryAx", *TRUE, safety=writer.UNSAFE)
    ),
    "a theorem with the name of an axiom": trivial("sorryAx"),
    "an axiom behind an opaque constant": added("hidden", UNKNOWN, new("opaque", "hidden", ONE_IS_TWO, "unknown")),
    "an axiom behind a projection": added("proj And 0 unknown", new("axiom", "unknown", f"And ({ONE_IS_TWO}) True")),
    "an axiom behind a constructor": added(
        "proj T 0 it",
        *(UNKNOWN, new("inductive", "T", "Prop", ["T.mk"])),
        new("constructor", "T.mk", f"∀ h : {ONE_IS_TWO}, T", "T", (0, 0, 1)),
        new("theorem", "it", "T", "T.mk unknown"),
    ),
    "a bound variable whose summary overflows": largest_bound_variable,
    "an undeclared universe parameter": added(f"(λ x : Sort (u + 1), {REFLEXIVE}) (Sort u)"),
    "a negative occurrence": of_kind("∀ h : (∀ x : T, False), T", fields=(0, 0, 1), flags=(1, 0, 0)),
    "a constructor twice": added(
        "T.mk", new("inductive", "T", "Type", ["T.mk", "T.mk"]), new("constructor", "T.mk", "T", "T")
    ),
    "a constructor for the theorem": added(
        *(None, new("inductive", "T", "Prop", ["bad"]), new("constructor", "bad", "T", "T")), remove="bad"
    ),
    "a partial definition": added("d", new("definition", "d", ONE_IS_TWO, "d", safety=writer.PARTIAL)),
    "a definition of no known safety": added("d", new("definition", "d", ONE_IS_TWO, "d", safety=3)),
    "an unsafe opaque constant": added("d", new("opaque", "d", ONE_IS_TWO, "d", unsafe=1)),
    "a theorem that is data": added("d", new("theorem", "d", "Nat", "1")),
    "a name with which the kernel runs code": added(
        "Lean.reduceBool", new("definition", "Lean.reduceBool", "∀ b : Bool, Bool", "λ b : Bool, b")
    ),
    "the highest hint": highest_hint,
    "a field of a number": added("proj Nat 0 5"),
    # 1 more than a power of 2 is 1 in too few bits.
    "a field beyond all": added(f"λ h : And False True, proj And {1 << 64} h"),
    "a field that is 1 in 32 bits": states(
        "∀ h : And False True, True", f"λ h : And False True, proj And {(1 << 32) + 1} h"
    ),
    "an enormous field": added(f"proj Nat {1 << 80} Nat.zero"),
    "an enormous bound variable": added(f"#{1 << 80}"),
    "an enormous number of parameters": number_of_parameters(natural(1 << 80)),
    "a large number of parameters": number_of_parameters(1 << 40),
    "an enormous power": added(f"Eq.refl.{{1}} Nat (Nat.pow 2 {1 << 40})"),
    "parameters that are not there": of_kind("T Nat", "∀ a : Type, Type", fields=(0, 5, 0), numbers=(5, 0, 0)),
    "two strings that differ behind a zero byte": equal("String", '"a\0b"', '"a"'),
    "two strings that differ in the form of a character": equal("String", '"\u00e9"', '"e\u0301"'),
    **{f"a number that is 0 in {bits} bits": equal("Nat", f"{1 << bits}", "0") for bits in (32, 63, 64, 128)},
    "another statement": another_statement,
    "another constant in its place": another_constant_in_its_place,
    "a private constant of its name": private_constant_of_its_name,
    "another definition": another_definition,
    "a theorem that is its own proof": added("bad"),
    "two that use each other": use_each_other(2),
    "a thousand that use each other": use_each_other(1000),
    "declarations in a line with an enormous number": with_positions(10**30),
    "declarations in line 0": with_positions(0),
    "a type together with itself": type_together_with_itself(2),
    "an array that claims more than it has": claims(writer.ARRAY, 1, 1 << 40),
    "a string that claims more space than there is": claims(writer.STRING, 2, (1 << 64) - 8),
    "an integer that claims more than it has": claims(writer.INTEGER, 1, (1 << 30) << 32 | 1 << 30),
    "a term that contains itself": cycle,
    "a list that contains itself": cyclic_list,
}
"""Forged files of TEXT. Neither `bad` nor `bad_two` may be accepted."""
UNREPAIRED = ("a bound variable whose summary overflows", "a term that contains itself", "a list that contains itself")

HARMLESS: dict[str, Change] = {
    "nothing": lambda forged, make: None,
    "a level with a tree": doubled_level(3),
    "a name of 1 MB": trivial("n" * MB),
    "a name of ten parts": trivial(*["n"] * 10),
    "a name with a large number": trivial("n", 10**1000),
    "many universe parameters": universe_parameters(300),
    "many constants": many_constants(300),
    "many imports": many_imports(1000),
}
"""Changes beside which `fine` must stay accepted."""

ENORMOUS: dict[str, Forge] = {
    "32 MB of empty objects": empty_objects,
    "a name of 100,000 parts": changed(trivial(*["n"] * 100_000)),
    "100,000 universe parameters": changed(universe_parameters(100_000)),
    "a literal of 10 million digits": changed(long_literal(10_000_000)),
    "a term a million deep": changed(deep_term(1_000_000)),
    "a statement that is enormous as a tree": changed(doubled_statement(60)),
    "a level that is enormous as a tree": changed(doubled_level(60)),
    "a type together with itself, 100,000 times": changed(type_together_with_itself(100_000)),
    "a million imports": changed(many_imports(1_000_000)),
    "20,000 constants": changed(many_constants(20_000)),
}
"""Forged files of TEXT that are too much for many readers."""


# --- files that a whole verifier is given -----------------------------------------------------------------------------


def name_as_commands(forged: Forged, make: Maker) -> None:
    """A constant that does not exist, whose name is commands. As text it stands right before `sorryAx`.

    When the axioms are asked one a line, the line of this name has the answer about `True`, and so has the next one.
    """
    evil = make.name("sorry", "x» #print axioms True\n#print axioms True #exit")
    forged.add(make.theorem("junk", "True", make.const(evil)))


def third_safety(forged: Forged, make: Maker) -> None:
    """Neither unsafe, safe nor partial: no step of the plan, and nothing that Lean's kernel refuses to use."""
    set_type(forged, "trick", make.term(ONE_IS_TWO))
    writer.set_flag(forged.info("trick"), 0, 3)


def unsafe_recursor(forged: Forged, make: Maker) -> None:
    """Both rules give the second branch; marked as unsafe, it is compared with nothing."""
    info = forged.info("Two.rec")
    first, second = (fields_of(each, 3) for each in writer.items_of(details(info).fields[6]))
    first.fields[2] = second.fields[2]
    writer.set_flag(info, 1, 1)


def library_next_to_it(content: bytes, place: Path) -> bytes:
    """Another compiled file with an axiom, imported by its path; the axiom's name says that it is private."""
    make = Maker()
    where = str(place.with_name("evil"))
    oops = make.name("_private", where, 0, "oops")
    header = content[: writer.HEADER_BYTES]
    # Another address than that of the file, where Lean wants to map it.
    base = int.from_bytes(header[writer.BASE_AT :], "little") + (1 << 32)
    moved = header[: writer.BASE_AT] + base.to_bytes(8, "little")
    other = writer.module(moved, [], [make.axiom(oops, ONE_IS_TWO)], make)
    place.with_name("evil.olean").write_bytes(other.encode())
    return changed(both(importing(where), added(lambda _: make.const(oops))))(content, place)


def hides(module: str) -> Change:
    """The compiled file does not import this module, which its text imports: Lean then does not see it."""

    def change(forged: Forged, make: Maker) -> None:
        imports = forged.items(writer.IMPORTS)
        imports[:] = [each for each in imports if parts(fields_of(each, 1).fields[0]) != (module,)]

    return change


def x_is(number: int) -> Change:
    """`x` is this number, and a theorem says so."""
    says_so = new("theorem", f"x_is_{number}", f"Eq.{{1}} Nat x {number}", f"Eq.refl.{{1}} Nat {number}")
    return added(None, new("definition", "x", "Nat", str(number)), says_so)


p_is_true = added(None, new("definition", "P", "Prop", "True"))


def text(name: str, *imports: str) -> str:
    return "".join(f"import {each}\n" for each in imports) + f"theorem {name} : 1 = 1 := rfl\n"


RECURSOR_TEXT = """\
inductive Two | a | b
noncomputable def number (t : Two) : Nat := Two.rec 1 2 t
theorem fine : number Two.a = 1 := rfl
"""
BY_RECURSOR = "import A\ntheorem bad : 1 = 2 := fine.symm.trans (rfl : number Two.a = 2)\n"
PQ = "def P : Prop := 1 = 2\ndef Q : Prop := P\n"
TRICK = "def trick : 1 = 1 := rfl\n"
BY_ITS_AXIOM = changed(both(importing("Cheat"), added("cheat")))
USES_FINE = "import A\ntheorem b : 1 = 1 := fine\n"


@dataclass(frozen=True)
class Attack:
    files: Sequence[File]
    """`bad` must not be accepted, nor a file with it as a whole."""
    twin: Sequence[File]
    """The same without the lie."""
    honest: frozenset[str] = frozenset({"fine"})
    """The declarations of the twin that must be accepted."""
    told: str = ""
    """Part of the problem of a file of the attack."""


def alone(forge: Forge) -> Attack:
    return Attack([File("Main", FINE + BAD, forge)], [File("Main", FINE)])


WHOLE: dict[str, Attack] = {
    "names as commands": alone(changed(name_as_commands)),
    "an import as commands": alone(changed(importing("Init\n#print axioms True\n--"))),
    "a third safety": Attack(
        [File("A", TRICK, changed(third_safety)), File("B", "import A\ntheorem bad : 1 = 2 := trick\n")],
        [File("A", TRICK), File("B", "import A\ntheorem fine : 1 = 1 := trick\n")],
    ),
    "a recursor marked as unsafe": Attack(
        [File("A", RECURSOR_TEXT, changed(unsafe_recursor)), File("B", BY_RECURSOR)],
        [File("A", RECURSOR_TEXT), File("B", "import A\ntheorem again : number Two.a = 1 := rfl\n")],
        frozenset({"fine", "again"}),
    ),
    "a library next to the file": alone(library_next_to_it),
    "an import that the text does not have": Attack(
        [File("Cheat", "axiom cheat : 1 = 2\n"), File("Main", FINE + BAD, BY_ITS_AXIOM)],
        [File("Cheat", "theorem cheat : 1 = 1 := rfl\n"), File("Main", f"import Cheat\n{FINE}")],
    ),
    "a file that imports itself": alone(changed(importing("Main"))),
    "two files that import each other": Attack(
        [File("A", FINE + BAD, changed(importing("B"))), File("B", USES_FINE)],
        [File("A", FINE), File("B", USES_FINE)],
        frozenset({"fine", "b"}),
    ),
    # `x` of One was accepted as 1, and then taken for 2: without a check, the second one stood in its place.
    "two meanings of a name, each accepted alone": Attack(
        [
            File("One", text("one"), changed(x_is(1))),
            File("Two", text("two"), changed(x_is(2))),
            File("Between", text("between", "One"), changed(hides("One"))),
            File("Main", "import Between\nimport Two\n" + FINE + BAD, changed(added("Eq.symm.{1} Nat 2 1 x_is_1"))),
        ],
        [
            File("One", "def x := 1\ntheorem one : x = 1 := rfl\n"),
            File("Two", "def x := 2\ntheorem two : x = 2 := rfl\n"),
        ],
        frozenset({"one", "two"}),
        "differently",
    ),
    # The kernel had `P` of One, and the statements were compared with `P` of Two.
    "a definition of a text that the kernel has otherwise": Attack(
        [
            File("One", text("one"), changed(p_is_true)),
            File("Between", text("between", "One"), changed(hides("One"))),
            File("Two", "import Between\n" + PQ),
            File("Main", f"import Two\n{FINE}theorem bad : Q := sorry\n", changed(added("True.intro"))),
        ],
        [
            File("Two", "def P : Prop := 1 = 1\ndef Q : Prop := P\n"),
            File("Main", "import Two\ntheorem fine : Q := rfl\n"),
        ],
        told="differently",
    ),
}
