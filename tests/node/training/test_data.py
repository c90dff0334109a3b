"""Rows, sources, packing and the loader."""

import gzip
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st

from common.protocol.attempts import Transition
from node.data.errors import InputError
from node.data.rows import steps_of
from node.data.tables import open_source, parse
from node.model.names import canonical
from node.model.tokenizer import BOS, EOS, LEAN, STATE, TACTIC, Tokenizer
from node.training.documents import Encoder, Room, shuffled, transition_document
from node.training.loader import Loader, collate, first_fit_decreasing, held_out, pack, readers
from node.training.settings import DataSettings
from tests.node.model.tiny import tiny_model, tiny_tokenizer
from tests.node.training.small import rows, write_jsonl


def node(name: str, goals: dict[str, str], tactic: str, depth: int, **edge: Any) -> dict[str, Any]:
    """A node of LeanTree: `goals` are types with their hypotheses, as `name: type := value` in lines."""
    shown = []
    for goal, hypotheses in goals.items():
        found = [re.fullmatch(r"(.*?): (.*?)(?: := (.*))?", line) for line in hypotheses.splitlines()]
        fields = [dict(zip(("user_name", "type", "value"), each.groups(), strict=True)) for each in found if each]
        shown.append({"type": goal, "hypotheses": fields, "tag": "mp"})
    told = {"tactic_string": tactic, "span": None, **edge}
    return {"id": name, "state": {"goals": shown}, "tactic": told, "proof_depth": depth}


LEANTREE_NODES = [
    node("a", {"q ∧ p": "p: Prop\nx: Nat := 1"}, "constructor", 2, children=["b"]),
    node("b", {"q": ""}, "sorry", 1),
]

LEANTREE = {
    "path": "Mathlib/A.lean",
    "theorems": [
        {"error": "no proof"},
        {"by_blocks": [{"tree": {"error": "lost"}}, {"tree": {"root_id": "a", "nodes": LEANTREE_NODES}}]},
    ],
}

TRACE = {
    "path": "A.lean",
    "theorems": [
        {"name": "t", "error": "uses sorry", "blocks": [{"steps": [{"state": "⊢ p", "tactic": "x"}]}]},
        {"name": "u", "blocks": [{"steps": [{"state": "⊢ q", "tactic": "rfl", "remaining_steps": 4}]}, {"problem": 1}]},
    ],
}


def data(*sources: str, **changes: Any) -> DataSettings:
    return DataSettings(sources=sources, held_out=0, window=4, **changes)


def loader(config: DataSettings, length: int = 96, rank: int = 0, ranks: int = 1, seed: int = 0) -> Loader:
    opened = readers(config, tiny_tokenizer(), Room(length), seed, rank=rank, ranks=ranks)
    return Loader(opened, length, config.window, seed)


# --- formats --------------------------------------------------------------------------------------------------------
def test_transitions_come_in_the_formats_of_the_bank_of_traces_and_of_leantree_with_what_each_tactic_left() -> None:
    (found,) = steps_of(rows(1)[0])
    assert found.transition == Transition("p u : Prop\nh0 : p ∧ u\n⊢ u ∧ p ∨ 0 = 0", "constructor", 1)
    (found,) = steps_of(TRACE)
    assert (found.theorem, found.transition) == ("A.lean:u", Transition("⊢ q", "rfl", 4))
    (found,) = steps_of(LEANTREE)
    assert found.transition == Transition("p : Prop\nx : Nat := 1\n⊢ q ∧ p", "constructor", 2)
    nodes = [
        node("a", {"∃ x, x = p": "p: Prop\nq: Prop"}, "constructor", 2, parent="a", children=["b"]),
        node("b", dict.fromkeys(["?w✝ = p", "?w✝"], "p: Prop\nq: Prop"), "rfl", 1, parent="b", children=[]),
        {"id": "c", "state": {"goals": []}},
    ]
    found = [*steps_of({"theorems": [{"by_blocks": [{"tree": {"nodes": nodes, "root_id": "a"}}]}]})]
    assert [step.transition for step in found] == [
        Transition("p q : Prop\n⊢ ∃ x, x = p", "constructor", 2),
        Transition("p q : Prop\n⊢ ?m.1 = p\n\np q : Prop\n⊢ ?m.1", "rfl", 1),
    ]


