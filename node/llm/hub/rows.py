"""One sample while it is drawn: its tokens, and when it ends. Pure: knows no tensor."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from node.llm.hub.texts import Decode, TokenTexts
from node.llm.sampling import Decoding, Sample, Token


class End(Enum):
    """Why a sample is over."""

    FINISHED = auto()
    """The model ended it."""
    STOPPED = auto()
    """A stop text."""
    LENGTH = auto()


@dataclass(eq=False)
class Row:
    """One sample: what decides it, and its tokens so far."""

    prompt: tuple[int, ...]
    decoding: Decoding
    seed: int
    ends: Collection[int]
    """Tokens that end it."""
    decode: Decode
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    end: End | None = None
    left: bool = False
    """Nobody waits for it any more."""
    error: str = ""
    """Why it could not be drawn."""
    drawn: Sample | None = None
    """Once it is over, and not left."""
    _pieces: list[str] = field(default_factory=list)
    _text: str = ""
    _texts: TokenTexts | None = None

    @property
    def is_over(self) -> bool:
        return self.end is not None or self.left or bool(self.error)

    @property
    def most_tokens(self) -> int:
        """Of its prompt and its answer."""
        return len(self.prompt) + self.decoding.max_tokens

    @property
    def still(self) -> int:
        """Tokens that it may still get."""
        return self.decoding.max_tokens - len(self.tokens)

    def take(self, token: int, logprob: float) -> None:
        """The next token, unless it is over."""
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
        """Forget what was drawn: drawn again, it is the same."""
        self.tokens, self.logprobs, self._pieces = [], [], []
        self.end, self._text, self._texts = None, "", None

    def sample(self) -> Sample:
        """What was drawn, once it is over."""
        finished = self.end is End.FINISHED
        for token in self.tokens[len(self._pieces) : len(self.tokens) - finished]:
            self._push(token)
        if self._texts is not None and self.end is not End.STOPPED:
            rest = self._texts.rest()
            self._pieces[-1] += rest
            self._text += rest
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
        """Where the first stop text is; None: there is none."""
        found = [at for at in (self._text.find(stop, begin) for stop in self.decoding.stop) if at >= 0]
        return min(found, default=None)


def all_over(rows: Sequence[Row]) -> bool:
    """Whether nothing is left to draw."""
    return all(row.is_over for row in rows)
