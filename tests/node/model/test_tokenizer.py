from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from node.model.tokenizer import ROLES, SPECIAL, VALUE, Tokenizer, TokenizerError
from node.training.tokenizer_cli import main
from tests.message_values import CHARACTERS
from tests.node.model.tiny import tiny_tokenizer
from tests.node.training.small import rows, write_jsonl


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.text(CHARACTERS, max_size=80))
def test_any_text_comes_back_exactly(text: str) -> None:
    tokenizer = tiny_tokenizer()
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text and all(len(SPECIAL) <= token < tokenizer.vocab_size for token in ids)


def test_text_that_spells_a_special_token_is_text_also_after_loading(tmp_path: Path) -> None:
    tiny_tokenizer().save(tmp_path / "tokenizer.json")
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    assert min(tokenizer.encode("".join(SPECIAL))) >= len(SPECIAL)


def parts(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.decode([token]) for token in tokenizer.encode(text)]


def test_names_are_put_together_from_parts_numbers_are_digits_and_operators_whole() -> None:
    tokenizer = Tokenizer.train(["rw [Nat.add_comm, Nat.mul_assoc, simp_all]", "cases h₀ with ⟨x, y⟩"] * 20, 600)
    assert parts(tokenizer, "Nat.mul_comm") == ["Nat", ".mul", "_comm"]
    assert parts(tokenizer, "rw [Nat.add_assoc]") == ["rw", " [", "Nat", ".add", "_assoc", "]"]
    assert parts(tokenizer, "cases h₀ with ⟨x") == ["cases", " h₀", " with", " ⟨", "x"]
    tokenizer = Tokenizer.train(["x := 120 <;> y"] * 20, 600)
    assert parts(tokenizer, "x := 1020 <;> y") == ["x", " :=", " 1", "0", "2", "0", " <;>", " y"]


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"model": 3}'])
def test_what_is_no_tokenizer_is_refused(text: str) -> None:
    with pytest.raises(TokenizerError, match="not a tokenizer"):
        Tokenizer.from_json(text)


# --- the command ------------------------------------------------------------------------------------------------------
def test_special_tokens_come_first_and_text_never_has_them() -> None:
    tokenizer = Tokenizer.train(["p q"] * 9, 400, value_bins=64)
    assert tokenizer.specials == len(SPECIAL) + len(ROLES) + 64
    assert (tokenizer.value_bins, tokenizer.has_roles) == (64, True)
    assert tokenizer.value_token(0) == len(SPECIAL) + len(ROLES)
    assert tokenizer.value_token(99) == tokenizer.specials - 1
    again = Tokenizer.from_json(tokenizer.to_json())
    text = VALUE.format(3) + "".join(ROLES)
    assert again.decode(again.encode(text)) == text
    assert min(again.encode(text)) >= tokenizer.specials == again.specials
    assert again.digest == tokenizer.digest != tiny_tokenizer().digest
    assert (tiny_tokenizer().specials, tiny_tokenizer().value_bins) == (len(SPECIAL), 0)


def test_train_eval_and_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, source = tmp_path / "tokenizer.json", f"transitions:{write_jsonl(tmp_path / 't.jsonl', rows(20))}"
    assert main(["train", "--out", str(out), "--vocab-size", "420", "--sources", source]) == 0
    assert main(["eval", str(out), "--sources", source]) == 0
    assert main(["show", str(out), "⊢ p  ∧ 🙂"]) == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("374 tokens", "GPT-2", "␣∧·"))
    assert main(["show", str(tmp_path / "none.json"), "x"]) == 2
    assert main(["translate"]) == 2
