"""Each public data set's form of rows is read: name, header, statement, split, what it is about."""

import pytest

from node.bank.importing import Reader
from node.bank.known import KNOWN, MINIF2F_HEADER, known
from tests.node.bank import stand_ins
from tests.node.bank.stand_ins import MINIF2F, NUMINA, PROOFNET_SHARP, PROVERBENCH, PUTNAM, WORKBOOK


@pytest.mark.parametrize(
    ("data_set", "row", "name", "family", "split", "header", "binders", "conclusion"),
    [
        (
            *("minif2f", MINIF2F[0], "mathd_algebra_1", "mathd_algebra", "valid", "open Nat"),
            *("(n : Nat) (h : n = 2)", "n + 0 = 2"),
        ),
        ("minif2f", MINIF2F[1], "amc12a_2001_p1", "amc", "test", "open Nat", "", "∀ n : Nat, n = n"),
        (
            *("putnambench", PUTNAM[0], "putnam_1900_a1", "putnambench", "test", "import Mathlib\nopen BigOperators"),
            *("(n : Nat)", "n * 2 = ((fun n : Nat => n + n) : Nat → Nat) n"),
        ),
        (
            *("proverbench", PROVERBENCH[0], "small_problem", "Number Theory", "test", "open Nat"),
            *("(p : Prop) (h : p)", "p ∧ p"),
        ),
        (
            *("formalmath", stand_ins.FORMALMATH[0], "base_1", "['Mathematics -> Algebra']", "test", "open Nat"),
            *("", "2 + 2 = 4"),
        ),
        (
            *("numinamath-lean", NUMINA[0], "algebra_7", "Algebra", "train", "open Nat"),
            *("(n : Nat) (h₀ : n = 1)", "n + n = 2"),
        ),
        (
            *("lean-workbook", WORKBOOK[0], "lean_workbook_1", "lean-workbook", "train", MINIF2F_HEADER),
            *("(p q : Prop) (h : p ∧ q)", "q ∧ p"),
        ),
        (
            *("proofnet", PROOFNET_SHARP[0], "Artin_exercise_2_3_2", "proofnet", "test", "open Nat"),
            *("(a b : Nat)", "a + b = b + a"),
        ),
    ],
)
def test_a_row_of_each_data_set_is_read(data_set, row, name, family, split, header, binders, conclusion):
    entry = KNOWN[data_set]
    # The hub calls the only split of a data set `train`.
    told = row if len(entry.splits) > 1 else {"split": "train", **row}
    reading = Reader(data_set, split=entry.splits[0], known=entry).collect([told])
    assert reading.refused == []
    [found] = reading.statements
    theorem = found.theorem
    assert (theorem.name, found.family, found.split) == (name, family, split)
    assert (theorem.header, theorem.binders, theorem.conclusion) == (header, binders, conclusion)


def test_a_row_of_a_banks_file_is_read_like_any_other_and_an_open_answer_is_refused():
    row = {"name": "t_1", "binders": "(p : Prop) (h : p)", "conclusion": "p ∧ p", "level": 3, "family": "logic"}
    [found] = Reader("mine").collect([row]).statements
    assert (found.theorem.name, found.theorem.binders, found.theorem.conclusion) == ("t_1", row["binders"], "p ∧ p")
    row = {**PUTNAM[0], "lean4_statement": PUTNAM[0]["lean4_statement"].replace("-- fun n : Nat => n + n\n", "")}
    [refused] = Reader("p", known=KNOWN["putnambench"]).collect([row]).refused
    assert refused.name == "putnam_1900_a1" and "`sorry` stands before the theorem" in refused.reason


def test_a_flawed_statement_is_marked_and_its_mended_form_is_not():
    flawed = Reader("m", known=KNOWN["minif2f"]).collect(MINIF2F).statements
    mended = Reader("m", known=KNOWN["minif2f-numina"]).collect(stand_ins.NUMINA_MINIF2F).statements
    assert [each.theorem.name for each in flawed if each.flaw] == ["mathd_algebra_314"] and len(flawed) == 3
    assert [each.flaw for each in mended] == [""]
    assert "0 = 0" in flawed[2].flaw and "https://" in flawed[2].flaw
    assert mended[0].theorem.header == MINIF2F_HEADER


def test_a_data_set_is_known_by_its_name_its_hub_id_and_its_files_and_all_is_said_of_it(tmp_path):
    (tmp_path / "proofnet.jsonl").touch()
    local = known(str(tmp_path / "proofnet.jsonl"))
    assert local is not None and local.name == "proofnet"
    for text in ("minif2f", "MiniF2F", "Slim205/minif2f", "some/folder/minif2f.jsonl", "miniF2F.parquet"):
        found = known(text)
        assert (found.name if found else None) == ("minif2f" if "folder" not in text else None), text
    assert known("somebody/else") is None and known("mine.jsonl") is None
    for entry in KNOWN.values():
        assert entry.hub.id.count("/") == 1 and entry.splits and entry.statements > 0
        assert entry.source.startswith("https://") and entry.paper.startswith("https://arxiv.org/")
