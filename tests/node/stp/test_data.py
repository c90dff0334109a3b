"""What a run takes of the data that was prepared."""

from pathlib import Path

import msgspec
import pytest

from common.lean import Theorem
from node.stp.data.initial import PROOFS, STATEMENTS, _digest, around, data_of, drawn, load_prepared
from node.stp.data.statements import key
from node.stp.records import Statement, StpError
from tests.node.stp.tiny_run import GIVEN, TEST, TRAIN
from tests.node.stp.works import tiny_plan

NUMBERED = [Statement(Theorem(f"s_{number}", "", f"{number} = {number}")) for number in range(20)]


def test_statements_are_drawn_by_the_seed_and_keep_their_order() -> None:
    few = drawn(NUMBERED, 5, 1)
    assert few == drawn(NUMBERED, 5, 1) != drawn(NUMBERED, 5, 2)
    assert len(few) == 5 and few == [each for each in NUMBERED if each in few]
    assert drawn(NUMBERED, 0, 1) == drawn(NUMBERED, 20, 1) == drawn(NUMBERED, 99, 1) == NUMBERED


def test_a_run_proves_what_has_no_given_proof_and_knows_the_rest(tmp_path: Path) -> None:
    data = data_of(tiny_plan(tmp_path))
    assert [each.theorem for each in data.statements if each.split == "train"] == list(TRAIN)
    assert [each.theorem for each in data.statements if each.split == "test"] == list(TEST)
    assert [theorem for theorem, _ in data.given] == list(GIVEN)
    few = data_of(tiny_plan(tmp_path, statements=2))
    chosen = [each.theorem for each in few.statements if each.split == "train"]
    assert len(chosen) == 2 and {key(each) for each in TRAIN if each not in chosen} <= few.keys
    assert [each for each in few.statements if each.split == "test"] == [Statement(each, "test") for each in TEST]


def test_around_one_statement_the_others_are_known_and_not_proved(tmp_path: Path) -> None:
    data = data_of(tiny_plan(tmp_path))
    target = TRAIN[1]
    focused = around(data, target, list(data.given[:1]))
    assert focused.statements == (Statement(target),) and focused.given == data.given[:1]
    assert key(target) not in {key(each) for each in focused.others}
    assert {key(each) for each in (*TEST, TRAIN[0], GIVEN[0])} <= focused.keys


def test_data_that_is_not_there_or_gives_nothing_to_do_is_told(tmp_path: Path) -> None:
    with pytest.raises(StpError, match=r"nowhere: no prepared\.json; prepare the data with `proofmesh stp prepare"):
        data_of(tiny_plan(tmp_path, data=str(tmp_path / "nowhere")))
    plan, folder = tiny_plan(tmp_path), tmp_path / "data"
    rows = (folder / PROOFS).read_bytes()
    _rewrite(folder, PROOFS, b"")
    with pytest.raises(StpError, match="no proofs to start from"):
        data_of(plan)
    _rewrite(folder, PROOFS, rows)
    given = [Statement(each) for each in GIVEN]
    _rewrite(folder, STATEMENTS, b"".join(msgspec.json.encode(each) + b"\n" for each in given))
    with pytest.raises(StpError, match="all statements have proofs already"):
        data_of(plan)


def _rewrite(folder: Path, name: str, content: bytes) -> None:
    """Other data, as whoever prepares it would write it."""
    manifest = load_prepared(folder).manifest
    (folder / name).write_bytes(content)
    files = [(folder / each).read_bytes() for each in (STATEMENTS, PROOFS, "conjectures.jsonl", "lemmas.jsonl")]
    (folder / "prepared.json").write_bytes(
        msgspec.json.encode(msgspec.structs.replace(manifest, digest=_digest(files)))
    )
