"""`proofmesh tokenizer`, and that every statement and state at hand comes back exactly."""

from pathlib import Path

import pytest

from node.model.tokenizer import ROLES, SPECIAL, VALUE, Tokenizer
from node.training.tokenizer_cli import main
from tests.node.model.tiny import tiny_tokenizer
from tests.node.training.small import rows, write_jsonl


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
    assert "374 tokens" in shown
    assert "GPT-2" in shown
    assert "␣∧·" in shown
    assert main(["show", str(tmp_path / "none.json"), "x"]) == 2
    assert main(["translate"]) == 2
