"""The loader of the theorem bank: what it gives, and how it complains."""

import gzip
import json
import shutil
from collections import Counter

import pytest

from common.lean import Context, Place, Theorem
from node.bank import bank
from node.bank.bank import (
    BankError,
    BankTheorem,
    BankTransition,
    Manifest,
    WarmStartRule,
    digest,
    load_statements,
    load_transitions,
    stratified,
)

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


@pytest.fixture
def ruled(small):
    bank.write_manifest(small, Manifest({"a": "make it"}, WarmStartRule((1, 2), ("exfalso",))))
    return small


def test_statements_and_transitions_are_read_as_written(small):
    assert load_statements("train", small) == [
        BankTheorem(Theorem("train_0", "(p : Prop)", "p → p"), "propositional", 1)
    ]
    assert load_transitions(small)[0] == BankTransition("train_0", 1, "propositional", "⊢ x", "rfl", 1)


def test_the_warm_start_sees_neither_the_levels_nor_the_vocabulary_that_the_manifest_keeps_from_it(ruled):
    assert [(row.level, row.tactic) for row in load_transitions(ruled, warm_start=True)] == [(1, "rfl")]
    assert len(load_transitions(ruled)) == 3


def test_a_missing_file_is_named_with_the_splits_that_are_there_and_what_makes_the_bank_anew(ruled):
    (ruled / "valid.jsonl.gz").unlink()
    with pytest.raises(BankError, match=r"valid\.jsonl\.gz: no such file.*train, test.*again with `make it`"):
        load_statements("valid", ruled)
    assert bank.splits(ruled) == ("train", "test")


def test_only_the_bundled_bank_is_restored_from_the_checkout(small):
    with pytest.raises(BankError) as missing:
        list(bank.decode(small / "missing.jsonl.gz", dict))
    assert "git checkout" not in str(missing.value) and "proofmesh bank import" in str(missing.value)
    with pytest.raises(BankError, match="git checkout -- data/pocket"):
        list(bank.decode(bank.DIRECTORY / "missing.jsonl.gz", dict))


def test_a_damaged_manifest_is_named(ruled):
    (ruled / bank.MANIFEST).write_text("{")
    with pytest.raises(BankError, match=r"bank\.json: cannot be read"):
        load_transitions(ruled, warm_start=True)


def test_a_corrupt_line_is_named_by_its_number(small):
    write(small, "train.jsonl.gz", [STATEMENT, STATEMENT, "{not json\n"])
    with pytest.raises(BankError, match=r"train\.jsonl\.gz, line 3"):
        load_statements("train", small)
    write(small, "train.jsonl.gz", [STATEMENT, STATEMENT | {"level": "one"}])
    with pytest.raises(BankError, match=r"line 2: .*level"):
        load_statements("train", small)


def test_a_truncated_file_is_refused_with_what_makes_the_bank_anew(ruled):
    whole = (ruled / "test.jsonl.gz").read_bytes()
    (ruled / "test.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BankError, match=r"test\.jsonl\.gz: cannot be read.*`make it`") as error:
        load_statements("test", ruled)
    assert "git checkout" not in str(error.value)


def test_the_truth_file_is_never_opened(small):
    (small / "truth.jsonl.gz").write_bytes(b"not for nodes")
    load_statements("train", small)
    load_transitions(small)
    digest(small)


def test_the_digest_follows_the_content_and_the_rule_of_the_warm_start_and_nothing_else(ruled, tmp_path_factory):
    before = digest(ruled)
    copy = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(ruled, copy)
    bank.write_manifest(copy, Manifest({"b": "made otherwise"}, WarmStartRule((2, 1), ("exfalso",))))
    assert digest(copy) == before
    bank.write_manifest(copy, Manifest({}, WarmStartRule((1,), ("exfalso",))))
    assert digest(copy) != before
    (copy / bank.MANIFEST).unlink()
    assert digest(copy) != before
    write(ruled, "train.jsonl.gz", [STATEMENT | {"name": "train_0"}])
    assert digest(ruled) == before
    write(ruled, "train.jsonl.gz", [STATEMENT | {"name": "train_1"}])
    assert digest(ruled) != before


def test_a_stratified_sample_has_the_proportions_of_the_whole():
    statements = load_statements("train")
    sample = stratified(statements, 300, seed=3)
    assert sample == stratified(statements, 300, seed=3) != stratified(statements, 300, seed=4)
    assert len({item.theorem.name for item in sample}) == 300
    whole = Counter((item.family, item.level) for item in statements)
    part = Counter((item.family, item.level) for item in sample)
    for group, count in whole.items():
        assert abs(part[group] - 300 * count / len(statements)) <= 1.01


def test_theorems_in_files_come_with_their_contexts(small):
    context = Context.of("def double (n : Nat) : Nat := n + n\n")
    place = {"before": "theorem a : double 1 = 2 := ", "after": "\n", "tactic": False}
    row = {**STATEMENT, "name": "a", "binders": "", "conclusion": "double 1 = 2", "place": place}
    before = digest(small)
    write(small, "train.jsonl.gz", [STATEMENT, {**row, "context": context.digest}])
    with pytest.raises(BankError, match=r"contexts\.jsonl\.gz: no such file"):
        load_statements("train", small)
    write(small, "contexts.jsonl.gz", [{"digest": context.digest, "text": context.text}])
    alone, in_file = (each.theorem for each in load_statements("train", small))
    assert alone.place is None and in_file.place == Place(context, **place)
    assert digest(small) != before
    write(small, "contexts.jsonl.gz", [])
    with pytest.raises(BankError, match=f"no context {context.digest}, which a of train needs"):
        load_statements("train", small)
