"""`proofmesh tokenizer`, and that every statement and state at hand comes back exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from node.bank import bank
from node.model.tokenizer import ROLES, SPECIAL, VALUE, Tokenizer
from node.training.tokenizer_cli import main, measure
from tests.node.model.tiny import tiny_tokenizer
from tests.node.training.small import rows, write_jsonl

SHARED = Path(__file__).parents[4] / "shared" / "data"


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


@pytest.mark.slow
def test_every_statement_and_state_of_the_bank_comes_back() -> None:
    texts = [each.theorem.signature for split in bank.SPLITS for each in bank.load_statements(split)]
    texts += [text for each in bank.load_transitions() for text in (each.state, each.tactic)]
    assert len(texts) > 40_000
    assert measure(tiny_tokenizer(), "bank", texts).wrong == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="other people's statements are not beside the checkout")
@pytest.mark.parametrize("name", ["minif2f", "proofnet"])
def test_every_statement_of_other_benchmarks_comes_back(name: str) -> None:
    lines = (SHARED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [value for line in lines for value in json.loads(line).values() if isinstance(value, str)]
    assert len(texts) > 1000
    assert measure(tiny_tokenizer(), name, texts).wrong == []


def test_train_eval_and_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, source = tmp_path / "tokenizer.json", f"transitions:{write_jsonl(tmp_path / 't.jsonl', rows(20))}"
    assert main(["train", "--out", str(out), "--vocab-size", "420", "--sources", source, "text:pocket"]) == 0
    assert main(["eval", str(out), "--sources", "text:pocket"]) == 0
    assert main(["show", str(out), "⊢ p  ∧ 🙂"]) == 0
    shown = capsys.readouterr().out
    assert "420 tokens" in shown
    assert "GPT-2" in shown
    assert "␣p·" in shown
    assert main(["show", str(tmp_path / "none.json"), "x"]) == 2
    assert main(["translate"]) == 2
