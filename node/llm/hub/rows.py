"""The state of one sample while it is drawn: its tokens, and when it ends. Pure, without tensors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from node.llm.hub.texts import Decode, TokenTexts
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