@pytest.mark.compute
def test_local_files_of_every_kind_are_read(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    plain = rows(6)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(plain), tmp_path / "a.parquet")
    write_jsonl(tmp_path / "a.jsonl", [*plain, LEANTREE])
    with gzip.open(tmp_path / "b.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in plain)
    (tmp_path / "a.lean").write_text("theorem a : True :=\n  trivial\n\n-- \u2028 end", encoding="utf-8")
    cache, files = str(tmp_path / "cache"), {"transitions": ("a.parquet", "a.jsonl", "b.jsonl.gz"), "lean": ("*.lean",)}
    for streaming in (False, True):
        found = {
            name: list(open_source(parse(f"{kind}:{tmp_path / name}"), streaming=streaming, cache=cache).once(100))
            for kind, names in files.items()
            for name in names
        }
        assert found["a.parquet"] == found["b.jsonl.gz"] == plain and found["a.jsonl"] == [*plain, LEANTREE]
        assert found["*.lean"] == [{"text": "theorem a : True :=\n  trivial\n\n-- \u2028 end"}]


# --- documents ------------------------------------------------------------------------------------------------------
def test_a_state_too_long_loses_hypotheses_from_its_start_and_never_its_goal() -> None:
    tokenizer = tiny_tokenizer()
    state = "".join(f"h{number} : p ∧ q\n" for number in range(20)) + "⊢ q ∧ p"
    row = {"state": state, "tactic": "exact ⟨h19.2, h19.1⟩", "remaining_steps": 1}
    (document,) = Encoder(tokenizer, "transitions", data(), Room(60), 0).documents(row, "train", 0)
    assert len(document.tokens) <= 60
    text = tokenizer.decode(document.tokens[: document.prompt])
    assert text.endswith("v19 : p ∧ q\n⊢ q ∧ p") and "v0 :" not in text
    assert (document.tokens[document.prompt - 1], document.tokens[-1]) == (TACTIC, EOS)


def test_texts_are_cut_and_transitions_as_text_carry_their_value() -> None:
    tokenizer = Tokenizer.train(["p q : Prop"] * 9, 400, roles=True, value_bins=8)
    pieces = list(Encoder(tokenizer, "lean", data(), Room(16), 0).documents({"text": "p q : Prop\n" * 9}, "train", 0))
    assert all(piece.tokens[:2] == (BOS, LEAN) and len(piece.tokens) <= 16 for piece in pieces)
    assert "".join(tokenizer.decode(piece.tokens) for piece in pieces) == "p q : Prop\n" * 9
    assert abs(sum(piece.characters for piece in pieces) - 99) <= len(pieces)
    settings = replace(data(), transitions_as_text=True)
    (document,) = Encoder(tokenizer, "transitions", settings, Room(64), 0).documents(rows(3)[2], "train", 0)
    assert document.tokens[:2] == (BOS, STATE) and document.tokens[-1] == tokenizer.value_token(3)
    assert (document.prompt, document.remaining_steps) == (1, None)


# --- augmentation ---------------------------------------------------------------------------------------------------
STATE_TEXT = "n m : Nat\np : Prop\nh : n = m\nhp : p\nh₂ : m = n →\n  p\n⊢ n + m = m + n\n\ncase b\nx : Nat\n⊢ x = x"


def test_shuffled_hypotheses_are_the_same_ones_after_what_they_mention() -> None:
    before = Transition(STATE_TEXT, "rw [h]", 2)
    orders = {shuffled(before, random.Random(seed)).state for seed in range(30)}
    assert len(orders) > 5
    for state in orders:
        first, second = state.split("\n\n")
        assert second == STATE_TEXT.split("\n\n")[1] and sorted(first) == sorted(STATE_TEXT.split("\n\n")[0])
        place = {name: first.index(f"{name} :") for name in ("n m", "p", "h", "h₂")}
        assert place["n m"] < place["h"] and place["n m"] < place["h₂"] and place["p"] < place["h₂"]
        assert first.endswith("⊢ n + m = m + n")


# --- packing --------------------------------------------------------------------------------------------------------
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 50), max_size=80))
def test_first_fit_decreasing_agrees_with_its_definition(lengths: list[int]) -> None:
    bins: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        for each in bins:
            if sum(lengths[other] for other in each) + lengths[index] <= 50:
                each.append(index)
                break
        else:
            bins.append([index])
    assert first_fit_decreasing(lengths, 50) == bins


def test_documents_of_one_row_do_not_see_each_other() -> None:
    encoder = Encoder(tiny_tokenizer(), "transitions", data(), Room(96), 0)
    documents = [each for row in rows(4) for each in encoder.documents(row, "all", 0)]
    together = collate([tuple(documents)], sum(len(each.tokens) for each in documents) + 3)
    model = tiny_model(context=256, window=9)
    with torch.inference_mode():
        packed = model(together.tokens, together.policy_at, together.value_at, documents=together.documents)
        alone = []
        for document in documents:
            batch = collate([(document,)], len(document.tokens))
            assert batch.documents is None
            alone.append(model(batch.tokens, batch.policy_at, batch.value_at))
    for part in (0, 1):
        assert torch.allclose(packed[part], torch.cat([each[part] for each in alone]), atol=1e-4)
    assert together.used == together.tokens.numel() - 3
    assert together.owner.tolist() == sorted(together.owner.tolist())


