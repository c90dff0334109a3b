"""The loader of the theorem bank: what it gives, how it complains; and whole proofs, put together from transitions."""

import gzip
import json
import shutil
import textwrap
from collections import Counter, defaultdict

import pytest

from common.lean import Context, Place, Theorem
from common.proofs import transitions_of
from data.generators.lean_check import load_truth
from node.bank import bank
from node.bank.bank import BankError, BankTransition, digest, load_proofs, load_statements, load_transitions
from node.lean.opened import open_lean
from node.lean.settings import LeanProcessSettings
from node.lean.text.script import indented
from node.lean.toolchain.find import find
from tests.files import truncate
from tests.node.play.opened import verified

COMMON = {"family": "propositional", "level": 1}
STATEMENT = COMMON | {"name": "train_0", "binders": "(p : Prop)", "conclusion": "p → p", "template": "t"}
TRANSITION = COMMON | {"theorem": "train_0", "state": "⊢ x", "tactic": "rfl", "remaining_steps": 1}


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
    bank.write_manifest(small, bank.Manifest({"a": "make it"}, bank.WarmStartRule((1, 2), ("exfalso",))))
    return small


def test_statements_and_transitions_are_read_as_written_and_the_truth_file_is_never_opened(small):
    theorem = Theorem("train_0", "(p : Prop)", "p → p")
    assert load_statements("train", small) == [bank.BankTheorem(theorem, "propositional", 1)]
    assert load_transitions(small)[0] == BankTransition("train_0", 1, "propositional", "⊢ x", "rfl", 1)
    (small / "truth.jsonl.gz").write_bytes(b"not for nodes")
    load_statements("train", small)
    load_transitions(small)
    digest(small)


def test_the_warm_start_sees_neither_the_levels_nor_the_vocabulary_that_the_manifest_keeps_from_it(ruled):
    assert [(row.level, row.tactic) for row in load_transitions(ruled, warm_start=True)] == [(1, "rfl")]
    assert len(load_transitions(ruled)) == 3


def test_a_missing_file_is_named_and_only_the_bundled_bank_is_restored_from_the_checkout(ruled):
    (ruled / "valid.jsonl.gz").unlink()
    with pytest.raises(BankError, match=r"valid\.jsonl\.gz: no such file.*train, test.*again with `make it`"):
        load_statements("valid", ruled)
    assert bank.splits(ruled) == ("train", "test")
    (ruled / bank.MANIFEST).unlink()
    with pytest.raises(BankError) as missing:
        list(bank.decode(ruled / "missing.jsonl.gz", dict))
    assert "git checkout" not in str(missing.value) and "proofmesh bank import" in str(missing.value)
    with pytest.raises(BankError, match="git checkout -- data/pocket"):
        list(bank.decode(bank.DIRECTORY / "missing.jsonl.gz", dict))


def test_a_corrupt_line_is_named_by_its_number(small):
    write(small, "train.jsonl.gz", [STATEMENT, STATEMENT, "{not json\n"])
    with pytest.raises(BankError, match=r"train\.jsonl\.gz, line 3"):
        load_statements("train", small)
    write(small, "train.jsonl.gz", [STATEMENT, STATEMENT | {"level": "one"}])
    with pytest.raises(BankError, match=r"line 2: .*level"):
        load_statements("train", small)


def test_a_truncated_file_is_refused_with_what_makes_the_bank_anew_and_a_damaged_manifest_is_named(ruled):
    truncate(ruled / "test.jsonl.gz")
    with pytest.raises(BankError, match=r"test\.jsonl\.gz: cannot be read.*`make it`") as error:
        load_statements("test", ruled)
    assert "git checkout" not in str(error.value)
    (ruled / bank.MANIFEST).write_text("{")
    with pytest.raises(BankError, match=r"bank\.json: cannot be read"):
        load_transitions(ruled, warm_start=True)


def test_the_digest_follows_the_content_and_the_rule_of_the_warm_start_and_nothing_else(ruled, tmp_path_factory):
    before = digest(ruled)
    copy = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(ruled, copy)
    bank.write_manifest(copy, bank.Manifest({"b": "made otherwise"}, bank.WarmStartRule((2, 1), ("exfalso",))))
    assert digest(copy) == before
    bank.write_manifest(copy, bank.Manifest({}, bank.WarmStartRule((1,), ("exfalso",))))
    assert digest(copy) != before
    (copy / bank.MANIFEST).unlink()
    assert digest(copy) != before
    for name in ("train_0", "train_1"):
        write(ruled, "train.jsonl.gz", [STATEMENT | {"name": name}])
        assert (digest(ruled) == before) == (name == "train_0")


