"""An index of premises on disk: the corpus, the vectors, and the encoder that made them.

A folder is written in parts. `index.json` is written last: without it the index is incomplete. After a kill, the same
corpus and model reuse the finished parts.

A `PremiseSource` answers searches and prompts from an index: the premises that may help at a proof state. Accessible
are those that the theorem's header or file imports, and those that its file declares above it. If it imports nothing,
the declarations of `Init` are accessible, or all premises if the corpus has no `Init`.
"""

from __future__ import annotations

import asyncio
import importlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from common.files import NOT_JSON, replacing, write_whole
from common.lean import Context, Theorem
from node.lean.text.declarations import declarations
from node.lean.text.statement import imports
from node.retrieval.corpus import INIT, Corpus, CorpusFile, Mask, Premise, RetrievalError
from node.retrieval.encoder import Vectors, digest_of, encode_premises, encode_states, load_encoder, save_encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


ABOUT, MODEL, PREMISES, VECTORS, INVERTED, PARTS = (
    "index.json",
    "model",
    "premises.msgpack",
    "vectors.npy",
    "vectors.faiss",
    "parts",
)
PART = 4096
"""Premises that are encoded between two writes: a kill loses at most this much work."""

FORMAT = 1


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The corpus and the encoder of an index."""

    corpus: str
    """Digest of the corpus."""
    model: str
    """Digest of the encoder's weights."""
    source: str
    """Where the encoder was loaded from."""
    premises: int
    files: int
    width: int
    format: int = FORMAT


class _Content(msgspec.Struct):
    files: tuple[CorpusFile, ...]
    premises: tuple[Premise, ...]


def build(
    folder: Path,
    corpus: Corpus,
    model: SentenceTransformer,
    source: str,
    *,
    force: bool = False,
    tick: Callable[[int], None] = lambda done: None,
) -> bool:
    """Builds an index in a folder. Returns False if it exists already. `tick` gets the number of encoded premises.

    Raises RetrievalError if the folder holds another index, or something else; OSError on a full disk.
    """
    # 1. What the vectors depend on. `source` does not count: an encoder that was moved makes the same vectors.
    about = About(
        corpus=corpus.digest,
        model=digest_of(model),
        source=source,
        premises=len(corpus),
        files=len(corpus.files),
        width=model.get_embedding_dimension() or 0,
    )
    # 2. The same index is kept; another one is replaced only with `force`. Its ABOUT goes first: from here on the
    # folder is unfinished, whatever happens.
    if (folder / ABOUT).is_file():
        existing = read_about(folder)
        if msgspec.structs.replace(existing, source=source) == about:
            return False
        if not force:
            raise RetrievalError(f"{folder}: holds an index of another corpus or model; replace it with --force")
        (folder / ABOUT).unlink()
    elif folder.is_dir() and any(folder.iterdir()) and not (folder / PARTS).is_dir():
        raise RetrievalError(f"{folder}: holds something else (no {ABOUT}); name another folder")
    # 3. Encoding a large library takes long. Finished parts are kept under both digests, so that a repeated command
    # goes on.
    parts = folder / PARTS / f"{about.corpus[:16]}-{about.model[:16]}"
    parts.mkdir(parents=True, exist_ok=True)
    vectors = _encoded(corpus.premises, model, parts, tick)
    # 4. ABOUT is written last: an index that has it is complete.
    with replacing(folder / VECTORS) as path, path.open("wb") as file:
        np.save(file, vectors)
    _write_inverted(folder / INVERTED, vectors)
    write_whole(folder / PREMISES, msgspec.msgpack.encode(_Content(corpus.files, corpus.premises)))
    save_encoder(model, folder / MODEL)
    write_whole(folder / ABOUT, msgspec.json.encode(about) + b"\n")
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    return True


def _encoded(
    premises: Sequence[Premise], model: SentenceTransformer, parts: Path, tick: Callable[[int], None]
) -> NDArray[np.float16]:
    """Vectors of all premises. Parts of an interrupted build are read, not encoded again."""
    parts_so_far = []
    for at in range(0, len(premises), PART):
        path = parts / f"{at:09}.npy"
        if path.is_file():
            parts_so_far.append(np.load(path))
        else:
            made = encode_premises(model, [each.text for each in premises[at : at + PART]]).astype(np.float16)
            with replacing(path) as temporary, temporary.open("wb") as file:
                np.save(file, made)
            parts_so_far.append(made)
        tick(min(at + PART, len(premises)))
    return np.concatenate(parts_so_far)


def _write_inverted(path: Path, vectors: NDArray[np.float16]) -> None:
    inverted = inverted_file(vectors)
    if inverted is None:
        path.unlink(missing_ok=True)
        return
    import faiss

    with replacing(path) as temporary:
        faiss.write_index(inverted, str(temporary))


def read_about(folder: Path) -> About:
    """The corpus and the encoder of the index in a folder. Raises RetrievalError."""
    try:
        about = msgspec.json.decode((folder / ABOUT).read_bytes(), type=About)
    except OSError:
        raise RetrievalError(f"{folder}: has no index of premises; `proofmesh premises index` makes one") from None
    except NOT_JSON as error:
        raise RetrievalError(f"{folder / ABOUT}: damaged ({error}); make the index again with --force") from error
    if about.format != FORMAT:
        raise RetrievalError(f"{folder}: has an index of another version; make it again with --force")
    return about


