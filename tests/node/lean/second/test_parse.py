"""The reader of exports refuses whatever is not a line of the format, with the line's number."""

import io
import json

import pytest

from node.lean.check.second.parse import BadExport, Reader
from node.lean.check.second.terms import Store
from tests.node.lean.second.writing import Export


def declarations(text: str) -> list[object]:
    return list(Reader(Store()).declarations(io.StringIO(text)))


HEAD = Export().text()

WRONG = [
    "",
    "{}",
    "[]",
    "nothing",
    '{"meta":{}}',
    "[" * 100_000,
    '{"in":1}',
    '{"in":1,"str":{"pre":0}}',
    '{"in":1,"str":{"pre":7,"str":"a"}}',
    '{"in":1,"str":{"pre":-1,"str":"a"}}',
    '{"in":1,"str":{"pre":true,"str":"a"}}',
    '{"in":1,"str":{"pre":0,"str":"\\ud800"}}',
    '{"in":2,"str":{"pre":0,"str":"a"}}',
    '{"in":0,"str":{"pre":0,"str":"a"}}',
    '{"in":1,"num":{"pre":0,"i":-1}}',
    '{"in":1,"num":{"pre":0,"i":1.0}}',
    '{"in":1,"new":{"pre":0}}',
    '{"il":1,"succ":1}',
    '{"il":1,"succ":null}',
    '{"il":1,"max":[0]}',
    '{"il":1,"max":[0,0,0]}',
    '{"il":1,"mvar":0}',
    '{"ie":0,"bvar":-1}',
    '{"ie":0,"bvar":100000000}',
    '{"ie":0,"sort":9}',
    '{"ie":0,"app":{"fn":0,"arg":0}}',
    '{"ie":0,"natVal":"-1"}',
    '{"ie":0,"natVal":5}',
    '{"ie":0,"natVal":"٣"}',
    '{"ie":0,"strVal":"\\udfff"}',
    '{"ie":0,"fvar":0}',
    '{"ie":0,"proj":{"typeName":0,"idx":-1,"struct":0}}',
    '{"ie":0,"const":{"name":0,"us":[5]}}',
    '{"ie":0,"const":{"name":0,"us":0}}',
    '{"lemma":{}}',
    '{"axiom":[]}',
    '{"axiom":{"name":0,"levelParams":[],"type":0,"isUnsafe":false}}',
    '{"quot":{},"axiom":{},"def":{}}',
]


@pytest.mark.parametrize("line", WRONG)
def test_a_malformed_line_is_refused(line):
    with pytest.raises(BadExport, match=r"line [12]"):
        declarations(HEAD + (line or " ") + "\n")


@pytest.mark.parametrize("version", ["3.0.0", "4.0.0", "3.1", "three", None])
def test_other_versions_and_files_without_a_first_line_are_refused(version):
    with pytest.raises(BadExport):
        declarations(json.dumps({"meta": {"format": {"version": version}}}))
    with pytest.raises(BadExport):
        declarations("")


def test_names_that_would_read_alike_stay_apart():
    """The text "1" and the number 1, and a text with a dot."""
    lines = [
        '{"in":1,"str":{"pre":0,"str":"a"}}',
        '{"in":2,"str":{"pre":1,"str":"1"}}',
        '{"in":3,"num":{"pre":1,"i":1}}',
        '{"in":4,"str":{"pre":0,"str":"a.b"}}',
        '{"in":5,"str":{"pre":1,"str":"b"}}',
        '{"in":6,"str":{"pre":0,"str":"«a»"}}',
        '{"in":7,"str":{"pre":0,"str":""}}',
        '{"ie":0,"sort":0}',
    ]
    axioms = [json.dumps({"axiom": {"name": at, "levelParams": [], "type": 0, "isUnsafe": False}}) for at in range(8)]
    names = [each.name for each in declarations(HEAD + "\n".join(lines + axioms))]
    assert len(set(names)) == len(names) == 8
