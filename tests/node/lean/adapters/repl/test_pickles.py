"""Requests as texts, and files with environments and proof states: read, or refused with the reason. No process."""

import json
import os
import pickle

import pytest

from node.lean.adapters.repl.prepared import Hole
from node.lean.adapters.repl.protocol import BadRequest, read_request
from node.lean.adapters.repl.session import (
    BadPickle,
    Environment,
    PickledState,
    ProofState,
    read_environment,
    read_state,
    write_pickle,
)

STATE = ProofState(Hole("theorem t : p := ", " -- «é»", False), ("intro h", 'exact "\n'), ("⊢ p", "⊢ q"), True, "x")


def test_what_is_written_is_read_again(tmp_path):
    write_pickle(tmp_path / "state", PickledState(STATE))
    write_pickle(tmp_path / "environment", Environment("def f := 1\n"))
    assert read_state(tmp_path / "state") == STATE
    assert read_environment(tmp_path / "environment").text == "def f := 1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["environment", "state"]


def test_every_file_that_is_not_ours_is_refused_and_nothing_in_it_runs(tmp_path):
    good = tmp_path / "good"
    write_pickle(good, PickledState(STATE))
    text = good.read_text(encoding="utf-8")
    content = json.loads(text)
    marker = tmp_path / "marker"

    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    wrong = {
        b"": "not written by proofmesh",
        b"olean\x00\x01": "not written by proofmesh",
        pickle.dumps(Harm()): "not written by proofmesh",
        b"[" * 100_000: "not written by proofmesh",
        b'{"format": "other", "version": 1, "digest": "", "content": {}}': "not written by proofmesh",
        text[:-10].encode(): "not written by proofmesh",
        json.dumps({**content, "version": 2}).encode(): "version 2",
        text.replace("intro h", "intro j").encode(): "changed or truncated",
    }
    for data, reason in wrong.items():
        (tmp_path / "wrong").write_bytes(data)
        with pytest.raises(BadPickle, match=reason):
            read_state(tmp_path / "wrong")
    with pytest.raises(BadPickle, match="not an environment"):
        read_environment(good)
    for path, reason in ((tmp_path, "is not a file"), (tmp_path / "absent", "there is no file")):
        with pytest.raises(BadPickle, match=reason):
            read_environment(path)
    assert not marker.exists()


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
