"""Seeded changes to a genuine compiled file, and an oracle that says what may be accepted of the changed one.

The honest text has theorems that are true, and false statements whose proofs are open, axioms, or not safe. The changes
are changes to objects: flags, names, levels, kinds, values, links, sharing, order, sizes. After most of them all hashes
and summaries are computed again, so that they do not betray the change. Some are changes to the bytes.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.node.lean.olean import writer
from tests.node.lean.olean.judges import Answer
from tests.node.lean.olean.writer import (
    AXIOM,
    CONSTRUCTOR,
    DEFINITION,
    INDUCTIVE,
    OPAQUE,
    RECURSOR,
    THEOREM,
    Forged,
    Maker,
    Object,
    Parts,
    Raw,
    Unreadable,
    Value,
    common,
    details,
    fields_of,
    natural,
    parts,
)

HONEST = Path(__file__).with_name("honest.lean").read_text(encoding="utf-8")
FALSE = frozenset({"bad", "two_bad", "all_bad", "anything", "by_axiom", "cheat"})
"""Whose acceptance is always wrong."""
TRUE = frozenset({"one", "two_is", "large_is", "number_is", "even_two", "both", "left", "same", "half", "secret"})
"""Whose acceptance is right."""

WRITTEN = TRUE | FALSE | {"Two", "Even", "Both", "Two.rec", "Even.rec", "two", "large", "number", "hidden", "unsound"}
"""Constants that are changed more often than those that Lean generates."""


# --- what may be accepted ---------------------------------------------------------------------------------------------


def faults(answer: Answer) -> list[str]:
    """What is wrong with an answer about a changed file; empty if nothing is."""
    found = ["the file as a whole is accepted, though it has theorems without proofs"] if answer.whole else []
    wrong = [name for name in answer.accepted if name.replace("«", "").replace("»", "") not in TRUE]
    return found + [f"{name} is accepted" for name in wrong]


def _shown(name: Parts) -> str:
    """A name without Lean's mark of private names."""
    if name[:1] == ("_private",):
        at = next((index for index, part in enumerate(name) if isinstance(part, int)), 0)
        name = name[at + 1 :]
    return ".".join(map(str, name))


# --- changes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    seed: int
    description: str
    content: bytes


class _Editor:
    """One compiled file, in the hands of a change."""

    def __init__(self, content: bytes, rng: random.Random) -> None:
        self.forged = Forged.decode(content)
        self.rng = rng
        self.make = Maker()
        self.infos = self.forged.constants()

    @cached_property
    def terms(self) -> list[tuple[str, Object]]:
        return list(self.forged.terms())

    def info(self, *kinds: int) -> Object:
        found = [each for each in self.infos if not kinds or each.tag in kinds]
        written = [each for each in found if self.named(each) in WRITTEN]
        return self.rng.choice(written if written and self.rng.random() < _WRITTEN else found)

    def expression(self, *tags: int) -> Object:
        found = [each for sort, each in self.terms if sort == "expression"]
        return self.rng.choice([each for each in found if each.tag in tags or not tags])

    def named(self, info: Object) -> str:
        return _shown(parts(common(info).fields[0]))


Edit = Callable[[_Editor], str]
"""Changes a file, and returns a description."""


def flag(edit: _Editor) -> str:
    info = edit.info(AXIOM, DEFINITION, OPAQUE, INDUCTIVE, CONSTRUCTOR, RECURSOR)
    index, value = edit.rng.randrange(3), edit.rng.choice([0, 1, 2, 3, 4, 128, 255])
    if details(info).data:
        writer.set_flag(info, index, value)
    return f"flag {index} of {edit.named(info)} is {value}"


