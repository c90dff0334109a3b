from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.model.tokenizer import SPECIAL, Tokenizer, TokenizerError
from tests.node.model.tiny import TEXTS, tiny_tokenizer


@pytest.mark.parametrize(
    "text",
    [
        *TEXTS,
        "",
        " ",
        "\n",
        "x\r\n\ty  z \u3000 𝔸 λ₁ ⟨⟩ \x00 e\u0301",
        "<|eos|> <|bos|><|pad|>",
        "h₀ : ∀ n : ℕ, n ≤ 2 ^ n\n  continued\n\n⊢ ¬p → ↑a ≠ b",
        "case succ\nn✝ : Nat\n⊢ n✝ + 1 = 1 + n✝",
    ],
)
def test_text_comes_back_exactly(text: str) -> None:
    tokenizer = tiny_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_any_text_comes_back_exactly(text: str) -> None:
    tokenizer = tiny_tokenizer()
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(len(SPECIAL) <= token < tokenizer.vocab_size for token in ids)


def test_text_that_spells_a_special_token_is_text_also_after_loading(tmp_path: Path) -> None:
    tiny_tokenizer().save(tmp_path / "tokenizer.json")
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    assert min(tokenizer.encode("".join(SPECIAL))) >= len(SPECIAL)


def test_training_is_deterministic_and_survives_json() -> None:
    first, second = Tokenizer.train(TEXTS * 20, 330), Tokenizer.from_json(tiny_tokenizer().to_json())
    assert first.to_json() == second.to_json() == tiny_tokenizer().to_json()


def test_frequent_lemma_names_become_one_token() -> None:
    tokenizer = Tokenizer.train(TEXTS * 20, 500)
    assert len(tokenizer.encode("Nat.add_comm")) == 1
    assert tokenizer.encode("[Nat.add_comm]")[1:2] == tokenizer.encode("Nat.add_comm")


def test_batches_agree_with_single_texts() -> None:
    tokenizer = tiny_tokenizer()
    batch = tokenizer.encode_batch(TEXTS)
    assert batch == [tokenizer.encode(text) for text in TEXTS]
    assert tuple(tokenizer.decode_batch(batch)) == TEXTS


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"model": 3}'])
def test_what_is_no_tokenizer_is_refused(text: str) -> None:
    with pytest.raises(TokenizerError, match="not a tokenizer"):
        Tokenizer.from_json(text)


def test_another_tokenizer_is_refused() -> None:
    import tokenizers

    other = tokenizers.Tokenizer(tokenizers.models.BPE())
    with pytest.raises(TokenizerError, match="begins with"):
        Tokenizer.from_json(other.to_str())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"nowhere\.json"):
        Tokenizer.load(tmp_path / "nowhere.json")