class PremiseIndex:
    """An opened index."""

    def __init__(self, folder: Path) -> None:
        """Opens the index of a folder. Raises RetrievalError if there is none, or it is damaged."""
        self.folder = folder
        self.about = read_about(folder)
        try:
            content = msgspec.msgpack.decode((folder / PREMISES).read_bytes(), type=_Content)
            self.vectors: NDArray[np.float16] = np.load(folder / VECTORS)
        except (OSError, ValueError, *NOT_JSON) as error:
            raise RetrievalError(f"{folder}: the index is damaged ({error}); make it again with --force") from error
        self.corpus = Corpus(content.files, content.premises, self.about.corpus)
        if self.vectors.shape != (len(self.corpus), self.about.width) or len(self.corpus) != self.about.premises:
            raise RetrievalError(
                f"{folder}: the index is damaged (its parts do not fit together); make it again with --force"
            )
        self._nearest = NearestVectors(self.vectors, self._inverted())

    def _inverted(self) -> object | None:
        path = self.folder / INVERTED
        if not path.is_file():
            return None
        import faiss

        try:
            inverted: object = faiss.read_index(str(path))
        except RuntimeError as error:
            raise RetrievalError(f"{path}: damaged ({error}); make the index again with --force") from error
        return inverted

    @cached_property
    def model(self) -> SentenceTransformer:
        """The encoder. Raises RetrievalError."""
        return load_encoder(str(self.folder / MODEL))

    def search(self, state: str, mask: Mask, count: int = 10) -> list[tuple[int, float]]:
        """The best premises for a state within a mask: their numbers and cosines, the best first."""
        return self.nearest(self.encode([state])[0], mask, count)

    def nearest(self, vector: NDArray[np.float32], mask: Mask, count: int) -> list[tuple[int, float]]:
        """The same for the vector of a state, shape (width,)."""
        return self._nearest.best(vector, mask, count)

    def encode(self, states: Iterable[str]) -> Vectors:
        """Vectors of states."""
        return encode_states(self.model, list(states))


# --- finds the nearest vectors within a mask of accessible premises ---------------------------------------------------
# Measured with 200,000 vectors of 256 numbers on one core (`proofmesh bench premises --compare`): comparing with all
# of them takes tens of milliseconds at any precision. An inverted file of bytes (IVF, SQ8) takes one to three
# milliseconds: it compares only with the allowed vectors in the cells near the query, and exact products rank the
# best ones again.

SMALL = 20_000
"""Up to this many vectors need no inverted file: all products take a millisecond."""

EXACT = 4_000
"""Up to this many allowed vectors are compared exactly, which takes about two milliseconds."""

SCORED = 20_000
"""Approximate number of allowed vectors that a search in the inverted file compares with. The fewer vectors are
allowed, the more cells it visits. In the worst case, 26,000 allowed vectors at random among 200,000, this finds 99% of
the ten nearest."""

LEAST_PROBES = 64
"""Least number of visited cells."""

AGAIN = 8
"""This many times the requested number of candidates is ranked again exactly."""

TRAINING = 50_000
"""Vectors from which the cells are computed."""


class NearestVectors:
    """Nearest neighbours by inner product. A vector is identified by its position."""

    def __init__(self, vectors: NDArray[np.float16], inverted: Any = None) -> None:
        """`vectors`: shape (count, width), each of length 1. `inverted`: the result of `inverted_file` for them; None:
        searches compare with all vectors."""
        self._vectors = vectors
        self._whole = vectors.astype(np.float32) if inverted is None else None
        self._inverted = inverted

    def best(self, vector: NDArray[np.float32], mask: Mask, count: int) -> list[tuple[int, float]]:
        """The nearest vectors within a mask with their cosines, the nearest first. `vector`: shape (width,)."""
        if self._whole is not None:
            among = np.flatnonzero(mask)
            products = (self._whole @ vector)[among]
        else:
            among = self._candidates(vector, mask, count)
            products = self._vectors[among].astype(np.float32) @ vector
        top = np.argsort(-products, kind="stable")[:count]
        return [(int(among[place]), float(products[place])) for place in top]

    def _candidates(self, vector: NDArray[np.float32], mask: Mask, count: int) -> NDArray[np.int64]:
        """Numbers of candidates for the nearest vectors."""
        allowed = int(mask.sum())
        if allowed > EXACT:
            candidates = self._guessed(vector, mask, AGAIN * count, allowed)
            if len(candidates) >= count:  # otherwise the visited cells have too few allowed vectors
                return candidates
        return np.flatnonzero(mask)

    def _guessed(self, vector: NDArray[np.float32], mask: Mask, count: int, allowed: int) -> NDArray[np.int64]:
        faiss: Any = importlib.import_module("faiss")  # faiss's type stubs lack the functions of its Python layer

        cells = int(self._inverted.nlist)
        probes = min(cells, max(LEAST_PROBES, cells * SCORED // allowed))
        bits = np.packbits(mask, bitorder="little")
        parameters = faiss.SearchParametersIVF(sel=faiss.IDSelectorBitmap(bits), nprobe=probes)
        _, nearest = self._inverted.search(vector[None], count, params=parameters)
        numbers: NDArray[np.int64] = nearest[0][nearest[0] >= 0]
        return numbers


def inverted_file(vectors: NDArray[np.float16], seed: int = 0) -> Any:
    """An inverted file of faiss over the vectors; None if there are so few that it is not needed."""
    if len(vectors) <= SMALL:
        return None
    import faiss

    cells = 2 ** round(np.log2(np.sqrt(len(vectors))))
    index = faiss.index_factory(vectors.shape[1], f"IVF{cells},SQ8", faiss.METRIC_INNER_PRODUCT)
    chosen = np.random.default_rng(seed).choice(len(vectors), min(TRAINING, len(vectors)), replace=False)
    index.train(vectors[np.sort(chosen)].astype(np.float32))
    for at in range(0, len(vectors), TRAINING):
        index.add(vectors[at : at + TRAINING].astype(np.float32))
    return index


# --- premises for searches and prompts --------------------------------------------------------------------------------

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