def whole_kind(edit: _Editor) -> str:
    """A constant is made anew as one of another kind, with the right number of fields."""
    info = edit.info(AXIOM, DEFINITION, THEOREM, OPAQUE)
    name, levels, type_ = common(info).fields
    value = details(info).fields[1] if info.tag != AXIOM else common(info).fields[2]
    assert isinstance(type_, Object) and isinstance(value, Object)
    make, safety, kind = edit.make, edit.rng.randrange(4), edit.rng.randrange(4)
    kinds = [make.axiom(name, type_, levels=levels), make.theorem(name, type_, value, levels=levels)]
    kinds.append(make.opaque(name, type_, value, levels=levels))
    kinds.append(make.definition(name, type_, value, levels=levels, safety=safety))
    made = edit.rng.choice([*kinds, make.quotient(name, type_, kind, levels=levels)])
    info.tag, info.fields = made.tag, made.fields
    return f"{edit.named(info)} is made anew as kind {made.tag}"


def swapped_parts(edit: _Editor) -> str:
    """Two constants exchange types, values, names or universe parameters."""
    one, other = edit.info(DEFINITION, THEOREM, OPAQUE), edit.info(DEFINITION, THEOREM, OPAQUE)
    what = edit.rng.choice(["type", "value", "name", "levels", "all"])
    told = f"{edit.named(one)} and {edit.named(other)} exchange their {what}"
    if what == "value":
        first, second, index = details(one), details(other), 1
    elif what == "all":
        first, second, index = one, other, 0
    else:
        first, second, index = common(one), common(other), ("name", "levels", "type").index(what)
    first.fields[index], second.fields[index] = second.fields[index], first.fields[index]
    return told


def value_is_constant(edit: _Editor) -> str:
    one, other = edit.info(DEFINITION, THEOREM, OPAQUE), edit.info()
    levels = writer.items_of(common(one).fields[1])
    made = [edit.make.level(writer.PARAMETER, each) for each in levels]
    details(one).fields[1] = edit.make.const(common(other).fields[0], *made)
    return f"the value of {edit.named(one)} is {edit.named(other)}"


def used_name(edit: _Editor) -> str:
    """A constant in a term is another one."""
    term = edit.expression(writer.CONSTANT)
    other = common(edit.info()).fields[0] if edit.rng.random() < 0.5 else edit.expression(writer.CONSTANT).fields[0]
    told = f"a use of {_shown(parts(term.fields[0]))} is one of {_shown(parts(other))}"
    term.fields[0] = other
    return told


def literal(edit: _Editor) -> str:
    value = edit.rng.choice([0, 1, 2, 3, 7, 1 << 62, 1 << 63, 1 << 64, 1 << 200])
    inside = fields_of(edit.expression(writer.LITERAL).fields[0], 1)
    inside.fields[0] = natural(value)
    inside.tag = 0 if edit.rng.random() < 0.9 else 1
    return f"a literal is {value}"


def expression_tag(edit: _Editor) -> str:
    term = edit.expression()
    term.tag = edit.rng.choice([term.tag ^ 1, writer.LAMBDA, writer.FORALL, writer.LET, writer.NOTE, *range(13)])
    return f"an expression is of kind {term.tag}"


def expression_swapped(edit: _Editor) -> str:
    """An argument is another expression of the file."""
    term = edit.expression(writer.APPLY, writer.LAMBDA, writer.FORALL, writer.LET, writer.PROJECTION)
    index = edit.rng.choice(writer.EXPRESSIONS_OF[term.tag])
    other = edit.expression()
    term.fields[index] = other
    return f"part {index} of an expression of kind {term.tag} is another one, of kind {other.tag}"


def level(edit: _Editor) -> str:
    found = [each for sort, each in edit.terms if sort == "level"]
    one = edit.rng.choice(found)
    if edit.rng.random() < 0.5:
        one.tag = edit.rng.randrange(7)
        return f"a level is of kind {one.tag}"
    parts_: list[Value] = [0, 1, *found]
    one.fields[edit.rng.randrange(len(one.fields))] = edit.rng.choice(parts_)
    return f"a part of a level of kind {one.tag} is another one"


