"""Embeds statements with a published language model. `node.stp.embedding` runs this module in a child process.

python -m node.stp.model_embedding MODEL STATEMENTS.json VECTORS.npy [DEVICE]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from common.output.visible import say
from node.stp.embedding import EmbeddingError, batches

if TYPE_CHECKING:
    from node.llm.hub.loading import Loaded


def vectors_of(loaded: Loaded, statements: Sequence[str]) -> np.ndarray:
    """(n, width) float32: the mean of the last hidden states at each statement's tokens, scaled to unit length.
    Statements are truncated to the model's context. Raises EmbeddingError."""
    import torch

    limit = loaded.context or sys.maxsize
    tokens = [list(loaded.tokenizer(each)["input_ids"])[:limit] for each in statements]
    backbone = loaded.model.base_model  # without the output layer, whose logits take much memory
    vectors: np.ndarray | None = None
    for batch in batches([len(each) for each in tokens]):
        longest = len(tokens[batch[0]])
        padded = [tokens[index] + [loaded.pad] * (longest - len(tokens[index])) for index in batch]
        own = torch.tensor([[at < len(tokens[index]) for at in range(longest)] for index in batch])
        own = own.to(loaded.device)
        with torch.inference_mode():
            ids = torch.tensor(padded, device=loaded.device)
            states = backbone(input_ids=ids, attention_mask=own.long()).last_hidden_state.double()
        # The sum instead of the mean is enough, because both have the same direction.
        summed = (states * own[..., None]).sum(1)
        rows = (summed / torch.linalg.vector_norm(summed, dim=-1, keepdim=True)).float().cpu().numpy()
        if vectors is None:
            vectors = np.zeros((len(tokens), rows.shape[1]), np.float32)
        vectors[batch] = rows
    if vectors is None:
        return np.zeros((0, 0), np.float32)
    if not np.isfinite(vectors).all():
        raise EmbeddingError("the model computes values that are not finite; use an earlier checkpoint")
    return vectors


def main(arguments: Sequence[str]) -> int:
    """Run the child process; returns the exit status. An error is the last line on standard error."""
    if len(arguments) not in (3, 4):
        print("usage: python -m node.stp.model_embedding MODEL STATEMENTS.json VECTORS.npy [DEVICE]", file=sys.stderr)
        return 2
    import torch

    from node.llm.address import BadModel, parse_hub_address
    from node.llm.hub.loading import load
    from node.llm.settings import HubSettings

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
    model, input_file, output_file, *devices = arguments
    try:
        statements = msgspec.json.decode(Path(input_file).read_bytes(), type=list[str])
        loaded = load(parse_hub_address(model), HubSettings(device=devices[0] if devices else "auto"))
        with Path(output_file).open("wb") as file:
            np.save(file, vectors_of(loaded, statements))
    except (BadModel, OSError, msgspec.MsgspecError) as error:
        say(error, file=sys.stderr)
        return 1
    except (EmbeddingError, RuntimeError) as error:  # errors of a GPU are plain RuntimeErrors
        say(f"{model}: {' '.join(str(error).split())[:300]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
