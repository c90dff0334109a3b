"""Beam search with transformers, for families that are published with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import StoppingCriteria

from node.llm.hub.group import padded
from node.llm.hub.loading import Loaded
from node.llm.hub.texts import Decode
from node.llm.sampling import Decoding, Sample, Token


class Closing(StoppingCriteria):
    """Ends all beams once their caller stops waiting."""

    def __init__(self, closing: Callable[[], bool]) -> None:
        self._closing = closing

    def __call__(self, input_ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        """(beams, tokens) to (beams,)."""
        return torch.full((len(input_ids),), self._closing(), device=input_ids.device)


def search(
    loaded: Loaded,
    prompt: Sequence[int],
    count: int,
    width: int,
    decoding: Decoding,
    decode: Decode,
    closing: Callable[[], bool],
) -> tuple[Sample, ...]:
    """The `count` likeliest completions of a beam search of this width, the likeliest first. With length penalty 0 the
    scores are sums of log-probabilities. Log-probabilities of single tokens are not available."""
    ids, mask = padded([prompt], loaded.pad, loaded.device)
    result: Any = loaded.model.generate(
        input_ids=ids,
        attention_mask=mask,
        max_new_tokens=decoding.max_tokens,
        num_beams=max(width, 2),
        num_return_sequences=min(count, width),
        length_penalty=0.0,
        early_stopping=False,
        eos_token_id=sorted(loaded.ends) or None,
        return_dict_in_generate=True,
        output_scores=True,
        stopping_criteria=[Closing(closing)],
    )
    begin = 1 if loaded.encodes else ids.shape[1]
    answers = result.sequences[:, begin:].tolist()
    return tuple(
        _sample(loaded, tokens, score, decoding, decode)
        for tokens, score in zip(answers, result.sequences_scores.tolist(), strict=True)
    )


def _sample(loaded: Loaded, tokens: list[int], score: float, decoding: Decoding, decode: Decode) -> Sample:
    end = next((at for at, token in enumerate(tokens) if token in loaded.ends), None)
    text = decode(tokens[:end])
    stopped = [at for at in (text.find(stop) for stop in decoding.stop) if at >= 0]
    if stopped:
        text = text[: min(stopped)]
    count = len(tokens) if end is None else end + 1
    return Sample(text, end is None and not stopped, (Token(text, score),), count)
