"""What is trained on to the token: the tokens that the model is asked with, then the answer's, then its end."""

from pathlib import Path
from typing import Any

import pytest

from node.data.errors import InputError
from node.data.rows import Pair, Proof, Step
from node.llm import templates
from node.llm.hub.loading import Loaded, load_shape
from node.llm.hub.reading import Reader
from node.llm.prompts import proof_prompt, tactic_prompt
from node.llm.settings import HubSettings
from node.tuning.base_model import base_of
from node.tuning.examples import Example, proof_example, step_example
from tests.node.tuning.test_examples import SCRIPT, STATE, THEOREM

pytestmark = pytest.mark.compute  # imports transformers

MULTI = "cases n with\n| zero => rfl\n| succ m => simp"


@pytest.fixture(scope="module")
def sft() -> Any:
    """Imported for tests alone: with transformers' Trainer and TRL, which takes seconds."""
    from node.tuning import sft

    return sft


def shape(folder: Path) -> Loaded:
    return load_shape(base_of(str(folder)).address, HubSettings(device="cpu"))


def step(template: str, tactic: str = MULTI) -> Example:
    example = step_example(templates.load(template), Step("t", STATE, tactic))
    assert isinstance(example, Example)
    return example


def test_raw_training_text_is_inference_text_and_the_answer(sft: Any, tiny: Path) -> None:
    loaded, template = shape(tiny), templates.load("bfs-prover-v1")
    row = sft.Encoder("tiny", loaded, template).one(step("bfs-prover-v1"))
    asked = Reader("tiny", loaded, template).ids(tactic_prompt(template, STATE))
    assert row is not None and row.ids[: row.prompt] == asked
    assert loaded.tokenizer.decode(row.ids[row.prompt :]) == f"{MULTI}</s>"
    assert row.labels[: row.prompt] == [sft.IGNORED] * len(asked)
    assert row.labels[row.prompt :] == list(row.ids[row.prompt :])


def test_chat_training_text_is_the_conversation_that_the_model_is_asked_with_and_needs_a_chat_template(
    sft: Any, chat: Path, tiny: Path
) -> None:
    loaded, template = shape(chat), templates.load("goedel-prover-v2")
    example = proof_example(template, Proof(THEOREM, SCRIPT))
    assert isinstance(example, Example)
    row = sft.Encoder("chat", loaded, template).one(example)
    assert row is not None
    prompt = proof_prompt(template, THEOREM)
    assert row.ids[: row.prompt] == Reader("chat", loaded, template).ids(prompt)
    answer = {"role": "assistant", "content": example.completion}
    messages = [*({"role": each.role, "content": each.content} for each in prompt.messages), answer]
    whole = loaded.tokenizer.apply_chat_template(messages, tokenize=False)
    # The line break behind the end is never sampled: the end is the last token.
    assert loaded.tokenizer.decode(row.ids) == whole.rstrip("\n") and row.ids[-1] in loaded.ends
    with pytest.raises(InputError, match="is a conversation, and the tokenizer has no chat template: name a raw"):
        sft.Encoder("tiny", shape(tiny), templates.load("deepseek-prover-v2"))


def test_what_the_model_cannot_read_or_finish_is_left_out_and_counted(sft: Any, tiny: Path) -> None:
    loaded, template = shape(tiny), templates.load("bfs-prover-v1")
    long_answer = step("bfs-prover-v1", "simp [" + ", ".join(["h"] * 300) + "]")
    long_state = step_example(template, Step("t", "x : Nat\n" * 150 + "⊢ True", "simp"))
    assert isinstance(long_state, Example)
    found = sft.Encoder("tiny", loaded, template).encoded([step("bfs-prover-v1", "simp"), long_answer, long_state])
    assert len(found.rows) == 1 and found.left_out == {sft.TOO_LONG: 2}
    assert sft.Encoder("tiny", loaded, template, most=5).one(step("bfs-prover-v1", "simp")) is None


def test_pairs_are_trained_on_to_the_letter_by_raw_templates_alone(sft: Any) -> None:
    pairs = [Pair("theorem t : 1 = 1 := by", "\n  rfl\n```", 0.25), Pair("<hard theorem>", "\ntheorem u : 2 = 2")]
    [first, second] = sft.as_examples(templates.load("stp"), pairs)
    assert (first.prompt.text, first.completion, first.weight) == (pairs[0].prompt, pairs[0].completion, 0.25)
    assert second.weight == 1.0
    with pytest.raises(InputError, match="`kimina-prover` is a conversation"):
        sft.as_examples(templates.load("kimina-prover"), pairs)
