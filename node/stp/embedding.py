"""Embeds statements with the network, for matching conjectures with unproved statements.

A vector is the mean of the last hidden states at the statement's tokens, scaled to unit length. Local names are as the
prover reads them. (STP, arXiv 2502.00212, section 3.3, also takes the mean of the current model's last hidden states.)

`embeddings` runs this module in a child process, so that its caller needs no torch and the memory is freed afterwards:

    python -m node.stp.embedding CHECKPOINT STATEMENTS.json VECTORS.npy
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from common.life.process import kept
from common.output.visible import say
from node.model.names import StatementNames
from node.model.prompt import unnamed
from node.model.tokenizer import BOS, LEAN, PAD, Tokenizer

if TYPE_CHECKING:
    from node.model.weights import Weights

BATCH_TOKENS = 8192
"""Maximum tokens of one forward pass, including padding. A longer statement gets a pass for itself."""

LOOK_SECONDS = 0.2
"""Seconds between checks of `cancelled`."""

OWN_MODULE, MODEL_MODULE = "node.stp.embedding", "node.stp.model_embedding"
"""Modules that run in the child process: for our own network, and for published language models."""

MARKS = 2
"""Tokens before those of the statement."""


class EmbeddingError(Exception):
    """Embedding failed; the text is one line that says why."""


# --- in the caller's process ----------------------------------------------------------------------------------------


def embeddings(
    checkpoint: Path | str,
    statements: Sequence[str],
    *,
    threads: int = 1,
    cancelled: threading.Event | None = None,
    module: str = OWN_MODULE,
    device: str = "",
) -> np.ndarray:
    """(n, width) float32, rows of unit length, in order. Equal arguments give equal bytes.

    `statements`: `theorem NAME BINDERS : CONCLUSION`, truncated to the network's context. `checkpoint`: a checkpoint
    folder or a weights file; for `MODEL_MODULE` a model, which runs on `device`. Blocks until it is finished or
    `cancelled` is set by another thread. Raises EmbeddingError.
    """
    with tempfile.TemporaryDirectory(prefix="embedding-") as folder:
        input_file, output_file = Path(folder, "statements.json"), Path(folder, "vectors.npy")
        devices = [device] if device else []
        try:
            input_file.write_bytes(msgspec.json.encode(list(statements)))
            _run([module, str(checkpoint), str(input_file), str(output_file), *devices], threads, cancelled)
            vectors: np.ndarray = np.load(output_file)
        except OSError as error:
            raise EmbeddingError(f"embedding {len(statements)} statements: {error}") from error
    return vectors


def _run(arguments: list[str], threads: int, cancelled: threading.Event | None) -> None:
    command = [*kept(), sys.executable, "-m", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        try:
            errors = _wait(process, cancelled)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        lines = errors.strip().splitlines()
        ended = f"ended with {process.returncode}"
        if process.returncode < 0:
            ended = f"was ended by {signal.Signals(-process.returncode).name}"
        raise EmbeddingError(lines[-1] if lines else f"the embedding process {ended} and errors nothing")


def _wait(process: subprocess.Popen[str], cancelled: threading.Event | None) -> str:
    """Wait for the process; returns its standard error. Raises EmbeddingError if it is cancelled."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=LOOK_SECONDS if cancelled is not None else None)[1]
        if cancelled is not None and cancelled.is_set():
            raise EmbeddingError("embedding was cancelled")


# --- in the child ---------------------------------------------------------------------------------------------------


def statement_tokens(tokenizer: Tokenizer, statement: str, limit: int) -> list[int]:
    """`<bos> <lean> STATEMENT`, at most `limit` tokens: the beginning of the prover's prompt."""
    return [BOS, LEAN, *tokenizer.encode(StatementNames(unnamed(statement)).state)][:limit]


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices, longest first, in batches of at most BATCH_TOKENS including padding."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def vectors_of(weights: Weights, statements: Sequence[str]) -> np.ndarray:
    """See `embeddings`. Raises EmbeddingError."""
    import torch

    if not weights.tokenizer.has_roles:
        raise EmbeddingError("the tokenizer has no marks of roles, so the network was not trained on statements")
    model = weights.model
    tokens = [statement_tokens(weights.tokenizer, each, model.config.context) for each in statements]
    vectors = np.zeros((len(tokens), model.config.width), np.float32)
    for batch in batches([len(each) for each in tokens]):
        longest = len(tokens[batch[0]])
        padded = torch.tensor([tokens[index] + [PAD] * (longest - len(tokens[index])) for index in batch])
        lengths = torch.tensor([len(tokens[index]) for index in batch])
        with torch.inference_mode():
            states = model.hidden(padded, prefix=lengths).double()
        at = torch.arange(longest)
        own = ((at >= MARKS) & (at < lengths[:, None]))[..., None]
        # The sum instead of the mean is enough, because both have the same direction.
        summed = (states * own).sum(1)
        vectors[batch] = (summed / torch.linalg.vector_norm(summed, dim=-1, keepdim=True)).float().numpy()
    if not np.isfinite(vectors).all():
        raise EmbeddingError("the network computes values that are not finite; use an earlier checkpoint")
    return vectors


def main(arguments: Sequence[str]) -> int:
    """Run the child process; returns the exit status. An error is the last line on standard error."""
    if len(arguments) != 3:
        print("usage: python -m node.stp.embedding CHECKPOINT STATEMENTS.json VECTORS.npy", file=sys.stderr)
        return 2
    import torch

    from node.model.checkpoint import CheckpointError
    from node.model.loading import read_weights
    from node.model.weights import WeightsError

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
    checkpoint, input_file, output_file = (Path(each) for each in arguments)
    try:
        statements = msgspec.json.decode(input_file.read_bytes(), type=list[str])
        with output_file.open("wb") as file:
            np.save(file, vectors_of(read_weights(checkpoint), statements))
    except (CheckpointError, WeightsError, OSError, msgspec.MsgspecError) as error:
        say(error, file=sys.stderr)
        return 1
    except EmbeddingError as error:
        say(f"{checkpoint}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
