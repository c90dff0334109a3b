"""The data that self-play begins with: what is in it, what is held out, what of it a run takes."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.lean import Theorem
from common.output.command import Exit
from node.command.stp.prepare import main_prepare
from node.stp.data.initial import (
    PASSED_OVER,
    PROOFS,
    STATEMENTS,
    _digest,
    around,
    data_of,
    drawn,
    load_prepared,
    pairs,
    stated,
)
from node.stp.data.statements import key
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, Given, Lemma, Proof, Statement, StpError
from tests.node.stp.examples import CONJECTURER, GENERATED, HEADER, MATHLIB
from tests.node.stp.tiny_run import GIVEN, TEST, TRAIN, tiny_plan

ADD_COMM = "Nat.add_comm"


def _rows(path: Path, *rows: dict[str, Any] | str) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def _stated(name: str, statement: str, **more: str) -> dict[str, Any]:
    return {"name": name, "statement": f"theorem {name} {statement}", **more}


def _proved(name: str, statement: str, proof: str, **more: str) -> dict[str, Any]:
    return _stated(name, f"{statement} := by", **more) | {"proof": proof}


def _run(*argv: str | Path) -> int:
    return main_prepare([str(each) for each in argv])


PROVED = (
    _proved("p1", "(a b : Nat) : a + b = b + a", "rw [Nat.add_comm]"),
    _proved("p2", "(a b c : Nat) : a + b + c = c + (b + a)", "rw [Nat.add_comm, Nat.add_comm a b]"),
    _proved("p3", "(p : Prop) (h : p) : p", "exact h"),
)


def test_statements_proofs_pairs_and_lemmas_are_kept_and_loaded(tmp_path: Path) -> None:
    source = _rows(tmp_path / "mine.jsonl", *PROVED, _stated("s1", "(n : Nat) : n = n"))
    out = tmp_path / "new" / "out"
    assert _run(source, "--out", out, "--lemmas", "pocket", "--empty-lemma", "1") == Exit.DONE
    data = load_prepared(out)
    assert [each.theorem.name for each in data.statements] == ["p1", "p2", "p3", "s1"]
    assert {each.split for each in data.statements} == {"train"}
    proofs = [(theorem.name, proof.name, proof.lemmas) for theorem, proof in data.proofs]
    assert proofs == [("p1", "p1", (ADD_COMM,)), ("p2", "p2", (ADD_COMM,)), ("p3", "p3", ())]
    with_lemma = [each for each in data.conjectures if each.seed.lemma != EMPTY_LEMMA]
    # The theorem with the shorter proof is the easy one.
    assert [(each.seed.theorem.name, each.conjecture.split()[1]) for each in with_lemma] == [("p1", "p2")]
    assert with_lemma[0].seed.lemma == data.library.lemma(ADD_COMM)
    assert with_lemma[0].seed.proof == "rw [Nat.add_comm]"
    assert len(data.conjectures) == 3  # p1 and p2 with something shorter, without a lemma
    row = json.loads((out / "proofs.jsonl").read_text().splitlines()[0])
    assert (row["statement"], row["proof"]) == ("theorem p1 (a b : Nat) : a + b = b + a", "rw [Nat.add_comm]")
    assert data.manifest.counts["train"] == 4 and str(source) in data.manifest.sources


def test_what_is_measured_on_is_nowhere_in_what_is_trained_on(tmp_path: Path) -> None:
    real = _stated("t2", "(a b : ℝ) : 0 ≤ a ^ 2 + b ^ 2", header="import Other")
    held_out = _rows(tmp_path / "test.jsonl", _stated("t1", "(x y : Nat) :  x + y = y+x"), real)
    source = _rows(tmp_path / "mine.jsonl", *PROVED, CONJECTURER, _stated("v", "(n : Nat) : n = n", split="test"))
    out = tmp_path / "out"
    assert _run(source, "--test", held_out, "--out", out, "--lemmas", "pocket") == Exit.DONE
    data = load_prepared(out)
    assert {each.theorem.name for each in data.statements if each.split == "test"} == {"t1", "t2", "v"}
    keys = {stated(each.theorem) for each in data.statements if each.split == "test"}
    assert not keys & {stated(each.theorem) for each in data.statements if each.split == "train"}
    assert not keys & {stated(theorem) for theorem, _ in data.proofs}
    assert [theorem.name for theorem, _ in data.proofs] == ["p2", "p3"]
    assert not any("p1" in each.conjecture or each.seed.theorem.name in ("p1", "x") for each in data.conjectures)
    kinds = ("statements", "proofs", "conjectures")
    assert data.manifest.left_out == {f"{kind} that are measured on": 1 for kind in kinds}


def test_the_reference_s_data_and_lean_workbook_go_together(tmp_path: Path) -> None:
    sft = _rows(tmp_path / "sft.jsonl", GENERATED, MATHLIB, CONJECTURER)
    workbook = tmp_path / "lean_workbook.json"
    unused = {"natural_language_statement": "Add.", "answer": "", "tags": [], "split": "lean_workbook_plus"}
    statement = "theorem lean_workbook_plus_7 (a b : ℝ) : a + b = b + a  :=  by sorry"
    row = {**unused, "formal_statement": statement, "proof": [], "id": "lean_workbook_plus_7"}
    proved = row | {"formal_statement": "theorem y : 1 = 1  :=  by sorry", "id": "y", "proof": ["rfl", "simp"]}
    workbook.write_text(json.dumps([row, proved]))
    out = tmp_path / "out"
    assert _run(sft, workbook, "--out", out) == Exit.DONE
    data = load_prepared(out)
    assert [each.theorem.name for each in data.statements] == ["lean_workbook_plus_7", "y"]
    assert data.statements[0].theorem.header == HEADER
    assert [theorem.name for theorem, _ in data.proofs] == ["lean_workbook_1", "one", "y"]
    (example,) = [each for each in data.conjectures if each.seed.lemma.name == "sq_nonneg"]
    assert example.conjecture == "theorem y (a b : ℝ) : 0 ≤ a ^ 2 + b ^ 2"


def test_duplicates_are_there_once_and_other_statements_of_one_name_get_another(tmp_path: Path) -> None:
    again = _proved("q", "(x y : Nat) : x+y = y + x", "rw [Nat.add_comm]")
    other = _proved("p1", "(n : Nat) : n = n", "rfl")
    source = _rows(tmp_path / "mine.jsonl", *PROVED, again, other, PROVED[0])
    assert _run(source, "--out", tmp_path / "out") == Exit.DONE
    data = load_prepared(tmp_path / "out")
    names = [each.theorem.name for each in data.statements], [theorem.name for theorem, _ in data.proofs]
    assert names == (["p1", "p2", "p3", "p1_2"],) * 2
    assert data.manifest.left_out == {"statements that are there already": 2, "proofs that are there already": 2}


def test_bad_rows_are_told_with_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unproved = _proved("u", "(n : Nat) : n = n + 0", "sorry")
    source = _rows(tmp_path / "mine.jsonl", PROVED[0], "{broken", "[1]", {"a": 1}, _stated("x", "n = "), unproved)
    out = tmp_path / "out"
    assert _run(source, "--out", out) == Exit.DONE
    told = capsys.readouterr().err
    for line in (2, 3, 4, 5):
        assert f"{source}, line {line}: " in told and f"{source}, line {line}: " in (out / PASSED_OVER).read_text()
    data = load_prepared(out)
    assert [theorem.name for theorem, _ in data.proofs] == ["p1"]
    assert [each.theorem.name for each in data.statements] == ["p1", "u"]
    assert data.manifest.left_out == {"rows that could not be read": 4}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([_stated("s", "(n : Nat) : n = n")], "no proofs to start from in "),
        ([GENERATED], "no statements to prove in "),
        (["{broken"], "1 rows could not be read; the first: "),
        ([], "nowhere.jsonl: no file"),
    ],
)
def test_nothing_to_begin_with_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[Any], told: str
) -> None:
    source = _rows(tmp_path / "mine.jsonl", *rows) if rows else tmp_path / "nowhere.jsonl"
    assert _run(source, "--out", tmp_path / "out") == Exit.UNUSABLE
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert told in line and str(source) in line
    assert not (tmp_path / "out").exists()


def test_data_that_was_changed_or_is_cut_off_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(StpError, match="prepare the data with `proofmesh stp prepare"):
        load_prepared(out)
    assert _run(_rows(tmp_path / "mine.jsonl", *PROVED), "--out", out) == Exit.DONE
    content = (out / "proofs.jsonl").read_bytes()
    (out / "proofs.jsonl").write_bytes(content[:-20])
    with pytest.raises(StpError, match=r"the files do not match prepared\.json; prepare it again with `proofmesh stp"):
        load_prepared(out)
    (out / "proofs.jsonl").unlink()
    with pytest.raises(StpError, match="cannot be read"):
        load_prepared(out)


def test_equal_sources_give_equal_bytes(tmp_path: Path) -> None:
    source = _rows(tmp_path / "mine.jsonl", *PROVED)
    for name in ("a", "b"):
        assert _run(source, "--out", tmp_path / name, "--lemmas", "pocket") == Exit.DONE
    assert load_prepared(tmp_path / "a").manifest.digest == load_prepared(tmp_path / "b").manifest.digest


@pytest.mark.slow
def test_the_bank_gives_its_warm_start_proofs_and_holds_its_test_out(tmp_path: Path) -> None:
    assert _run("--out", tmp_path / "out") == Exit.DONE
    data = load_prepared(tmp_path / "out")
    held_out = {stated(each.theorem) for each in data.statements if each.split != "train"}
    assert len(held_out) == 828 and len(data.proofs) > 3000 and len(data.conjectures) > 2000
    assert data.manifest.sources == ("bank",)
    trained = [each.theorem for each in data.statements if each.split == "train"]
    assert held_out.isdisjoint(map(stated, [*trained, *(theorem for theorem, _ in data.proofs)]))


# --- what a run takes of the data that was prepared -------------------------------------------------------------------
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
    rewrite(folder, PROOFS, b"")
    with pytest.raises(StpError, match="no proofs to start from"):
        data_of(plan)
    rewrite(folder, PROOFS, rows)
    given = [Statement(each) for each in GIVEN]
    rewrite(folder, STATEMENTS, b"".join(msgspec.json.encode(each) + b"\n" for each in given))
    with pytest.raises(StpError, match="all statements have proofs already"):
        data_of(plan)


def rewrite(folder: Path, name: str, content: bytes) -> None:
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


def test_the_shorter_proof_is_the_easy_theorem_s_and_each_is_the_hard_one_of_a_few_pairs_for_each_lemma() -> None:
    given = [_given(1, "a"), _given(2, "a", "b"), _given(3, "b"), _given(4), _given(5, "gone"), _given(6, "gone")]
    assert _names(pairs(given, _lemma_of, most=9, empty=0.0, seed=0)) == [("t02", "a", "t01"), ("t03", "b", "t02")]
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
