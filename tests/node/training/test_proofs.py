"""Training on whole proofs: rows, documents, sources, and what checkpoints say of it."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.records.readers import DATABASE
from common.records.rows import Verdict, VerifiedProof
from common.records.store import Store
from node.bank.statements import theorem
from node.data.errors import InputError
from node.data.rows import BadRow, Proof, proof_of, theorem_of
from node.data.tables import open_source, parse
from node.model import checkpoint
from node.model.checkpoint_folders import NO_PROOFS, NO_ROLES, why_no_proofs
from node.model.prompt import unnamed
from node.model.tokenizer import BOS, EOS, LEAN, TACTIC, Tokenizer
from node.training.documents import Encoder, Room, proof_document
from node.training.loader import collate, pack, readers
from node.training.settings import DataSettings
from node.training.stage import run_stage
from tests.node.learner.builders import FAILED, planned, result, row
from tests.node.model.tiny import TEXTS, tiny_model, tiny_tokenizer
from tests.node.training.small import curve, small, write_jsonl
from tests.node.training.writer import SWAP, write_rows

PROOF = "intro h\nconstructor\n· exact h.2\n· exact h.1"


@functools.cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS * 20, 400, roles=True)


def test_the_statement_is_given_and_the_proof_is_predicted() -> None:
    marks = tokenizer()
    document = proof_document(marks, Proof(theorem(SWAP), PROOF), 200)
    assert document is not None and document.remaining_steps is None
    prompt, answer = document.tokens[: document.prompt], document.tokens[document.prompt :]
    assert (prompt[0], prompt[1], prompt[-1], answer[-1]) == (BOS, LEAN, TACTIC, EOS)
    assert marks.decode(prompt) == "example (v0 v1 : Prop) : v0 ∧ v1 → v1 ∧ v0"
    assert marks.decode(answer) == PROOF.replace("h", "v2")
    batch = collate(pack([document], 200), 200)
    assert batch.targets.tolist() == list(answer) and batch.value_at.numel() == 0
    plain = proof_document(marks, Proof(theorem(SWAP), PROOF), 200, canonical=False)
    assert plain is not None and marks.decode(plain.tokens[plain.prompt :]) == PROOF


def test_a_proof_that_does_not_fit_is_left_out_and_never_cut() -> None:
    marks = tokenizer()
    proof = Proof(theorem(SWAP), PROOF)
    whole = proof_document(marks, proof, 200)
    assert whole is not None
    assert proof_document(marks, proof, len(whole.tokens)) == whole
    assert proof_document(marks, proof, len(whole.tokens) - 1) is None


@pytest.mark.parametrize(
    ("given", "statement", "proof"),
    [
        ({"statement": SWAP, "proof": PROOF}, unnamed(SWAP), PROOF),
        (
            {
                "formal_statement": f"import Mathlib\nopen Nat\n\n{SWAP} := by sorry",
                "formal_proof": f"{SWAP} := by\n  simp\n  omega",
            },
            unnamed(SWAP),
            "simp\nomega",
        ),
        ({"statement": "lemma x : 1 = 1 := by", "proof": "by rfl"}, "example : 1 = 1", "rfl"),
    ],
)
def test_rows_of_datasets_are_read(given: dict[str, str], statement: str, proof: str) -> None:
    found = proof_of(given)
    assert found is not None and (found.statement, found.script, found.weight) == (statement, proof, 1.0)
    assert theorem_of(given, found) == statement and theorem_of({**given, "name": "t"}, found) == "t"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"name": "t", "proof": "rfl"},
            "expected the texts `statement` and `proof`; .*`proofs:FILE` names its statements",
        ),
        ({"text": "t"}, "expected the texts `statement` and `proof`; the row has `text`$"),
        ({"statement": 1, "proof": "rfl"}, "the row has `statement`, `proof`"),
        ({"statement": "def f := 1", "proof": "rfl"}, "`statement` is none: it defines data"),
        ({"statement": SWAP, "proof": f"{SWAP} :="}, "`proof` is none: nothing stands behind the statement"),
    ],
)
def test_rows_without_whole_proofs_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRow, match=says):
        proof_of(given)


@pytest.mark.compute
def test_the_banks_proofs_are_held_out_with_the_transitions_of_the_same_theorems() -> None:
    held = {}
    for kind in ("transitions", "proofs"):
        encoder = Encoder(tokenizer(), kind, DataSettings(held_out=20), Room(4000), 0)
        rows = list(open_source(parse(f"{kind}:bank")).once(600))
        found = {str(each.get("theorem") or each["name"]) for each in rows if list(encoder.documents(each, "valid", 0))}
        held[kind] = found, {str(each.get("theorem") or each["name"]) for each in rows}
    (steps, known), (proofs, proved) = held["transitions"], held["proofs"]
    assert len(proofs) > 15 and proofs & known == steps & proved


def test_proofs_of_a_run_are_those_of_its_training(tmp_path: Path) -> None:
    store = Store(tmp_path / DATABASE)
    store.add_theorems([row("t"), row("u")])
    proved = Verdict(FAILED.outcome.PROVED, proof=VerifiedProof("  intro h\n  exact ⟨h.2, h.1⟩", (), (), "4.35"))
    plans = [planned(1, "t"), planned(2, "u", "eval"), planned(3, "u", "disprove")]
    store.dispatch(plans, 1.0)
    for plan in plans:
        store.record(result(plan.attempt), proved, now=10.0)
    store.close()
    rows = list(open_source(parse(f"proofs:{tmp_path}")).once(10))
    found = [(theorem_of(each, proof), proof) for each in rows if (proof := proof_of(each))]
    assert [(name, proof.script) for name, proof in found] == [
        ("t", "intro h\nexact ⟨h.2, h.1⟩"),
        ("u", "intro h\nexact ⟨h.2, h.1⟩"),
    ]
    assert found[1][1].statement.startswith("example : ¬ (")


def test_proofs_of_an_evaluation_are_read_with_their_statements(tmp_path: Path) -> None:
    theorem = {"name": "t", "binders": "(p : Prop)", "conclusion": "p → p"}
    write_jsonl(tmp_path / "statements.jsonl", [{"name": "a", "theorem": theorem, "family": "", "level": 1}])
    attempts = [{"name": "a", "number": 0, "standing": "solved", "script": "  exact id"}, {"name": "a", "number": 1}]
    write_jsonl(tmp_path / "attempts.jsonl", attempts)
    [found] = open_source(parse(f"proofs:{tmp_path}")).once(10)
    proof = proof_of(found)
    assert proof is not None and theorem_of(found, proof) == "a"
    assert (proof.statement, proof.script) == ("example (p : Prop) : p → p", "exact id")
    (tmp_path / "attempts.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="not a whole evaluation"):
        open_source(parse(f"proofs:{tmp_path}"))
    (tmp_path / "attempts.jsonl").unlink()
    with pytest.raises(InputError, match=r"neither proofs.sqlite of a run nor attempts.jsonl of an evaluation"):
        open_source(parse(f"proofs:{tmp_path}"))


def test_a_tokenizer_without_marks_of_roles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this tokenizer has no marks of roles"):
        readers(DataSettings(sources=write_rows(tmp_path)), tiny_tokenizer(), Room(96), 0)


@pytest.mark.compute
def test_checkpoints_say_whether_they_were_trained_on_proofs(tmp_path: Path) -> None:
    data = DataSettings(sources=write_rows(tmp_path), held_out=0, valid=(write_rows(tmp_path)[0],))
    settings = small(tmp_path, data=data, steps=2, bf16="off")
    run_stage("sft", settings)
    root = tmp_path / "runs/run/checkpoints"
    assert why_no_proofs(root / "step-000002") == ""
    assert curve(tmp_path, "valid_loss")[2] > 0
    plain = replace(data, sources=data.sources[1:], valid=())
    # It goes on with tactics alone: what was learned is not forgotten by name.
    run_stage("sft", replace(settings, run="on", data=plain, start=str(tmp_path / "runs/run")))
    assert why_no_proofs(tmp_path / "runs/on/checkpoints/step-000002") == ""
    run_stage("sft", replace(settings, steps=3))
    assert why_no_proofs(root / "step-000003") == "", "a run that goes on"
    checkpoint.save(tmp_path / "old", tiny_model(), tiny_tokenizer(), step=1)
    assert why_no_proofs(tmp_path / "old") == NO_ROLES
    checkpoint.save(tmp_path / "plain", tiny_model(vocab_size=tokenizer().vocab_size), tokenizer(), step=1)
    assert why_no_proofs(tmp_path / "plain") == NO_PROOFS
