"""Embeds statements with the network, for matching conjectures with unproved statements.

A vector is the mean of the last hidden states at the statement's tokens, scaled to unit length. (STP, arXiv 2502.00212,
section 3.3, also takes the mean of the current model's last hidden states.) Our own network reads local names as the
prover does; a published language model reads the statement as it is.

`embeddings` runs this module in a child process, so that its caller needs no torch and the memory is freed afterwards:

    python -m node.stp.embedding CHECKPOINT STATEMENTS.json VECTORS.npy
    python -m node.stp.embedding hf:MODEL STATEMENTS.json VECTORS.npy DEVICE
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from common.life.process import kept
from common.output.visible import say
from node.llm.address import HUB_PREFIX, BadModel, HubAddress, parse_hub_address
from node.model.names import StatementNames
from node.model.prompt import unnamed
from node.model.tokenizer import BOS, LEAN, PAD, Tokenizer
from node.stp.records import StpError

if TYPE_CHECKING:
    from node.llm.hub.loading import Loaded
    from node.model.weights import Weights

BATCH_TOKENS = 8192
"""Maximum tokens of one forward pass, including padding. A longer statement gets a pass for itself."""

THREADS = "1"
"""Threads of the child process: equal arguments give equal bytes."""

MARKS = 2
"""Tokens before those of the statement, for our own network."""


# --- in the caller's process ----------------------------------------------------------------------------------------


def embeddings(source: Path | HubAddress, statements: Sequence[str], device: str = "") -> np.ndarray:
    """(n, width) float32, rows of unit length, in order. Equal arguments give equal bytes.

    `statements`: `theorem NAME BINDERS : CONCLUSION`, truncated to the network's context. `source`: a checkpoint folder
    or a weights file of our own network, or a language model, which runs on `device`. Blocks until it is finished.
    Raises StpError.
    """
    with tempfile.TemporaryDirectory(prefix="embedding-") as folder:
        input_file, output_file = Path(folder, "statements.json"), Path(folder, "vectors.npy")
        command = [*kept(), sys.executable, "-m", "node.stp.embedding", str(source), str(input_file), str(output_file)]
        try:
            input_file.write_bytes(msgspec.json.encode(list(statements)))
            child = subprocess.run(
                [*command, *([device] if device else [])],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=os.environ | {"OMP_NUM_THREADS": THREADS},
                text=True,
                check=False,
            )
            if child.returncode:
                lines = child.stderr.strip().splitlines()
                ended = f"ended with {child.returncode}"
                if child.returncode < 0:
                    ended = f"was ended by {signal.Signals(-child.returncode).name}"
                raise StpError(lines[-1] if lines else f"the embedding process {ended} and errors nothing")
            vectors: np.ndarray = np.load(output_file)
        except OSError as error:
            raise StpError(f"embedding {len(statements)} statements: {error}") from error
    return vectors


# --- in the child ---------------------------------------------------------------------------------------------------


def vectors_of(weights: Weights, statements: Sequence[str]) -> np.ndarray:
    """The vectors of our own network. Raises StpError."""
    import torch

    if not weights.tokenizer.has_roles:
        raise StpError("the tokenizer has no marks of roles, so the network was not trained on statements")
    model = weights.model
    tokens = [statement_tokens(weights.tokenizer, each, model.config.context) for each in statements]
    vectors = np.zeros((len(tokens), model.config.width), np.float32)
    for batch, ids, lengths in _padded(tokens, PAD):
        with torch.inference_mode():
            states = model.hidden(ids)
        at = torch.arange(ids.shape[1])
        vectors[batch] = _means(states, (at >= MARKS) & (at < lengths[:, None]))
    if not np.isfinite(vectors).all():
        raise StpError("the network computes values that are not finite; use an earlier checkpoint")
    return vectors


def vectors_of_model(loaded: Loaded, statements: Sequence[str]) -> np.ndarray:
    """The vectors of a language model. Raises StpError."""
    import torch

    limit = loaded.context or sys.maxsize
    tokens = [list(loaded.tokenizer(each)["input_ids"])[:limit] for each in statements]
    backbone = loaded.model.base_model  # without the output layer, whose logits take much memory
    vectors: np.ndarray | None = None
    for batch, ids, lengths in _padded(tokens, loaded.pad):
        own = (torch.arange(ids.shape[1]) < lengths[:, None]).to(loaded.device)
        with torch.inference_mode():
            states = backbone(input_ids=ids.to(loaded.device), attention_mask=own.long()).last_hidden_state
        rows = _means(states, own)
        if vectors is None:
            vectors = np.zeros((len(tokens), rows.shape[1]), np.float32)
        vectors[batch] = rows
    if vectors is None:
        return np.zeros((0, 0), np.float32)
    if not np.isfinite(vectors).all():
        raise StpError("the model computes values that are not finite; use an earlier checkpoint")
    return vectors


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


def _padded(tokens: Sequence[list[int]], pad: int) -> Iterator[tuple[list[int], Any, Any]]:
    """Batches of statements: their indices, their padded tokens, and their lengths."""
    import torch

    for batch in batches([len(each) for each in tokens]):
        longest = len(tokens[batch[0]])
        rows = [tokens[index] + [pad] * (longest - len(tokens[index])) for index in batch]
        yield batch, torch.tensor(rows), torch.tensor([len(tokens[index]) for index in batch])


def _means(states: Any, own: Any) -> np.ndarray:
    """Unit vectors in the direction of the mean state at the statement's `own` tokens."""
    import torch

    with torch.inference_mode():
        # The sum instead of the mean is enough, because both have the same direction.
        summed = (states.double() * own[..., None]).sum(1)
        means: np.ndarray = (summed / torch.linalg.vector_norm(summed, dim=-1, keepdim=True)).float().cpu().numpy()
    return means


def main(arguments: Sequence[str]) -> int:
    """Run the child process; returns the exit status. An error is the last line on standard error."""
    if len(arguments) not in (3, 4):
        print("usage: python -m node.stp.embedding SOURCE STATEMENTS.json VECTORS.npy [DEVICE]", file=sys.stderr)
        return 2
    import torch

    from node.model.checkpoint_folders import CheckpointError
    from node.model.weights import WeightsError

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
    source, input_file, output_file, *devices = arguments
    try:
        statements = msgspec.json.decode(Path(input_file).read_bytes(), type=list[str])
        with Path(output_file).open("wb") as file:
            np.save(file, _vectors(source, statements, devices[0] if devices else "auto"))
    except (CheckpointError, WeightsError, BadModel, OSError, msgspec.MsgspecError) as error:
        say(error, file=sys.stderr)
        return 1
    except (StpError, RuntimeError) as error:  # errors of a GPU are plain RuntimeErrors
        say(f"{source}: {' '.join(str(error).split())[:300]}", file=sys.stderr)
        return 1
    return 0


def _vectors(source: str, statements: Sequence[str], device: str) -> np.ndarray:
    """Raises StpError, CheckpointError, WeightsError, BadModel."""
    if source.startswith(HUB_PREFIX):
        from node.llm.hub.loading import load
        from node.llm.settings import HubSettings

        return vectors_of_model(load(parse_hub_address(source), HubSettings(device=device)), statements)
    from node.model.checkpoint import read_weights

    return vectors_of(read_weights(Path(source)), statements)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