def rules(edit: _Editor) -> str:
    """A rule of a recursor computes something else; the recursor may be marked as unsafe."""
    info = edit.info(RECURSOR)
    found = [fields_of(each, 3) for each in writer.items_of(details(info).fields[6])]
    told = ""
    if found:
        edit.rng.choice(found).fields[2] = edit.rng.choice([edit.rng.choice(found).fields[2], edit.expression()])
    if edit.rng.random() < 0.5:
        writer.set_flag(info, 1, 1)
        told = ", marked as unsafe"
    return f"a rule of {edit.named(info)} is another one{told}"


def link(edit: _Editor) -> str:
    """Any field of any object leads to any other object, of the same kind in most cases."""
    found = list(writer.reachable([edit.forged.root]))
    holder = edit.rng.choice([each for each in found if each.fields])
    index = edit.rng.randrange(len(holder.fields))
    old = holder.fields[index]
    alike = [each for each in found if isinstance(old, Object) and each.tag == old.tag]
    choices: list[Value] = [edit.rng.choice(found), 0, 1, 5, Raw(0), Raw(8)]
    if alike:
        choices += [edit.rng.choice(alike) for _ in range(12)]
    holder.fields[index] = edit.rng.choice(choices)
    return f"field {index} of an object with tag {holder.tag} leads elsewhere"


def shape(each: Object) -> tuple[int, int, int]:
    return each.tag, len(each.fields), len(each.data) if each.tag != writer.STRING else 0


def swapped_objects(edit: _Editor) -> str:
    """Two objects of the same shape exchange what is in them."""
    found = list(writer.reachable([edit.forged.root]))
    one = edit.rng.choice(found)
    other = edit.rng.choice([each for each in found if shape(each) == shape(one)])
    one.fields, other.fields = other.fields, one.fields
    one.data, other.data = other.data, one.data
    return f"two objects with tag {one.tag} are exchanged"


EDITS: tuple[tuple[int, Edit], ...] = (
    *((3, each) for each in (flag, whole_kind, swapped_parts, value_is_constant, used_name, rules)),
    *((2, each) for each in (literal, expression_swapped, link, swapped_objects, level)),
    (1, expression_tag),
)
"""The changes, with how often they are chosen."""
_WEIGHTS, _EDITS = [weight for weight, _ in EDITS], [each for _, each in EDITS]
_RAW = 0.1
"""Share of the mutants that are changes to bytes."""
_WRITTEN = 0.7
_REPAIRED = 0.85
"""Share of the others whose hashes and summaries are right again."""


def mutate(content: bytes, seed: int) -> Mutant:
    """A change to a compiled file; the same one for the same seed."""
    rng = random.Random(seed)
    if rng.random() < _RAW:
        return _bytes_changed(content, seed, rng)
    edit = _Editor(content, rng)
    told = []
    for change in rng.choices(_EDITS, _WEIGHTS, k=rng.choice([1, 1, 1, 2, 3])):
        try:
            told.append(f"{change.__name__}: {change(edit)}")
        except (Unreadable, IndexError, StopIteration, AssertionError, KeyError, AttributeError, ValueError) as error:
            told.append(f"{change.__name__}: impossible behind the others ({type(error).__name__})")
    if rng.random() < _REPAIRED:
        try:
            edit.forged.repair()
        except Unreadable:
            told.append("not repaired")
    return Mutant(seed, f"seed {seed}: {'; '.join(told)}", edit.forged.encode())


def _bytes_changed(content: bytes, seed: int, rng: random.Random) -> Mutant:
    changed = bytearray(content)
    if rng.random() < 0.2:
        end = rng.randrange(len(content))
        return Mutant(seed, f"seed {seed}: cut short after {end} bytes", content[: rng.choice([end, end // 8 * 8])])
    places = [rng.randrange(len(content)) for _ in range(rng.choice([1, 1, 2, 8]))]
    for at in places:
        changed[at] = rng.choice([0, 1, 255, changed[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
    return Mutant(seed, f"seed {seed}: bytes changed at {places}", bytes(changed))
