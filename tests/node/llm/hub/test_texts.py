"""Tokens as parts of a text: characters of several tokens, spaces at the beginning, bytes that are no text."""

import random

import pytest
from tokenizers import Tokenizer, decoders, models
from transformers import ByT5Tokenizer

from node.llm.hub.reading import TokenTexts
from tests.node.llm.hub.tiny import TEXTS, tiny_tokenizer

pytestmark = pytest.mark.compute  # imports transformers


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


def test_a_character_of_several_tokens_belongs_to_the_last() -> None:
    tokenizer = ByT5Tokenizer()
    ids = tokenizer("a∧b", add_special_tokens=False)["input_ids"]
    found = pieces(lambda tokens: tokenizer.decode(tokens, skip_special_tokens=True), ids)
    assert found == ["a", "", "", "∧", "b", ""]


def test_a_space_behind_the_prompt_is_kept() -> None:
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
