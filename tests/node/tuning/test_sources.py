"""Where training data comes from: what is taken, what is left out and counted, and what is refused."""

import json
from pathlib import Path

import pytest

from common.lean import Theorem
from node.bank import bank
from node.data.errors import InputError
from node.data.reading import BENCHMARK, SORRY, Data, parse, read as read_source, read_all, read_pairs, write_pairs
from node.data.rows import Pair
from tests.node.bank.stand_ins import lines


def read(spec: str) -> Data:
    return read_source(parse(spec))


MULTI = "cases h with\n| inl a => exact Or.inr a\n| inr b => exact Or.inl b"


def dojo(name: str, *tactics: str, statement: str | None = None) -> dict[str, object]:
    before = {"state_before": "case inl\np : Prop\n⊢ p"}
    traced = [{"tactic": each, "annotated_tactic": [each, []], **before} for each in tactics]
    more = {"theorem_statement": statement} if statement else {}
    return {"url": "u", "commit": "c", "file_path": "A.lean", "full_name": name, "traced_tactics": traced, **more}


def traced_theorem(name: str, tactics: list[dict[str, object]], **more: object) -> dict[str, object]:
    told = {"file": "A.lean", "name": name, "kind": "theorem", "statement": f"theorem {name} : p"}
    return told | {"blocks": [{"start": [1, 9], "end": [9, 9], "tactics": tactics}]} | more


def test_theorems_whose_proof_uses_sorry_are_left_out_whole(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text(json.dumps([dojo("a", "simp", "sorry"), dojo("b", MULTI), dojo("empty")]))
    (tmp_path / "val.json").write_text(json.dumps([dojo("v", "rfl", statement="theorem v : p")]))
    (tmp_path / "test.json").write_text(json.dumps([dojo("never", "rfl")]))
    found = read(str(tmp_path))
    assert [(step.theorem, step.tactic) for step in found.steps] == [("A.lean:b", MULTI)]
    assert found.steps[0].state == "p : Prop\n⊢ p"
    assert [(step.tactic, step.statement) for step in found.held_out_steps] == [("rfl", "example : p")]
    assert found.steps_left_out == {SORRY: 2}


def test_a_trace_in_leandojos_form_gives_its_train_split_alone(tmp_path: Path) -> None:
    (tmp_path / "leandojo" / "random").mkdir(parents=True)
    for name, theorem in (("random/train", dojo("a", "simp")), ("theorems", dojo("tested", "rfl"))):
        (tmp_path / "leandojo" / f"{name}.json").write_text(json.dumps([theorem]))
    for folder in (tmp_path, tmp_path / "leandojo"):
        assert [step.theorem for step in read(str(folder)).steps] == ["A.lean:a"]


def test_a_trace_gives_steps_and_proofs_as_written(tmp_path: Path) -> None:
    tactics: list[dict[str, object]] = [
        {"tactic": "constructor", "start": [2, 2], "end": [2, 13]},
        {"tactic": "· exact h.2", "start": [3, 2], "end": [3, 13]},
        {"tactic": "exact h.2", "start": [3, 4], "end": [3, 13]},
    ]
    theorems = [
        traced_theorem("A.good", tactics, context=["namespace A"], statement="theorem good : p"),
        traced_theorem("bad", [], error="it uses `sorry`"),
        traced_theorem("term", tactics, statement="theorem term : p := foo (by"),
        traced_theorem("data", tactics, kind="def"),
    ]
    lines(tmp_path / "theorems.jsonl", theorems)
    step = {"file": "A.lean", "theorem": "A.good", "statement": "theorem good : p", "state": "⊢ p", "tactic": "simp"}
    lines(tmp_path / "steps.jsonl", [{**step, "remaining_steps": 1}])
    found = read(str(tmp_path))
    (proof,) = found.proofs
    assert (proof.theorem.signature, proof.script) == ("theorem good : p", "constructor\n· exact h.2")
    assert proof.theorem.header == "namespace A" and proof.key == found.steps[0].theorem == "A.lean:A.good"
    assert sum(found.proofs_left_out.values()) == 3 and found.proofs_left_out[SORRY] == 1


def test_files_of_lines_say_what_they_are(tmp_path: Path) -> None:
    proofs = [
        {"name": "t", "statement": "theorem t : p := by sorry", "proof": "theorem t : p := by\n  intro h\n  exact h"},
        {"statement": "theorem u : q", "proof": "by sorry"},
        {"statement": "no theorem", "proof": "simp", "weight": 2},
    ]
    found = read(str(lines(tmp_path / "p.jsonl", proofs)))
    assert [(each.theorem.name, each.script) for each in found.proofs] == [("t", "intro h\nexact h")]
    assert sum(found.proofs_left_out.values()) == 2
    step: dict[str, object] = {"theorem": "t", "state": "⊢ p", "tactic": "simp", "remaining_steps": 1, "weight": 0.25}
    assert read(str(lines(tmp_path / "s.jsonl", [step]))).steps[0].weight == 0.25


def test_statements_of_benchmarks_are_never_trained_on(tmp_path: Path) -> None:
    theorem = bank.load_statements("test")[0].theorem
    renamed = Theorem("other", f"  {theorem.binders}", theorem.conclusion)
    proofs = {renamed.signature: "simp", f"theorem {theorem.name} : True": "trivial", "theorem fine : True": "trivial"}
    file = lines(tmp_path / "p.jsonl", [{"statement": each, "proof": proof} for each, proof in proofs.items()])
    found = read_all([str(file)], ("pocket:test",))
    assert [each.theorem.name for each in found.proofs] == ["fine"] and found.proofs_left_out == {BENCHMARK: 2}
    assert len(read_all([str(file)], ()).proofs) == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{}", "not a list of LeanDojo's theorems"),
        ("a.jsonl", '{"state": 1}', "line 1: no transitions"),
        ("a.jsonl", "[1]", "line 1: not a JSON object"),
        ("a.jsonl", "", "is empty"),
        ("a.sqlite", "x" * 5000, "not the database of a run"),
        ("a.txt", "x", "unknown format"),
        ("a.jsonl", '{"state": "⊢ p", "tactic": "sorry", "remaining_steps": 1}', "nothing to train on.*1 of theorems"),
        ("a.jsonl", '{"state": "⊢ p", "tactic": "x", "remaining_steps": 1, "weight": 0}', "`weight` is 0"),
    ],
)
def test_data_that_is_none_is_refused_with_its_place(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read_all([str(tmp_path / name)], ())


def test_pairs_come_back_in_their_order_with_their_weights(tmp_path: Path) -> None:
    pairs = [Pair("theorem t : 1 = 1 := by", "\n  rfl\n```", 0.25), Pair("<hard theorem>", "\ntheorem u : 2 = 2")]
    write_pairs(tmp_path / "p.jsonl", pairs)
    assert read_all([f"pairs:{tmp_path / 'p.jsonl'}"], ()).pairs == pairs


@pytest.mark.parametrize(
    "row",
    ['{"prompt": "a"}', '{"prompt": "a", "completion": ""}', '{"prompt": "a", "completion": "b", "weight": -1}', "{"],
)
def test_a_pair_that_is_none_is_told_with_its_line(tmp_path: Path, row: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(f'{{"prompt": "a", "completion": "b"}}\n\n{row}\n')
    with pytest.raises(InputError, match=r"p\.jsonl:3: .*two texts and a number"):
        read_pairs(file)
    with pytest.raises(InputError, match=r"gone\.jsonl: cannot be read \(No such file"):
        read_pairs(tmp_path / "gone.jsonl")
