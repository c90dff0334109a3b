"""Every example of docs/python.md, run in its order with real Lean."""

import re
from pathlib import Path

import pytest

from node.rewards.asking import close

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.mark.usefixtures("lent_lean")
def test_the_examples_of_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    try:
        for number, example in enumerate(examples, 1):
            exec(compile(example, f"python.md, example {number}", "exec"), names)
    finally:
        close()
    said = capsys.readouterr().out
    assert "theorem swap (p q : Prop) : p ∧ q → q ∧ p := by\n" in said
    assert "one proved" in said and "u proved" in said
    assert "1 t accepted () " in said and "2 u rejected ('sorryAx',)" in said
    assert "+  " in said and "sorry" not in Path("Proofs.lean").read_text()
    assert "p : Prop\nh : p\n⊢ p" in said and "corpus.jsonl" in said
    assert "paid: [1.0, 0.0]" in said
    assert "prove: no setting `secnds`; did you mean `seconds`?" in said