def test_a_stratified_sample_has_the_proportions_of_the_whole():
    statements = load_statements("train")
    sample = bank.stratified(statements, 300, seed=3)
    assert sample == bank.stratified(statements, 300, seed=3) != bank.stratified(statements, 300, seed=4)
    assert len({item.theorem.name for item in sample}) == 300
    whole, part = (Counter((item.family, item.level) for item in items) for items in (statements, sample))
    for group, count in whole.items():
        assert abs(part[group] - 300 * count / len(statements)) <= 1.01


def test_theorems_in_files_come_with_their_contexts(small):
    context, before = Context.of("def double (n : Nat) : Nat := n + n\n"), digest(small)
    place = {"before": "theorem a : double 1 = 2 := ", "after": "\n", "tactic": False}
    row = STATEMENT | {"name": "a", "binders": "", "conclusion": "double 1 = 2", "place": place}
    write(small, "train.jsonl.gz", [STATEMENT, row | {"context": context.digest}])
    with pytest.raises(BankError, match=r"contexts\.jsonl\.gz: no such file"):
        load_statements("train", small)
    write(small, "contexts.jsonl.gz", [{"digest": context.digest, "text": context.text}])
    alone, in_file = (each.theorem for each in load_statements("train", small))
    assert alone.place is None and in_file.place == Place(context, **place)
    assert digest(small) != before
    write(small, "contexts.jsonl.gz", [])
    with pytest.raises(BankError, match=f"no context {context.digest}, which a of train needs"):
        load_statements("train", small)


# --- proofs -----------------------------------------------------------------------------------------------------------
@pytest.mark.compute
def test_proofs_are_those_that_the_bank_was_made_with_and_the_warm_start_has_those_of_its_own_transitions() -> None:
    """The file of truths is the tests' alone: nothing that trains opens it."""
    truth = load_truth()
    found, tactics = load_proofs(), defaultdict[str, set[str]](set)
    for each in bank.load_transitions():
        tactics[each.theorem].add(each.tactic)
    assert len(found) > 0.98 * len(tactics)
    for proof in found:
        row = truth[proof.theorem.name.removesuffix("_neg")]
        assert row.true == (not proof.theorem.name.endswith("_neg"))
        assert proof.script == textwrap.dedent(row.script), proof.theorem.name
    allowed = {(each.theorem, each.tactic) for each in bank.load_transitions(warm_start=True)}
    warm = load_proofs(warm_start=True)
    assert 3800 < len(warm) < len(found)
    for name in (proof.theorem.name for proof in warm):
        assert {(name, tactic) for tactic in tactics[name]} <= allowed


@pytest.mark.parametrize(
    ("steps", "trees"), [((1,), 1), ((3, 1, 2, 1), 1), ((2, 1, 1), 1), ((3, 2, 1, 1), 2), ((1, 1), 0)]
)
def test_every_tree_that_has_the_recorded_numbers_is_found(steps: tuple[int, ...], trees: int) -> None:
    rows = [BankTransition("t", 1, "f", f"state {place}", f"tactic {place}", left) for place, left in enumerate(steps)]
    found, told = list(bank._trees(rows)), {(row.state, row.remaining_steps) for row in rows}
    assert len(found) == trees
    for tree in found:
        assert {(each.state, each.remaining_steps) for each in transitions_of(tree)} == told


@pytest.mark.slow
@pytest.mark.lean
async def test_lean_accepts_the_proofs() -> None:
    """Every 400th; all 3,907 of the warm start were accepted when this was written."""
    settings = LeanProcessSettings(workers=1)
    async with open_lean(settings, find(settings.lean)) as lean:
        for proof in load_proofs()[::400]:
            reply = await verified(lean, proof.theorem, indented(proof.script.split("\n")))
            assert reply.accepted, f"{proof.theorem.name}: {reply}"


def test_the_form_of_a_tactic_tells_how_many_goals_it_leaves() -> None:
    assert bank.form_of("induction n with | zero => ?_ | succ n ih => ?_") == "induction | ?_ | ?_"
    assert bank.form_of("rcases h with a | b") != bank.form_of("rcases h with ⟨a, b⟩")
