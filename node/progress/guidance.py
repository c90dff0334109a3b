"""How a search uses a progress model: the settings, and the model that answers in batches, in a separate thread, with a
cache. Settings import it, so it imports what reads models when a model is named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from common.limits import Ratio, Share
from node.data.errors import InputError
from node.llm.address import BadModel, HubAddress

if TYPE_CHECKING:
    from node.progress.model import ProgressModel


class ProgressError(ValueError):
    """A progress model is missing, or cannot be used. The text says which one, and why."""


Use = Literal["value", "rank", "both"]


@dataclass(frozen=True)
class Guidance:
    """How a search uses the progress model."""

    use: Use = "value"
    """`value`: the predicted steps of a state are its value; `rank`: those after a tactic change its prior; `both`."""

    share: Share = 1.0
    """Weight of the predicted value; the policy's value has the remaining weight. 1: only the predicted value."""

    exponent: Ratio = 1.0
    """β: the prior of a tactic is multiplied by exp(-β · steps after it)."""

    @property
    def words(self) -> str:
        """The settings in words, for results."""
        parts = []
        if self.use in ("value", "both"):
            parts.append("value" if self.share == 1 else f"value*{self.share:g}")
        if self.use in ("rank", "both"):
            parts.append("rank" if self.exponent == 1 else f"rank^{self.exponent:g}")
        return "+".join(parts)


KEPT = 1 << 17
"""Most cached predictions: searches reach the same states and tactics repeatedly."""


class ProgressSource:
    """Predicted steps, for all searches of a process."""

    def __init__(self, name: str) -> None:
        """`name`: a folder or an id of the hub. The model is loaded by the first request, or by `open`. Raises
        ProgressError if it does not exist."""
        from node.llm.hub.folders import weights_of

        self.name = name
        try:
            self.digest = weights_of(HubAddress(name))
        except BadModel as error:
            raise ProgressError(str(error)) from error
        self._model: ProgressModel | None = None
        self._asking = asyncio.Lock()
        self._waiting: dict[str, None] = {}
        self._answers: dict[str, float] = {}

    async def open(self) -> None:
        """Loads the model. Raises ProgressError; ModuleNotFoundError without transformers."""
        async with self._asking:
            await asyncio.to_thread(self._opened)

    @property
    def answers_states(self) -> bool:
        """Whether the model was trained on questions without a tactic. The model must be open."""
        return self._opened().asking.states

    async def steps(self, texts: Sequence[str]) -> list[float]:
        """Predicted steps for texts of `node.progress.data.question`. Requests that arrive while the model is busy
        form one batch. Raises ProgressError."""
        answers = {text: self._answers[text] for text in texts if text in self._answers}
        while missing := [text for text in texts if text not in answers]:
            self._waiting.update(dict.fromkeys(missing))
            async with self._asking:
                if batch := list(self._waiting):
                    self._waiting.clear()
                    predicted = await asyncio.to_thread(self.predict, batch)
                    if len(self._answers) > KEPT:
                        self._answers.clear()
                    self._answers.update(zip(batch, predicted, strict=True))
                answers.update((text, self._answers[text]) for text in missing if text in self._answers)
        return [answers[text] for text in texts]

    def predict(self, texts: Sequence[str]) -> list[float]:
        """The model's predictions, in this thread. Raises ProgressError."""
        try:
            return self._opened().predict(texts)
        except InputError as error:
            raise ProgressError(str(error)) from error

    def _opened(self) -> ProgressModel:
        if self._model is None:
            from node.progress.model import load

            try:
                self._model = load(self.name)
            except InputError as error:
                raise ProgressError(str(error)) from error
        return self._model
