"""`proofmesh train retriever`: a dense retriever of premises, from traced theorems.

    proofmesh trace PROJECT --format leandojo --out traced
    proofmesh train retriever --data traced/leandojo --from-scratch
    proofmesh train retriever --data leandojo_benchmark_4 --base sentence-transformers/all-MiniLM-L6-v2

The same command resumes an interrupted training. At the end it measures the retriever and BM25 on held-out theorems.

Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or data, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from common.limits import Natural, Positive, Ratio, Share
from common.output.visible import say
from node.tuning import commands

RATES = {"static": 0.02, "transformer": 1e-3, "pretrained": 2e-5}
"""Default learning rates: high for token vectors, which get few updates; low for pretrained weights, which should
change little."""


@dataclass
class Shape:
    """Shape of an encoder with fresh weights."""

    kind: Literal["static", "transformer"] = "static"
    """`static`: the mean of token vectors. `transformer`: a small BERT with mean pooling."""
    width: Positive = 256
    """Length of a vector."""
    vocab_size: Positive = 8000
    """Most tokens of the vocabulary; the tokenizer is trained on the corpus and the states."""
    depth: Positive = 2
    """Layers of a transformer."""
    heads: Positive = 4
    """Attention heads of a transformer."""

    def check(self) -> None:
        """Checks conditions on several settings. Raises ValueError."""
        if self.width % self.heads:
            raise ValueError(f"width {self.width}: must be a multiple of --shape.heads {self.heads}")


@dataclass
class RetrieverSettings:
    """Train a dense retriever of premises: an encoder that puts a state near the premises that its tactic names."""

    data: list[Path] = field(default_factory=list)
    """Traced theorems: folders with theorems.json (`proofmesh trace --format leandojo`: OUT/leandojo), or with
    LeanDojo's random/train.json, or such files."""

    corpus: Path | None = None
    """corpus.jsonl, or its folder; by default the first folder of --data."""

    out: Path = Path("runs/retriever")
    """Folder of the training: model/ (a sentence-transformers model), evaluation.json, summary.json, metrics.jsonl, and
    until the end checkpoints/."""

    base: str = ""
    """The encoder to start from: a folder, or an id on Hugging Face's hub, such as a sentence-transformers model."""

    from_scratch: bool = False
    """Start with fresh weights and a tokenizer trained on the corpus, instead of --base."""

    shape: Shape = field(default_factory=Shape)
    """Shape of an encoder from scratch."""

    held_out: Natural = 10
    """One in this many theorems is held out, by its name; 0: none. LeanDojo's splits have their own held-out
    theorems."""

    epochs: Ratio = 10.0
    """Passes over all examples."""

    steps: Natural = 0
    """Training steps; 0: as many as --epochs needs."""

    batch: Positive = 64
    """Examples in a step. The premises of the other examples are negatives of an example."""

    negatives: Natural = 2
    """Hard negatives of an example: accessible premises that its tactic does not name. Half of them are premises that
    BM25 ranks highest."""

    cached: Natural = 0
    """Encode this many texts at a time and keep only their vectors (GradCache, arXiv 2101.06983), which allows large
    batches in little memory. 0: all at once. Only for transformers."""

    rate: Ratio | None = None
    """Peak learning rate; none: 0.02 for token vectors, 0.001 for a fresh transformer, 0.00002 for --base."""

    warmup: Share = 0.1
    """Share of the steps at the start in which the learning rate rises; then it falls to 0."""

    scale: Ratio = 20.0
    """Factor of the cosines in the softmax: the inverse of the temperature."""

    max_length: Positive = 256
    """Most tokens of a state or a premise that a transformer reads. A state's conclusion comes first."""

    save_every: Positive = 100
    """Steps between two checkpoints. The same command resumes from the last one."""

    log_every: Positive = 10
    """Steps between two lines of metrics.jsonl."""

    tracker: str = ""
    """Trackers that get the curves, too: `tensorboard`, `trackio:PROJECT`, `wandb:PROJECT`, or several with
    commas. Each is an optional package (docs/operations.md)."""

    seed: Natural = 0
    """Seed of weights, order and negatives."""

    device: str = "auto"
    """`auto` (a GPU if there is one), `cpu`, `cuda`, ..."""

    force: bool = False
    """Start from scratch, also if the folder has a training."""

    @property
    def kind(self) -> str:
        """The kind of the initial encoder, a key of `RATES`."""
        return self.shape.kind if self.from_scratch else "pretrained"

    def check(self) -> None:
        """Checks conditions on several settings. Raises ValueError."""
        if not self.data:
            raise ValueError(
                "data is missing: name the folder that `proofmesh trace --format leandojo` wrote (OUT/leandojo)"
            )
        if bool(self.base) == self.from_scratch:
            raise ValueError("from-scratch: give either this flag or --base MODEL")
        if self.from_scratch:
            self.shape.check()
        if self.cached and self.from_scratch and self.shape.kind == "static":
            raise ValueError("cached is only for transformers: leave it out, token vectors need little memory")
        if self.batch < 2:
            raise ValueError("batch must be at least 2: the negatives of an example are the other examples of a step")


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return commands.main("proofmesh train retriever", __doc__, RetrieverSettings, arguments, _run)


def _run(settings: RetrieverSettings) -> None:
    """Raises TrainingError."""
    import msgspec

    from common.output.terminal import Console
    from node.data.errors import InputError
    from node.retrieval.corpus import RetrievalError
    from node.retrieval.ranking import Evaluation, table_of
    from node.retrieval.training import EVALUATION, run

    try:
        summary = run(settings)
    except RetrievalError as error:
        raise InputError(str(error)) from error
    file = settings.out / EVALUATION
    if file.is_file():
        Console().print(table_of(msgspec.convert(msgspec.json.decode(file.read_bytes())["after"], Evaluation)))
    say("{examples:,} examples, {steps:,} steps in {seconds:.0f} s, loss {loss:.3f}".format(**summary), file=sys.stderr)
    say(summary["use"])


if __name__ == "__main__":
    raise SystemExit(main())
