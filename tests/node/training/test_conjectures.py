"""Training on conjectures: rows, documents, sources, and what checkpoints say of it."""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest

from node.bank import bank, statements
from node.data.rows import BadRow, conjecture_of
from node.model.prompt import conjecture_prompt, conjecture_prompt_tokens
from node.model.tokenizer import EOS, Tokenizer
from node.training.documents import Document, Encoder, Room
from node.training.settings import DataSettings
from tests.node.model.tiny import TEXTS
from tests.node.training.conjecturer import CONJECTURES
from tests.node.training.writer import SWAP


@functools.cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS * 20, 400, roles=True)


def documents(row: dict[str, Any], kind: str = "conjectures", length: int = 400, **changes: Any) -> list[Document]:
    settings = DataSettings(**({"held_out": 0} | changes))
    return list(Encoder(tokenizer(), kind, settings, Room(length), 0).documents(row, "train", 0))


def test_the_conjecture_is_predicted_behind_the_prompt_that_the_engine_reads() -> None:
    marks = tokenizer()
    for row in CONJECTURES:
        (document,) = documents(row)
        asked = conjecture_prompt(row["lemma"], row["statement"], row["proof"])
        assert list(document.tokens[: document.prompt]) == conjecture_prompt_tokens(marks, asked, 1000)
        assert document.tokens[-1] == EOS and document.remaining_steps is None
        assert document.weight == row.get("weight", 1.0)
    (first,) = documents(CONJECTURES[0])
    assert marks.decode(first.tokens[first.prompt :]) == "example (v0 v1 v2 : Prop) : v0 ∧ v1 ∧ v2 → v2 ∧ v0"
    (plain,) = documents(CONJECTURES[0], canonical_names=False)
    assert marks.decode(plain.tokens[plain.prompt :]) == "example (p q r : Prop) : p ∧ q ∧ r → r ∧ p"


def test_the_banks_statements_read_the_same_in_training_and_in_generation() -> None:
    marks = tokenizer()
    for theorem in bank.load_statements("train")[::97]:
        row = {**CONJECTURES[0], "statement": theorem.theorem.signature, "conjecture": theorem.theorem.signature}
        (document,) = documents(row, length=4000)
        asked = conjecture_prompt(row["lemma"], theorem.theorem.signature, row["proof"])
        assert list(document.tokens[: document.prompt]) == conjecture_prompt_tokens(marks, asked, 4000)
        again = statements.theorem(theorem.theorem.signature)
        assert again.signature == theorem.theorem.signature


def test_conjectures_are_held_out_with_the_proofs_of_their_seeds() -> None:
    for row in CONJECTURES:
        for held_out in (2, 3, 5, 7):
            settings = DataSettings(held_out=held_out)
            kinds = [
                [len(list(Encoder(tokenizer(), kind, settings, Room(400), 0).documents(row, purpose, 0)))]
                for kind in ("proofs", "conjectures")
                for purpose in ("train", "valid")
            ]
            assert kinds[:2] == kinds[2:] and sorted(kinds[:2]) == [[0], [1]]


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