# --- the loader -----------------------------------------------------------------------------------------------------
@pytest.mark.compute
@pytest.mark.parametrize("streaming", [False, True])
def test_the_loader_goes_on_at_the_exact_sample(tmp_path: Path, streaming: bool) -> None:
    file = write_jsonl(tmp_path / "t.jsonl", rows(50))
    options = {"streaming": streaming, "cache": str(tmp_path / "cache"), "shuffle_hypotheses": True}
    config = data(f"transitions:{file}", "text:bank*0.5", **options)
    whole = loader(config).rows(23)
    for cut in (3, 11):
        first, second = loader(config), loader(config)
        before = first.rows(cut)
        second.restore(json.loads(json.dumps(first.state())))
        assert before + second.rows(23 - cut) == whole


def test_ranks_share_the_data_and_a_seed_fixes_the_order() -> None:
    config = data("transitions:bank")
    one, two = (loader(config, rank=rank, ranks=2) for rank in range(2))
    first, second = one.rows(8), two.rows(8)
    seen = [{document.tokens for row in part for document in row} for part in (first, second)]
    assert len(seen[0] & seen[1]) < 0.1 * len(seen[0]) and loader(config, rank=1, ranks=2).rows(8) == second
    assert loader(config, rank=1, ranks=2, seed=1).rows(8) != second


def test_held_out_theorems_are_never_trained_on(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "t.jsonl", rows(60))
    config = replace(data(f"transitions:{file}", cache=str(tmp_path / "cache")), held_out=3, valid_tokens=10_000)
    kept = {document.tokens for document in held_out(config, tiny_tokenizer(), Room(96), 0)[0]}
    trained = {document.tokens for row in loader(config).rows(40) for document in row}
    assert len(kept) + len(trained) == 60 and not kept & trained


def test_data_that_is_all_held_out_is_an_error_and_not_an_endless_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.training.loader.BARREN", 20)
    file = write_jsonl(tmp_path / "t.jsonl", [{"text": " "}] * 5)
    with pytest.raises(InputError, match="no documents to train on"):
        loader(data(f"text:{file}", cache=str(tmp_path / "cache"))).rows(1)


TRANSITIONS = [
    Transition("\n".join([*(f"h{index} : p" for index in range(size)), "⊢ q"]), "exact " + "h" * (size % 5 + 1), size)
    for size in range(1, 40)
]


def test_predicted_positions_are_the_tactic_and_its_end() -> None:
    tokenizer = tiny_tokenizer()
    documents = [each for row in TRANSITIONS if (each := transition_document(tokenizer, row, Room(200)))]
    batch = collate(pack(documents, 256), 256)
    flat = batch.tokens.flatten()
    assert torch.equal(flat[batch.policy_at + 1], batch.targets)
    assert torch.equal(flat[batch.value_at], torch.full_like(batch.value_at, TACTIC))
    predicted = {
        (tokenizer.decode(batch.targets[batch.owner == number].tolist()), float(batch.remaining_steps[number]))
        for number in range(batch.count)
    }
    assert predicted == {(canonical(each)[1], float(each.remaining_steps)) for each in TRANSITIONS}
    assert all(int(batch.targets[batch.owner == number][-1]) == EOS for number in range(batch.count))


def test_no_document_is_cut_without_its_end_token() -> None:
    """Tactics of 1 to 60 tokens and states of any length: whole with the end, or left out and counted."""
    tokenizer = tiny_tokenizer()
    rows = [{"state": "h : p\n" * (n % 7) + "⊢ q", "tactic": "]" * n, "remaining_steps": 1} for n in range(1, 60)]
    for options in ({}, {"transitions_as_text": True}):
        encoder = Encoder(tokenizer, "transitions", DataSettings(held_out=0, **options), Room(80, 30), 0)
        documents = [each for row in rows for each in encoder.documents(row, "all", 0)]
        tactics = [each.tokens[each.tokens.index(TACTIC) + 1 :] for each in documents]
        assert [tokens.index(EOS) for tokens in tactics] == list(range(1, 30))
        assert max(len(each.tokens) for each in documents) <= 80
        assert (encoder.made, encoder.left_out) == (29, 30)
    # The state keeps half of a short row, whatever the network's limit.
    assert transition_document(tokenizer, Transition("h : p\n⊢ q", "]" * 20, 3), Room(40)) is None
    document = transition_document(tokenizer, Transition("h : p\n" * 30 + "⊢ q", "]" * 19, 3), Room(40))
    assert document is not None and len(document.tokens) == 40 and document.predicted == 20
    assert "⊢ q" in tokenizer.decode(document.tokens[: document.prompt])
