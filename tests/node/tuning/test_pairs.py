"""Texts to train on as they are."""

from pathlib import Path

import pytest

from node.data.errors import InputError
from node.data.reading import read_all, read_pairs, write_pairs
from node.data.rows import Pair
from node.llm.templates import load
from node.tuning.sft import as_examples

pytestmark = pytest.mark.compute  # imports transformers

PAIRS = [Pair("theorem t : 1 = 1 := by", "\n  rfl\n```", 0.25), Pair("<hard theorem>", "\ntheorem u : 2 = 2")]


def test_rows_come_back_in_their_order_with_their_weights(tmp_path: Path) -> None:
    write_pairs(tmp_path / "p.jsonl", PAIRS)
    assert read_all([f"pairs:{tmp_path / 'p.jsonl'}"], ()).pairs == PAIRS


def test_they_are_trained_on_to_the_letter_by_raw_templates_alone() -> None:
    [first, second] = as_examples(load("stp"), PAIRS)
    assert (first.prompt.text, first.completion, first.weight) == (PAIRS[0].prompt, PAIRS[0].completion, 0.25)
    assert second.weight == 1.0
    with pytest.raises(InputError, match="`kimina-prover` is a conversation"):
        as_examples(load("kimina-prover"), PAIRS)


@pytest.mark.parametrize(
    "row",
    [
        '{"prompt": "a"}',
        '{"prompt": "a", "completion": ""}',
        '{"prompt": "a", "completion": "b", "weight": -1}',
        "{",
    ],
)
def test_a_row_that_is_none_is_told_with_its_line(tmp_path: Path, row: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(f'{{"prompt": "a", "completion": "b"}}\n\n{row}\n')
    with pytest.raises(InputError, match=r"p\.jsonl:3: .*two texts and a number"):
        read_pairs(file)
    with pytest.raises(InputError, match=r"gone\.jsonl: cannot be read \(No such file"):
        read_pairs(tmp_path / "gone.jsonl")
