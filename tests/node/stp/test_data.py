"""What a run takes of the data that was prepared."""

import random
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from common.lean import Theorem
from node.stp.data.initial import PROOFS, STATEMENTS, _digest, around, data_of, drawn, load_prepared, pairs
from node.stp.data.statements import key
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, Given, Lemma, Proof, Statement, StpError
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


# --- the conjecturer's first examples ---------------------------------------------------------------------------------
def _lemma_of(name: str) -> Lemma | None:
    return None if name == "gone" else Lemma(name, f"theorem {name} : p")


def _given(number: int, *lemmas: str, header: str = "", kind: str = "") -> Given:
    theorem = Theorem(f"t{number:02d}", "", f"{number} = {number}", header)
    return Given(theorem, Proof(theorem.name, "x" * (100 - number), lemmas=lemmas), kind)


def _names(examples: list[ConjecturerExample]) -> list[tuple[str, str, str]]:
    return [(each.seed.theorem.name, each.seed.lemma.name, each.conjecture.split()[1]) for each in examples]


def test_the_shorter_proof_is_the_easy_theorem_s_and_the_lemma_is_in_both() -> None:
    given = [_given(1, "a"), _given(2, "a", "b"), _given(3, "b"), _given(4), _given(5, "gone"), _given(6, "gone")]
    assert _names(pairs(given, _lemma_of, most=9, empty=0.0, seed=0)) == [("t02", "a", "t01"), ("t03", "b", "t02")]


def test_each_theorem_is_the_hard_one_of_a_few_pairs_for_each_lemma() -> None:
    given = [_given(number, "a") for number in range(30)]
    hard = Counter(name for _, _, name in _names(pairs(given, _lemma_of, most=3, empty=0.0, seed=0)))
    assert sorted(hard.values()) == [1, 2] + [3] * 27  # the easiest is never the hard one
    assert len(pairs(given, _lemma_of, most=99, empty=0.0, seed=0)) == 30 * 29 // 2


def test_pairs_without_a_lemma_are_of_one_kind_and_all_pairs_of_one_header() -> None:
    given = [_given(n, "a", header=f"open H{n % 2}", kind=f"k{n % 4}") for n in range(40)]
    found = pairs(given, _lemma_of, most=5, empty=1.0, seed=0)
    number = {each.theorem.name: n for n, each in enumerate(given)}
    assert all(number[easy] % 2 == number[hard] % 2 for easy, _, hard in _names(found))
    empty = [each for each in _names(found) if each[1] == EMPTY_LEMMA.name]
    assert len(empty) == 36 and all(number[easy] % 4 == number[hard] % 4 for easy, _, hard in empty)


def test_one_statement_makes_no_pair_with_itself_and_no_order_counts() -> None:
    theorem = Theorem("t", "", "p")
    twice = [Given(theorem, Proof("t", script, lemmas=("a",))) for script in ("x", "xx")]
    assert pairs(twice, _lemma_of, most=1, empty=1.0, seed=0) == []
    given = [_given(number, "a") for number in range(20)]
    shuffled = random.Random(1).sample(given, 20)
    found = pairs(given, _lemma_of, most=1, empty=0.5, seed=4)
    assert found == pairs(shuffled, _lemma_of, most=1, empty=0.5, seed=4)
    assert found != pairs(given, _lemma_of, most=1, empty=0.5, seed=5)
