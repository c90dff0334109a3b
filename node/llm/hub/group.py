"""Rows and their batches: the state of one sample while it is drawn, groups of rows that are sampled together, beams.

A group holds left-padded tokens and the model's key-value cache. Families that are published with a beam search are
drawn by it, one prompt at a time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, LogitsProcessor, StoppingCriteria
from transformers.cache_utils import DynamicLayer

from node.llm.hub.loading import Loaded
from node.llm.hub.reading import Decode, TokenTexts
from node.llm.sampling import Decoding, Sample, Token


class End(Enum):
    """Why a sample ended."""

    FINISHED = auto()
    """The model produced an end token."""
    STOPPED = auto()
    """A stop text occurred."""
    LENGTH = auto()


@dataclass(eq=False)
class Row:
    """One sample: its inputs, and its tokens so far."""

    prompt: tuple[int, ...]
    decoding: Decoding
    seed: int
    ends: Collection[int]
    """Ids of the end tokens."""
    decode: Decode
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    end: End | None = None
    left: bool = False
    """The caller has stopped waiting for it."""
    error: str = ""
    """Why it could not be drawn."""
    drawn: Sample | None = None
    """The sample, once it has ended and if its caller waits."""
    _pieces: list[str] = field(default_factory=list)
    _text: str = ""
    _texts: TokenTexts | None = None

    @property
    def is_over(self) -> bool:
        return self.end is not None or self.left or bool(self.error)

    @property
    def most_tokens(self) -> int:
        """Maximum tokens of the prompt and the completion together."""
        return len(self.prompt) + self.decoding.max_tokens

    @property
    def still(self) -> int:
        """Remaining tokens up to the limit."""
        return self.decoding.max_tokens - len(self.tokens)

    def take(self, token: int, logprob: float) -> None:
        """Add the next token, unless the row has ended."""
        if self.is_over:
            return
        self.tokens.append(token)
        self.logprobs.append(logprob)
        if token in self.ends:
            self.end = End.FINISHED
        elif self.decoding.stop and self._is_stopped(self._push(token)):
            self.end = End.STOPPED
        elif not self.still:
            self.end = End.LENGTH

    def restart(self) -> None:
        """Forget the drawn tokens. Drawing again with the same seed gives the same ones."""
        self.tokens, self.logprobs, self._pieces = [], [], []
        self.end, self._text, self._texts = None, "", None

    def sample(self) -> Sample:
        """The sample, once the row has ended."""
        finished = self.end is End.FINISHED
        for token in self.tokens[len(self._pieces) : len(self.tokens) - finished]:
            self._push(token)
        if self._texts is not None and self.end is not End.STOPPED:
            remaining_text = self._texts.rest()
            self._pieces[-1] += remaining_text
            self._text += remaining_text
        pieces = [*self._pieces, *([""] if finished else [])]
        text = self._text[: self._stop_at(0)]
        tokens = []
        left = len(text)
        for piece, logprob in zip(pieces, self.logprobs, strict=True):
            tokens.append(Token(piece[:left], logprob))
            left -= len(tokens[-1].text)
        return Sample(text, self.end is End.LENGTH and len(text) == len(self._text), tuple(tokens), len(self.tokens))

    def _push(self, token: int) -> str:
        if self._texts is None:
            self._texts = TokenTexts(self.decode, self.prompt)
        piece = self._texts.push(token)
        self._pieces.append(piece)
        self._text += piece
        return piece

    def _is_stopped(self, piece: str) -> bool:
        longest = max(map(len, self.decoding.stop))
        return self._stop_at(max(0, len(self._text) - len(piece) - longest)) is not None

    def _stop_at(self, begin: int) -> int | None:
        """Position of the first stop text; None if there is none."""
        positions = [at for at in (self._text.find(stop, begin) for stop in self.decoding.stop) if at >= 0]
        return min(positions, default=None)


def all_over(rows: Sequence[Row]) -> bool:
    """Whether all rows have ended."""
    return all(row.is_over for row in rows)


# ----------------------------------------------------------------------------------------------------------------------
# A batch of rows that are sampled together: their left-padded tokens and the model's key-value cache.

# ----------------------------------------------------------------------------------------------------------------------
# Token sampling inside `generate`: a logits processor that samples, and a criterion that ends each row separately.
#
# A row's tokens depend only on its seed and not on the other rows, because each row has a separate random generator.


class Noise:
    """One random generator per row. Its state moves with the row to another batch."""

    def __init__(self, rows: Sequence[Row], device: torch.device) -> None:
        self._drawn = [row.decoding.temperature > 0 for row in rows]
        self._generators = [torch.Generator(device).manual_seed(row.seed) for row in rows]

    def add(self, scores: Tensor) -> None:
        """Add Gumbel noise in place. The largest score is then a sample from the softmax (Gumbel 1954;
        torch.multinomial does the same with exponential noise)."""
        noise = torch.ones_like(scores)
        for drawn, generator, row in zip(self._drawn, self._generators, noise, strict=True):
            if drawn:
                row.exponential_(generator=generator)
        scores.sub_(noise.log_())

    def selected(self, indices: Sequence[int]) -> Noise:
        """The noise of some rows."""
        return self._of([(self._drawn[index], self._generators[index]) for index in indices])

    def joined(self, other: Noise) -> Noise:
        """The noise of the rows of both."""
        pairs = [*zip(self._drawn, self._generators, strict=True), *zip(other._drawn, other._generators, strict=True)]
        return self._of(pairs)

    @staticmethod
    def _of(pairs: Sequence[tuple[bool, torch.Generator]]) -> Noise:
        noise = Noise((), torch.device("cpu"))
        noise._drawn = [drawn for drawn, _ in pairs]
        noise._generators = [generator for _, generator in pairs]
        return noise


class Choosing(LogitsProcessor):
    """Applies temperature, top-p and noise per row, so that the highest score is the sample. `generate` is greedy."""

    def __init__(self, rows: Sequence[Row], noise: Noise, device: torch.device) -> None:
        decodings = [row.decoding for row in rows]
        self._noise = noise
        # Temperature 0 means the likeliest token. Without noise, any temperature gives it, so 1 avoids dividing by 0.
        self._temperature = torch.tensor([each.temperature or 1.0 for each in decodings], device=device)[:, None]
        top_p = [each.top_p if each.temperature else 1.0 for each in decodings]
        self._top_p = torch.tensor(top_p, device=device)[:, None] if min(top_p) < 1 else None
        self._plain = all(each.temperature in (0.0, 1.0) for each in decodings)
        self._sampled = any(each.temperature > 0 for each in decodings)
        self.logprobs = torch.zeros(len(rows), device=device)
        """Log-probabilities of the last tokens under the model itself: at temperature 1, and without top-p."""

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """(rows, vocabulary) to the same with noise."""
        chosen = scores if self._plain else scores / self._temperature
        if self._top_p is not None:
            chosen = within_nucleus(chosen, self._top_p)
        if self._sampled:
            chosen = chosen.clone() if chosen is scores else chosen
            self._noise.add(chosen)
        token = chosen.argmax(-1, keepdim=True)
        self.logprobs = (scores.gather(-1, token) - scores.logsumexp(-1, keepdim=True)).squeeze(-1)
        return chosen


def within_nucleus(scores: Tensor, top_p: Tensor) -> Tensor:
    """Set scores to -inf, except for the likeliest tokens whose total probability reaches `top_p` (rows, 1)
    (Holtzman et al. 2020)."""
    ordered, order = scores.sort(-1, descending=True)
    probabilities = ordered.softmax(-1)
    outside = probabilities.cumsum(-1) - probabilities >= top_p
    return scores.masked_fill(outside.scatter(-1, order, outside), float("-inf"))


class Ending(StoppingCriteria):
    """Passes each row its token, and ends finished rows; ends all rows once `closing` returns True."""

    def __init__(self, rows: Sequence[Row], choosing: Choosing, closing: Callable[[], bool]) -> None:
        self._rows = rows
        self._choosing = choosing
        self._closing = closing

    def __call__(self, input_ids: Tensor, scores: object, **_: object) -> Tensor:
        """(rows, tokens) to (rows,): True for rows that have ended."""
        tokens, logprobs = input_ids[:, -1].tolist(), self._choosing.logprobs.tolist()
        for row, token, logprob in zip(self._rows, tokens, logprobs, strict=True):
            row.take(token, logprob)
        closing = self._closing()
        return torch.tensor([closing or row.is_over for row in self._rows], device=input_ids.device)


# ----------------------------------------------------------------------------------------------------------------------


@dataclass
class Group:
    """A batch of rows. Make it with `begin`."""

    loaded: Loaded
    rows: list[Row]
    ids: Tensor
    """(rows, length): prompts with their completions; for an encoder-decoder model, the decoder's tokens."""
    mask: Tensor
    """(rows, length): 1 where there is no padding; for an encoder-decoder model, the mask of the encoder's tokens."""
    noise: Noise
    cache: Any
    """None: the model has a special kind of cache, so one run draws whole completions."""
    encoded: Any = None
    """The encoder's output for the prompts."""

    @property
    def can_join(self) -> bool:
        """Whether rows can be added to the cache, and padding removed from it."""
        layers = getattr(self.cache, "layers", [])
        plain = all(type(layer) is DynamicLayer and layer.is_initialized for layer in layers)
        return self.encoded is None and bool(layers) and plain

    @property
    def tokens(self) -> int:
        """Maximum tokens that its rows can reach, including padding."""
        return len(self.rows) * (self.mask.shape[1] + max((row.still for row in self.rows), default=0))

    def run(self, steps: int, closing: Callable[[], bool]) -> None:
        """Sample up to `steps` tokens for each row."""
        steps = min(steps, max(row.still for row in self.rows)) if self.cache is not None else self._longest
        choosing = Choosing(self.rows, self.noise, self.ids.device)
        arguments: dict[str, Any] = {"input_ids": self.ids}
        if self.encoded is not None:
            # A copy: `generate` may change it.
            arguments = {"encoder_outputs": type(self.encoded)(self.encoded[0]), "decoder_input_ids": self.ids}
        before = self.ids.shape[1]
        self.ids = self.loaded.model.generate(
            **arguments,
            attention_mask=self.mask,
            **({} if self.cache is None else {"past_key_values": self.cache}),
            max_new_tokens=steps,
            logits_processor=[choosing],
            stopping_criteria=[Ending(self.rows, choosing, closing)],
        )
        if self.encoded is None:
            self.mask = F.pad(self.mask, (0, self.ids.shape[1] - before), value=1)

    @property
    def _longest(self) -> int:
        return max(row.still for row in self.rows)

    def drop_finished(self) -> list[Row]:
        """Remove and return the finished rows, and remove padding that the others do not need."""
        over = [row for row in self.rows if row.is_over]
        if over and not all_over(self.rows):
            self._select([index for index, row in enumerate(self.rows) if not row.is_over])
        elif over:
            self.rows, self.cache = [], None
        return over

    def join(self, other: Group) -> None:
        """Add the rows of another group."""
        length = max(self.ids.shape[1], other.ids.shape[1])
        for group in (self, other):
            group._pad(length - group.ids.shape[1])
        self.rows = [*self.rows, *other.rows]
        self.noise = self.noise.joined(other.noise)
        self.ids = torch.cat([self.ids, other.ids])
        self.mask = torch.cat([self.mask, other.mask])
        for mine, theirs in zip(self.cache.layers, other.cache.layers, strict=True):
            mine.keys = torch.cat([mine.keys, theirs.keys])
            mine.values = torch.cat([mine.values, theirs.values])

    def _select(self, remaining: Sequence[int]) -> None:
        """Keep only the rows with these indices."""
        index = torch.tensor(remaining, device=self.ids.device)
        self.rows = [self.rows[each] for each in remaining]
        self.noise = self.noise.selected(remaining)
        self.ids, self.mask = self.ids[index], self.mask[index]
        if self.encoded is not None:
            self.encoded = type(self.encoded)(self.encoded[0][index])
        if self.cache is not None:
            self.cache.reorder_cache(index)
        if self.can_join:
            self._pad(-int(self.mask.argmax(1).min()))

    def _pad(self, width: int) -> None:
        """Add columns of padding at the left; a negative width removes columns."""
        if width == 0:
            return
        self.ids = F.pad(self.ids, (width, 0), value=self.loaded.pad)
        self.mask = F.pad(self.mask, (width, 0))
        for layer in self.cache.layers:
            layer.keys = F.pad(layer.keys, (0, 0, width, 0))
            layer.values = F.pad(layer.values, (0, 0, width, 0))


