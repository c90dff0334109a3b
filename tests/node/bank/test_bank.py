"""The loader of the theorem bank: what it gives, and how it complains."""

import gzip
import json
from collections import Counter

import pytest

from common.lean import Theorem
from node.bank import bank
from node.bank.bank import BankError, BankTheorem, BankTransition, digest, load_statements, load_transitions, stratified

STATEMENT = {
    "name": "train_0",
    "binders": "(p : Prop)",
    "conclusion": "p → p",
    "family": "propositional",
    "level": 1,
    "template": "t",
}
TRANSITION = {
    "theorem": "train_0",
    "level": 1,
    "family": "propositional",
    "state": "⊢ x",
    "tactic": "rfl",
    "remaining_steps": 1,
}


def write(directory, name, rows):
    text = "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    (directory / name).write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def small(tmp_path):
    for split in bank.SPLITS:
        write(tmp_path, f"{split}.jsonl.gz", [STATEMENT | {"name": f"{split}_0"}])
    write(tmp_path, "transitions.jsonl.gz", [TRANSITION, TRANSITION | {"level": 3}, TRANSITION | {"tactic": "exfalso"}])
    return tmp_path


def test_statements_and_transitions_are_read_as_written(small):
    assert load_statements("train", small) == [
        BankTheorem(Theorem("train_0", "(p : Prop)", "p → p"), "propositional", 1)
    ]
    assert load_transitions(small)[0] == BankTransition("train_0", 1, "propositional", "⊢ x", "rfl", 1)


def test_the_warm_start_sees_neither_high_levels_nor_held_out_vocabulary(small):
    assert [(row.level, row.tactic) for row in load_transitions(small, warm_start=True)] == [(1, "rfl")]


def test_a_missing_file_is_named_with_what_to_do(small):
    (small / "valid.jsonl.gz").unlink()
    with pytest.raises(BankError, match=r"valid\.jsonl\.gz: no such file.*scripts\.bank\.build"):
        load_statements("valid", small)


def test_a_corrupt_line_is_named_by_its_number(small):
    write(small, "train.jsonl.gz", [STATEMENT, STATEMENT, "{not json\n"])
    with pytest.raises(BankError, match=r"train\.jsonl\.gz, line 3"):
        load_statements("train", small)
    write(small, "train.jsonl.gz", [STATEMENT, STATEMENT | {"level": "one"}])
    with pytest.raises(BankError, match=r"line 2: .*level"):
        load_statements("train", small)


def test_a_truncated_file_is_refused(small):
    whole = (small / "test.jsonl.gz").read_bytes()
    (small / "test.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BankError, match=r"test\.jsonl\.gz: cannot be read"):
        load_statements("test", small)


def test_an_unknown_split_is_refused():
    with pytest.raises(BankError, match="no split 'dev'; there are train, valid, test"):
        load_statements("dev")


def test_the_truth_file_is_never_opened(small):
    (small / "truth.jsonl.gz").write_bytes(b"not for nodes")
    load_statements("train", small)
    load_transitions(small)
    digest(small)


def test_the_digest_follows_the_content_and_nothing_else(small):
    before = digest(small)
    write(small, "train.jsonl.gz", [STATEMENT | {"name": "train_0"}])
    assert digest(small) == before
    write(small, "train.jsonl.gz", [STATEMENT | {"name": "train_1"}])
    assert digest(small) != before


def test_a_stratified_sample_has_the_proportions_of_the_whole():
    statements = load_statements("train")
    sample = stratified(statements, 300, seed=3)
    assert sample == stratified(statements, 300, seed=3) != stratified(statements, 300, seed=4)
    assert len({item.theorem.name for item in sample}) == 300
    whole = Counter((item.family, item.level) for item in statements)
    part = Counter((item.family, item.level) for item in sample)
    for group, count in whole.items():
        assert abs(part[group] - 300 * count / len(statements)) <= 1.01


def test_a_sample_larger_than_the_split_is_refused():
    with pytest.raises(ValueError, match="3 statements wanted, 0 there"):
        stratified([], 3, seed=0)
