"""Which token is chosen: exact samples of a distribution, and nothing outside the nucleus. Tokens as parts of a text:
characters of several tokens, spaces at the beginning, bytes that are no text."""

import random

import pytest
import torch
from tokenizers import Tokenizer, decoders, models
from transformers import ByT5Tokenizer

from node.llm.hub.group import Choosing, Noise, Row, within_nucleus
from node.llm.hub.reading import TokenTexts
from node.llm.sampling import Decoding
from tests.node.llm.hub.tiny import TEXTS, tiny_tokenizer

pytestmark = pytest.mark.compute  # imports transformers

CPU = torch.device("cpu")
LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0])


def row(seed: int, **decoding: float) -> Row:
    return Row((1,), Decoding(**decoding), seed, (), lambda ids: "")  # type: ignore[arg-type]


def frequencies(number: int, **decoding: float) -> torch.Tensor:
    rows = [row(seed, **decoding) for seed in range(number)]
    choosing = Choosing(rows, Noise(rows, CPU), CPU)
    tokens = choosing(torch.zeros(number, 1), LOGITS.repeat(number, 1)).argmax(-1)
    logprobs = LOGITS.log_softmax(-1)[tokens]
    assert choosing.logprobs.tolist() == pytest.approx(logprobs.tolist())
    return tokens.bincount(minlength=4) / number


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_tokens_come_as_often_as_the_softmax_says(temperature: float) -> None:
    found = frequencies(8000, temperature=temperature)
    assert found.tolist() == pytest.approx((LOGITS / temperature).softmax(-1).tolist(), abs=0.02)


def test_the_nucleus_holds_the_likeliest_tokens_alone_and_temperature_0_the_likeliest_beside_rows_that_draw() -> None:
    found = frequencies(4000, top_p=0.7)
    expected = torch.tensor([2.0, 1.0]).softmax(-1)
    assert found.tolist() == pytest.approx([*expected.tolist(), 0.0, 0.0], abs=0.03)
    kept = within_nucleus(LOGITS.repeat(3, 1), torch.tensor([[0.01], [0.9], [1.0]])).isfinite().sum(-1)
    assert kept.tolist() == [1, 3, 4]
    rows = [row(0, temperature=0.0), *(row(seed) for seed in range(1, 50))]
    tokens = Choosing(rows, Noise(rows, CPU), CPU)(torch.zeros(50, 1), LOGITS.repeat(50, 1)).argmax(-1)
    assert tokens[0] == 0 and len(set(tokens.tolist())) > 1


def test_noise_goes_on_where_it_was_when_rows_move() -> None:
    rows = [row(seed) for seed in range(4)]
    still, moved = Noise(rows, CPU), Noise(rows[:3], CPU)
    first, second = torch.zeros(4, 9), torch.zeros(4, 9)
    still.add(first)
    still.add(second)
    begin = torch.zeros(3, 9)
    moved.add(begin)
    later = torch.zeros(2, 9)
    moved.selected([2]).joined(Noise(rows[3:], CPU)).add(later)
    assert torch.equal(begin, first[:3]) and torch.equal(later[0], second[2]) and torch.equal(later[1], first[3])


# --- as text ----------------------------------------------------------------------------------------------------------
def pieces(decode, ids, prompt=()):  # type: ignore[no-untyped-def]
    texts = TokenTexts(decode, prompt)
    found = [texts.push(token) for token in ids]
    return [*found, texts.rest()]


def bpe(ids: list[int]) -> str:
    return str(tiny_tokenizer().backend_tokenizer.decode(ids, skip_special_tokens=True))


@pytest.mark.parametrize("text", TEXTS)
def test_the_pieces_are_the_text(text: str) -> None:
    ids = tiny_tokenizer()(text, add_special_tokens=False)["input_ids"]
    assert "".join(pieces(bpe, ids)) == text


def test_a_character_of_several_tokens_belongs_to_the_last_and_a_space_behind_the_prompt_is_kept() -> None:
    tokenizer = ByT5Tokenizer()
    ids = tokenizer("a∧b", add_special_tokens=False)["input_ids"]
    found = pieces(lambda tokens: tokenizer.decode(tokens, skip_special_tokens=True), ids)
    assert found == ["a", "", "", "∧", "b", ""]
    vocabulary = {"▁intro": 0, "▁h": 1, ":::": 2}
    metaspace = Tokenizer(models.WordLevel(vocabulary, unk_token=":::"))
    metaspace.decoder = decoders.Metaspace()
    assert "".join(pieces(metaspace.decode, [0, 1], [2])) == " intro h"


def test_bytes_that_are_no_text_end() -> None:
    rng = random.Random(3)
    ids = [rng.randrange(4, 260) for _ in range(150)]
    found = pieces(bpe, ids)
    assert max(map(len, found)) < 20 and len("".join(found)) > 50
    # What can be read is the same as in one go.
    assert [each for each in "".join(found) if each.isascii()] == [each for each in bpe(ids) if each.isascii()]
