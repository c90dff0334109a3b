"""Training on whole proofs and on conjectures: rows, documents, sources, and what checkpoints say of it."""

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.records.readers import DATABASE
from common.records.rows import Verdict, VerifiedProof
from common.records.store import Store
from node.bank import bank
from node.bank.statements import theorem
from node.data.errors import InputError
from node.data.rows import BadRow, Proof, conjecture_of, proof_of, theorem_of
from node.data.tables import open_source, parse
from node.model import checkpoint
from node.model.checkpoint_folders import NO_PROOFS, NO_ROLES, why_no_proofs
from node.model.prompt import conjecture_prompt, conjecture_prompt_tokens, unnamed
from node.model.tokenizer import BOS, EOS, LEAN, TACTIC
from node.training.documents import Document, Encoder, Room, proof_document
from node.training.loader import collate, pack, readers
from node.training.settings import DataSettings
from node.training.stage import run_stage
from tests.node.learner.builders import FAILED, planned, result, row
from tests.node.model.tiny import role_tokenizer, tiny_model, tiny_tokenizer
from tests.node.training.conjecturer import CONJECTURES
from tests.node.training.small import curve, small, write_jsonl
from tests.node.training.writer import SWAP, write_rows

PROOF = "intro h\nconstructor\n· exact h.2\n· exact h.1"


def test_the_statement_is_given_and_the_whole_proof_is_predicted() -> None:
    marks = role_tokenizer(400)
    document = proof_document(marks, Proof(theorem(SWAP), PROOF), 200)
    assert document is not None and document.remaining_steps is None
    prompt, answer = document.tokens[: document.prompt], document.tokens[document.prompt :]
    assert (prompt[0], prompt[1], prompt[-1], answer[-1]) == (BOS, LEAN, TACTIC, EOS)
    assert marks.decode(prompt) == "example (v0 v1 : Prop) : v0 ∧ v1 → v1 ∧ v0"
    assert marks.decode(answer) == PROOF.replace("h", "v2")
    batch = collate(pack([document], 200), 200)
    assert batch.targets.tolist() == list(answer) and batch.value_at.numel() == 0
    # One that does not fit is left out, and never cut.
    assert proof_document(marks, Proof(theorem(SWAP), PROOF), len(document.tokens)) == document
    assert proof_document(marks, Proof(theorem(SWAP), PROOF), len(document.tokens) - 1) is None


@pytest.mark.parametrize(
    ("given", "statement", "proof"),
    [
        ({"statement": SWAP, "proof": PROOF}, unnamed(SWAP), PROOF),
        (
            {"formal_statement": f"open Nat\n\n{SWAP} := by sorry", "formal_proof": f"{SWAP} := by\n  simp\n  omega"},
            *(unnamed(SWAP), "simp\nomega"),
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
        ({"name": "t", "proof": "rfl"}, "the texts `statement` and `proof`; .*`proofs:FILE` names its statements"),
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
        encoder = Encoder(role_tokenizer(400), kind, DataSettings(held_out=20), Room(4000), 0)
        rows = list(open_source(parse(f"{kind}:bank")).once(300))
        found = {str(each.get("theorem") or each["name"]) for each in rows if list(encoder.documents(each, "valid", 0))}
        held[kind] = found, {str(each.get("theorem") or each["name"]) for each in rows}
    (steps, known), (proofs, proved) = held["transitions"], held["proofs"]
    assert len(proofs) > 7 and proofs & known == steps & proved


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
    assert {name: proof.script for name, proof in found} == dict.fromkeys("tu", "intro h\nexact ⟨h.2, h.1⟩")
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
    assert why_no_proofs(root / "step-000002") == "" and curve(tmp_path, "valid_loss")[2] > 0
    plain = replace(data, sources=data.sources[1:], valid=())
    # It goes on with tactics alone: what was learned is not forgotten by name.
    run_stage("sft", replace(settings, run="on", data=plain, start=str(tmp_path / "runs/run")))
    assert why_no_proofs(tmp_path / "runs/on/checkpoints/step-000002") == ""
    run_stage("sft", replace(settings, steps=3))
    assert why_no_proofs(root / "step-000003") == "", "a run that goes on"
    checkpoint.save(tmp_path / "old", tiny_model(), tiny_tokenizer(), step=1)
    assert why_no_proofs(tmp_path / "old") == NO_ROLES
    marks = role_tokenizer(400)
    checkpoint.save(tmp_path / "plain", tiny_model(vocab_size=marks.vocab_size), marks, step=1)
    assert why_no_proofs(tmp_path / "plain") == NO_PROOFS


def documents(
    row: dict[str, Any], kind: str = "conjectures", length: int = 400, purpose: str = "train", **changes: Any
) -> list[Document]:
    settings = DataSettings(**({"held_out": 0} | changes))
    return list(Encoder(role_tokenizer(400), kind, settings, Room(length), 0).documents(row, purpose, 0))


def test_the_conjecture_is_predicted_behind_the_prompt_that_the_engine_reads() -> None:
    marks = role_tokenizer(400)
    for given in CONJECTURES:
        (document,) = documents(given)
        asked = conjecture_prompt(given["lemma"], given["statement"], given["proof"])
        assert list(document.tokens[: document.prompt]) == conjecture_prompt_tokens(marks, asked, 1000)
        assert document.tokens[-1] == EOS and document.remaining_steps is None
        assert document.weight == given.get("weight", 1.0)
    (first,) = documents(CONJECTURES[0])
    assert marks.decode(first.tokens[first.prompt :]) == "example (v0 v1 v2 : Prop) : v0 ∧ v1 ∧ v2 → v2 ∧ v0"
    for each in bank.load_statements("train")[::97]:
        signature = each.theorem.signature
        given = {**CONJECTURES[0], "statement": signature, "conjecture": signature}
        (document,) = documents(given, length=4000)
        asked = conjecture_prompt(given["lemma"], signature, given["proof"])
        assert list(document.tokens[: document.prompt]) == conjecture_prompt_tokens(marks, asked, 4000)
        assert theorem(signature).signature == signature


def test_conjectures_are_held_out_with_the_proofs_of_their_seeds() -> None:
    for given, held_out in itertools.product(CONJECTURES, (2, 3, 5, 7)):
        counts = [
            len(documents(given, kind, purpose=purpose, held_out=held_out))
            for kind in ("proofs", "conjectures")
            for purpose in ("train", "valid")
        ]
        assert counts[:2] == counts[2:] and sorted(counts[:2]) == [0, 1]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lemma": None}, r"no text in `lemma` of the row that has .*the empty lemma is `theorem true : True`"),
        ({"conjecture": "", "proof": 3}, r"no text in `proof`, `conjecture` of the row .*'theorem swap"),
        ({"conjecture": "p ∧ q"}, r"`conjecture` is none: no theorem in it: .*; it is 'p ∧ q'"),
        ({"statement": "def f := 1"}, "`statement` is none: it defines data"),
        ({"proof": f"{SWAP} :="}, "`proof` is none: nothing stands behind the statement"),
        ({"weight": 0}, r"`weight` is 0 in the row of 'theorem swap .*make it a finite number above 0"),
        ({"weight": math.nan}, "`weight` is nan"),
        ({"weight": True}, "`weight` is True"),
    ],
)
def test_rows_that_are_no_conjectures_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRow, match=says):
        conjecture_of({**CONJECTURES[0], **changes})
