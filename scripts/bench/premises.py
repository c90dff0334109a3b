"""Bench `premises`: premise retrieval in a large library."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import psutil
from numpy.typing import NDArray

from common.limits import Positive
from node.retrieval.corpus import Corpus, FileRow, PremiseRow, corpus_of
from node.retrieval.encoder import fresh_encoder
from node.retrieval.train_command import Shape
from scripts.bench.harness import Part, Results, machine

if TYPE_CHECKING:
    from node.retrieval.index import PremiseIndex

IN_A_FILE = 50
"""Premises per file, about as many as in Mathlib."""

IMPORTS = 4

WORDS = 3000

TOKENIZED = 20_000
"""Number of texts to train the tokenizer on."""


@dataclass
class Premises(Part):
    """Measures premise retrieval in a large library: milliseconds per query, memory, and recall of the index.

        proofmesh bench premises [--premises 200000] [--kind transformer] [--compare] [--json OUT]

    The library is synthetic: files that import earlier ones, with statements of random words. Queries are its
    statements with some words left out; each searches the premises that a random file may use. Queries run in a fresh
    process, so that its memory is that of a search. `query_cpu_ms` is processor time, which other load affects little.
    `recall` counts the ten premises with the largest exact products. `--compare` also times other faiss indexes (takes
    minutes, since HNSW is slow to build).
    """

    premises: Positive = 200_000
    """Premises in the library."""
    kind: Literal["static", "transformer"] = "static"
    """The encoder. It is untrained, since time and memory do not depend on training."""
    width: Positive = 256
    """Length of a vector."""
    queries: Positive = 500
    """Number of timed queries."""
    compare: bool = False
    """Also time flat, byte, half-precision and HNSW indexes on the same vectors."""
    folder: Path | None = None
    """An existing index to query; without it, one is built."""
    seed: int = 0

    def measure(self) -> Results:
        """Build the index, then query it in a fresh process."""
        if self.folder is not None:
            return asked_index(self, self.folder)
        with tempfile.TemporaryDirectory() as folder:
            built = made_index(self, Path(folder))
            flags = [f"--folder={folder}", f"--queries={self.queries}", f"--seed={self.seed}"]
            flags += ["--compare"] if self.compare else []
            command = [sys.executable, "-m", "scripts.bench", "premises", *flags]
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        return {"settings": self.asked(), "machine": machine(), "built": built, **found}


def library(premises: int, seed: int) -> Corpus:
    """A synthetic library: each file imports some earlier ones."""
    rng = random.Random(seed)
    words = ["".join(rng.choice("abcdefghiklmnoprstuvy") for _ in range(rng.randint(3, 8))) for _ in range(WORDS)]

    def statement() -> str:
        terms = " ".join(rng.choice(words) for _ in range(rng.randint(3, 12)))
        return f"({rng.choice('abcxyz')} : {rng.choice(words).title()}) : {terms} = {rng.choice(words)}"

    def premise(line: int) -> PremiseRow:
        name = ".".join([rng.choice(words).title(), "_".join(rng.choice(words) for _ in range(3)) + str(line)])
        return PremiseRow(name, f"theorem {name} {statement()} := by simp", (line, 1), (line, 80))

    files = [
        FileRow(
            f"Lib/F{number}.lean",
            tuple(f"Lib/F{rng.randrange(number)}.lean" for _ in range(min(number, IMPORTS))),
            tuple(premise(line) for line in range(1, 1 + IN_A_FILE)),
        )
        for number in range(max(1, premises // IN_A_FILE))
    ]
    return corpus_of(files, f"made up {premises} {seed}")


def made_index(settings: Premises, folder: Path) -> dict[str, float]:
    """Build the index; returns the seconds and its size."""
    import torch

    from node.retrieval.index import build

    torch.manual_seed(settings.seed)
    corpus = library(settings.premises, settings.seed)
    shape = Shape(kind=settings.kind, width=settings.width)
    model = fresh_encoder(shape, [each.text for each in corpus.premises[:TOKENIZED]], 256)
    began = time.perf_counter()
    build(folder, corpus, model, "fresh")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"seconds": round(time.perf_counter() - began, 1), "megabytes": round(size / 2**20, 1)}


def asked_index(settings: Premises, folder: Path) -> Results:
    """Times of queries, and the memory of this process after them."""
    from node.retrieval.index import PremiseIndex

    # 1. Open the index as a search does.
    began = time.perf_counter()
    index = PremiseIndex(folder)
    index.encode(["⊢ True"])  # warm-up: loads the encoder
    opened = time.perf_counter() - began
    # 2. Queries, with the exact nearest premises beside.
    rng = random.Random(settings.seed + 1)
    cases = list(_cases(index.corpus, rng, settings.queries))
    encode, search, query, cpu, hits = [], [], [], [], 0
    for state, mask in cases:
        before, began = time.thread_time(), time.perf_counter()
        vector = index.encode([state])[0]
        middle = time.perf_counter()
        nearest = index.nearest(vector, mask, 10)
        ended = time.perf_counter()
        cpu.append(time.thread_time() - before)
        encode.append(middle - began)
        search.append(ended - middle)
        query.append(ended - began)
        hits += len({number for number, _ in nearest} & set(_exact(index, vector, mask)))
    # 3. Percentiles; memory as it is after all queries.
    results: dict[str, Any] = {
        "open_seconds": round(opened, 2),
        "accessible": round(float(np.mean([mask.sum() for _, mask in cases]))),
        "encode_ms": _times(encode),
        "search_ms": _times(search),
        "query_ms": _times(query),
        "query_cpu_ms": _times(cpu),
        "recall": round(hits / (10 * len(cases)), 4),
        "memory_mb": round(psutil.Process().memory_info().rss / 2**20),
    }
    if settings.compare:
        vectors = index.encode([state for state, _ in cases[:100]])
        results["other_indexes"] = dict(_others(index.vectors, vectors, [mask for _, mask in cases[:100]]))
    return results


def _cases(corpus: Corpus, rng: random.Random, count: int) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """States, each with a mask of the premises that may be used there."""
    for _ in range(count):
        words = rng.choice(corpus.premises).text.split()[2:]
        state = f"x : Nat\n⊢ {' '.join(word for word in words if rng.random() < 0.7) or 'True'}"
        yield state, corpus.accessible(rng.randrange(len(corpus.files) // 4, len(corpus.files)), (IN_A_FILE // 2, 1))


def _exact(index: PremiseIndex, vector: NDArray[np.float32], mask: NDArray[np.bool_]) -> list[int]:
    allowed = np.flatnonzero(mask)
    products = index.vectors[allowed].astype(np.float32) @ vector
    return [int(number) for number in allowed[np.argsort(-products, kind="stable")[:10]]]


def _others(
    vectors: NDArray[np.float16], queries: NDArray[np.float32], masks: list[NDArray[np.bool_]]
) -> Iterator[tuple[str, Any]]:
    faiss: Any = importlib.import_module("faiss")  # faiss's type stubs lack the methods of its Python layer
    # 1. A search among the accessible premises only, as in a proof.
    whole = vectors.astype(np.float32)

    def timed(index: Any, parameters: Callable[[Any], Any]) -> dict[str, float]:
        seconds = []
        for query, mask in zip(queries, masks, strict=True):
            bits = np.packbits(mask, bitorder="little")
            search_parameters = parameters(faiss.IDSelectorBitmap(bits))
            began = time.perf_counter()
            index.search(query[None], 10, params=search_parameters)
            seconds.append(time.perf_counter() - began)
        return _times(seconds)

    # 2. Each index, with its own parameters of search.
    for name in ("Flat", "SQfp16", "SQ8", "HNSW32,SQ8", "IVF512,Flat", "IVF512,SQ8"):
        began = time.perf_counter()
        index = faiss.index_factory(whole.shape[1], name, faiss.METRIC_INNER_PRODUCT)
        index.train(whole[:50_000])
        index.add(whole)
        build = time.perf_counter() - began
        if name.startswith("IVF"):
            times = timed(index, lambda selector: faiss.SearchParametersIVF(sel=selector, nprobe=32))
        elif name.startswith("HNSW"):
            times = timed(index, lambda selector: faiss.SearchParametersHNSW(sel=selector, efSearch=64))
        else:
            times = timed(index, lambda selector: faiss.SearchParameters(sel=selector))
        yield name, times | {"build_seconds": round(build, 1)}


def _times(seconds: list[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    return {f"p{rank}": round(1000 * float(np.percentile(seconds, rank)), 2) for rank in (50, 90, 99)}