def begin(loaded: Loaded, rows: Sequence[Row], *, share: bool) -> Group:
    """Make a group and read its prompts except for their last tokens; with `share`, each distinct prompt once."""
    rows = list(rows)
    prompts = list(dict.fromkeys(row.prompt for row in rows)) if share else [row.prompt for row in rows]
    places = [prompts.index(row.prompt) for row in rows] if share else list(range(len(rows)))
    index: Any = torch.tensor(places, device=loaded.device)
    ids, mask = padded(prompts, loaded.pad, loaded.device)
    noise = Noise(rows, loaded.device)
    if loaded.encodes:
        with torch.no_grad():
            encoded = loaded.model.get_encoder()(input_ids=ids, attention_mask=mask, return_dict=True)
        start = torch.full((len(rows), 1), loaded.start, device=loaded.device)
        caches = (DynamicCache(config=loaded.model.config), DynamicCache(config=loaded.model.config))
        encoded = type(encoded)(encoded[0][index])
        return Group(loaded, rows, start, mask[index], noise, EncoderDecoderCache(*caches), encoded)
    parameters = inspect.signature(loaded.model.forward).parameters
    if "past_key_values" not in parameters or not loaded.model._supports_default_dynamic_cache():
        return Group(loaded, rows, ids[index], mask[index], noise, None)
    cache = DynamicCache(config=loaded.model.config)
    if ids.shape[1] > 1:
        _read(loaded.model, ids[:, :-1], mask[:, :-1], cache)
        if share:
            cache.reorder_cache(index)
    return Group(loaded, rows, ids[index], mask[index], noise, cache)


def _read(model: Any, ids: Tensor, mask: Tensor, cache: DynamicCache) -> None:
    """Run the model on the tokens to fill the cache."""
    parameters = inspect.signature(model.forward).parameters
    arguments: dict[str, Any] = {}
    if "position_ids" in parameters:
        arguments["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    if "logits_to_keep" in parameters:
        arguments["logits_to_keep"] = 1
    with torch.no_grad():
        model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, **arguments)


def padded(prompts: Sequence[Sequence[int]], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Left-padded prompts and their mask (1 where there is no padding), both (prompts, length)."""
    length = max(map(len, prompts))
    ids = torch.tensor([[pad] * (length - len(prompt)) + list(prompt) for prompt in prompts], device=device)
    mask = torch.tensor([[0] * (length - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=device)
    return ids, mask


# ----------------------------------------------------------------------------------------------------------------------
# Beam search with transformers, for families that are published with it.


class Closing(StoppingCriteria):
    """Ends all beams once their caller stops waiting."""

    def __init__(self, closing: Callable[[], bool]) -> None:
        self._closing = closing

    def __call__(self, input_ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        """(beams, tokens) to (beams,)."""
        return torch.full((len(input_ids),), self._closing(), device=input_ids.device)


def search_beams(
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
