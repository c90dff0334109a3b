"""Premises from an index for searches and prompts: those that may help at a proof state.

Accessible are the premises that the theorem's header or file imports, and those that its file declares above it. If it
imports nothing, the declarations of `Init` are accessible, or all premises if the corpus has no `Init`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from common.lean import Theorem
from common.places import Context
from node.lean.text.declarations import declarations
from node.lean.text.statement import imports
from node.retrieval.corpus import INIT, Corpus, Mask
from node.retrieval.errors import RetrievalError
from node.retrieval.index import PremiseIndex, read_about

KEPT_STATES = 4096
"""Most cached results: a search reaches the same states repeatedly."""

KEPT_THEOREMS = 64
"""Most cached masks of accessible premises."""


@dataclass(frozen=True)
class Retrieved:
    """A retrieved premise."""

    name: str
    text: str
    """Its statement on one line, with its full name."""
    is_proof: bool
    """True for theorems and axioms, False for definitions."""


class PremiseSource:
    """Retrieves premises for proof states from one index."""

    def __init__(self, folder: Path | str) -> None:
        """The index is loaded by the first request, or by `open`. Raises RetrievalError if there is none."""
        self.folder = Path(folder)
        self.about = read_about(self.folder)
        self._index: PremiseIndex | None = None
        self._asking = asyncio.Lock()
        self._mask = lru_cache(KEPT_THEOREMS)(self._made_mask)
        self._answers: dict[tuple[str, Theorem, int], tuple[Retrieved, ...]] = {}

    @property
    def digest(self) -> str:
        """Digest of corpus and encoder, which determine the results."""
        return f"{self.about.corpus[:12]} {self.about.model[:12]}"

    async def open(self) -> None:
        """Loads the index and its encoder. Raises RetrievalError."""
        async with self._asking:
            await asyncio.to_thread(self._opened)

    async def premises(self, state: str, theorem: Theorem, count: int) -> tuple[Retrieved, ...]:
        """The best premises for a state, the best first, without the theorem itself. Raises RetrievalError."""
        key = (state, theorem, count)
        if key not in self._answers:
            async with self._asking:  # one encoding at a time: parallel ones would share the same cores
                premises = await asyncio.to_thread(self.find, state, theorem, count)
            if len(self._answers) >= KEPT_STATES:
                self._answers.clear()
            self._answers[key] = premises
        return self._answers[key]

    def find(self, state: str, theorem: Theorem, count: int) -> tuple[Retrieved, ...]:
        """The same as `premises`, in this thread."""
        index = self._opened()
        context = theorem.place.context if theorem.place is not None else None
        mask = self._mask(theorem.name, theorem.header, context)
        chosen = (index.corpus.premises[number] for number, _ in index.search(state, mask, count))
        return tuple(Retrieved(each.full_name, each.text, each.is_proof) for each in chosen)

    def _opened(self) -> PremiseIndex:
        if self._index is None:
            index = PremiseIndex(self.folder)
            index.encode(["⊢ True"])  # the first encoding loads further parts of the library
            self._index = index
        return self._index

    def _made_mask(self, name: str, header: str, context: Context | None) -> Mask:
        return accessible(self._opened().corpus, name, header, context.text if context is not None else None)


def accessible(corpus: Corpus, name: str, header: str, above: str | None) -> Mask:
    """Mask of the premises that are accessible to a theorem. `above`: the text of its file above it; None: the theorem
    is not in a file."""
    modules = list(imported_modules(header if above is None else above))
    files = [*_files(corpus, modules), *_files(corpus, [INIT])]
    mask = (corpus.imported(files) if files or modules else corpus.everything()).copy()
    if above is not None:
        for declared in declarations(above)[0]:
            mask[np.array(corpus.numbers(declared.name), dtype=np.int64)] = True
    mask[np.array(corpus.numbers(name), dtype=np.int64)] = False
    return mask


def imported_modules(text: str) -> Iterator[str]:
    """Names of the modules that a Lean text imports."""
    for line in imports(text):
        words = line.partition("--")[0].split()
        if "import" in words:
            yield from (word for word in words[words.index("import") + 1 :] if word not in ("all", "meta"))


def _files(corpus: Corpus, modules: list[str]) -> Iterator[int]:
    """Numbers of those modules that the corpus has."""
    for module in modules:
        try:
            yield corpus.file(module)
        except RetrievalError:
            continue
