"""Levels and terms of the second kernel, against what they mean. Its reader of exports refuses whatever is not a line
of the format, with the line's number."""

import io
import itertools
import json
import random

import pytest

from node.lean.check.second.parse import BadExport, Reader
from node.lean.check.second.terms import LAM, Level, Store
from tests.node.lean.second.writing import Export
from tests.node.lean.tables import cells

PARAMETERS = ("u", "v", "w")
NUMBERS = [dict(zip(PARAMETERS, numbers, strict=True)) for numbers in itertools.product(range(7), repeat=3)]


def drawn(random: random.Random, depth: int) -> tuple:
    """A level as a tree; at most `depth` successors are nested."""
    kind = random.choice(["parameter", "zero", "succ", "max", "imax", "imax"]) if depth else "parameter"
    if kind == "parameter":
        return kind, random.choice(PARAMETERS)
    return (kind, *(drawn(random, depth - 1) for _ in range({"zero": 0, "succ": 1}.get(kind, 2))))


def made(store: Store, tree: tuple) -> Level:
    kind, *below = tree
    if kind == "parameter":
        return store.param(below[0])
    if kind == "zero":
        return store.zero
    return getattr(store, kind)(*(made(store, each) for each in below))


def value(tree: tuple, numbers: dict[str, int]) -> int:
    kind, *below = tree
    if kind == "parameter":
        return numbers[below[0]]
    values = [value(each, numbers) for each in below]
    if kind == "zero" or (kind == "imax" and not values[1]):
        return 0
    return values[0] + 1 if kind == "succ" else max(values)


@pytest.mark.compute
def test_levels_are_compared_as_their_values_are():
    store, generator = Store(), random.Random(7)
    answers = []
    for _ in range(600):
        one, other = drawn(generator, 3), drawn(generator, 3)
        assert made(store, one).never_zero is all(value(one, numbers) > 0 for numbers in NUMBERS), one
        truth = all(value(one, numbers) <= value(other, numbers) for numbers in NUMBERS)
        assert store.leq(made(store, one), made(store, other)) is truth, (one, other)
        answers.append(truth)
    assert 50 < sum(answers) < 550


def test_replacing_variables_and_putting_them_back_are_inverse():
    store = Store()
    nat = store.const("Nat")
    x, y = store.fvar(0, nat), store.fvar(1, store.app(store.const("Fin"), store.fvar(0, nat)))
    body = store.lam(nat, store.apps(store.const("f"), (x, y, store.bvar(0), store.app(y, x))))
    loose = store.abstract(body, (x, y))
    assert loose.loose == 2 and loose.fv == 0 and store.instantiate(loose, (x, y)) is body
    closed = store.closed_over(LAM, (x, y), body)
    assert closed.loose == 0 and closed.fv == 0
    # The type of y mentions x, which is bound by then.
    assert closed.b.a is store.app(store.const("Fin"), store.bvar(0))
    # One value at a time is the same as both at once.
    assert store.instantiate(store.instantiate(store.abstract(body, (x, y)), (x, y)), ()) is body


def declarations(text: str) -> list[object]:
    return list(Reader(Store()).declarations(io.StringIO(text)))


HEAD = Export().text()

WRONG = cells(r"""
{} ¦ [] ¦ nothing ¦ {"meta":{}} ¦ {"in":1} ¦ {"in":1,"str":{"pre":0}} ¦ {"in":1,"str":{"pre":7,"str":"a"}}
{"in":1,"str":{"pre":-1,"str":"a"}} ¦ {"in":1,"str":{"pre":true,"str":"a"}} ¦ {"in":1,"str":{"pre":0,"str":"\ud800"}}
{"in":2,"str":{"pre":0,"str":"a"}} ¦ {"in":0,"str":{"pre":0,"str":"a"}} ¦ {"in":1,"num":{"pre":0,"i":-1}}
{"in":1,"num":{"pre":0,"i":1.0}} ¦ {"in":1,"new":{"pre":0}} ¦ {"il":1,"succ":1} ¦ {"il":1,"succ":null}
{"il":1,"max":[0]} ¦ {"il":1,"max":[0,0,0]} ¦ {"il":1,"mvar":0} ¦ {"ie":0,"bvar":-1} ¦ {"ie":0,"bvar":100000000}
{"ie":0,"sort":9} ¦ {"ie":0,"app":{"fn":0,"arg":0}} ¦ {"ie":0,"natVal":"-1"} ¦ {"ie":0,"natVal":5}
{"ie":0,"natVal":"٣"} ¦ {"ie":0,"strVal":"\udfff"} ¦ {"ie":0,"fvar":0} ¦ {"lemma":{}} ¦ {"axiom":[]}
{"ie":0,"proj":{"typeName":0,"idx":-1,"struct":0}} ¦ {"ie":0,"const":{"name":0,"us":[5]}}
{"ie":0,"const":{"name":0,"us":0}} ¦ {"axiom":{"name":0,"levelParams":[],"type":0,"isUnsafe":false}}
{"quot":{},"axiom":{},"def":{}}
""")


@pytest.mark.parametrize("line", [*WRONG, " ", "[" * 100_000])
def test_a_malformed_line_is_refused(line):
    with pytest.raises(BadExport, match=r"line [12]"):
        declarations(HEAD + line + "\n")


@pytest.mark.parametrize("version", ["3.0.0", "4.0.0", "3.1", "three", None])
def test_other_versions_and_files_without_a_first_line_are_refused(version):
    with pytest.raises(BadExport):
        declarations(json.dumps({"meta": {"format": {"version": version}}}))
    with pytest.raises(BadExport):
        declarations("")


def test_names_that_would_read_alike_stay_apart():
    """The text "1" and the number 1, and a text with a dot."""
    lines = cells("""
{"in":1,"str":{"pre":0,"str":"a"}} ¦ {"in":2,"str":{"pre":1,"str":"1"}} ¦ {"in":3,"num":{"pre":1,"i":1}}
{"in":4,"str":{"pre":0,"str":"a.b"}} ¦ {"in":5,"str":{"pre":1,"str":"b"}} ¦ {"in":6,"str":{"pre":0,"str":"«a»"}}
{"in":7,"str":{"pre":0,"str":""}} ¦ {"ie":0,"sort":0}
""")
    axioms = [json.dumps({"axiom": {"name": at, "levelParams": [], "type": 0, "isUnsafe": False}}) for at in range(8)]
    names = [each.name for each in declarations(HEAD + "\n".join(lines + axioms))]
    assert len(set(names)) == len(names) == 8
