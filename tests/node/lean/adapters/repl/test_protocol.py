"""The protocol's texts, without any process."""

import json

import pytest

from node.lean.adapters.repl.protocol import (
    BadRequest,
    CommandAnswer,
    Refusal,
    ReplTacticAnswer,
    Request,
    read_answer,
    read_request,
    write,
)


def test_an_answer_is_found_in_whatever_stands_before_it():
    assert read_answer('{"env": 3}') == CommandAnswer(3)
    assert read_answer('noise {"a": [} {"message": "no"}\n') == Refusal("no")
    assert read_answer('{"x": 1}\nstderr: {{\n{"proofState": 2,\n "goals": ["⊢ p"],\n "new": 1}') == ReplTacticAnswer(
        2, ["⊢ p"]
    )


@pytest.mark.parametrize(
    "text", ["", "noise", "[1]", '{"x": 1}', '{"env": "1"}', '{"env": 1', "{" * 5000, '{"env": 1} x']
)
def test_what_is_no_answer_is_none(text):
    assert read_answer(text) is None


def test_requests_are_written_with_the_fields_that_are_set():
    assert write(Request(tactic="exact «h»", proof_state=0)) == '{"tactic":"exact «h»","proofState":0}\n\n'.encode()
    assert json.loads(write(Request(cmd="def f := 1", env=0))) == {"cmd": "def f := 1", "env": 0}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "Could not parse JSON"),
        ("[" * 100_000, "Could not parse JSON"),
        ("[]", "Could not parse as a valid JSON command"),
        ("{}", "Could not parse as a valid JSON command"),
        ('{"cmd": 1}', "Could not parse as a valid JSON command"),
        ('{"tactic": "rfl"}', "`tactic` needs `proofState`"),
    ],
)
def test_what_is_no_request_is_told_as_the_repl_tells_it(text, says):
    with pytest.raises(BadRequest, match=says):
        read_request(text)
