"""Settings of the generation engine, in a separate module so that reading a configuration does not import torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from common.limits import Duration, Natural, Positive
from node.llm.settings import ModelSettings


@dataclass(frozen=True)
class EngineSettings:
    """Sizes of the engine."""

    slots: Positive = 32
    """States that run at the same time."""
    cells: Positive = 32
    """Samples of one state at most."""
    new_tokens: Natural = 0
    """Longest tactic in tokens, if that is less than the network's own limit (`tactic_tokens` of its shape); longer
    completions are cut off and marked. 0: the network's limit. A long prompt leaves less room than that."""
    proof_tokens: Positive = 256
    """Longest whole proof in tokens, and never more than half of the network's context; longer ones are cut off and
    marked."""
    proof_slots: Positive = 8
    """Statements whose whole proofs are sampled at the same time, and prompts whose conjectures are. Memory for them is
    allocated at the first request."""
    conjecture_tokens: Positive = 128
    """Longest conjecture in tokens, and never more than half of the network's context; longer ones are cut off and
    marked. Its prompt may use the rest of the context."""
    prompt_tokens: Natural = 0
    """Most prompt tokens in one forward pass (one prompt always fits), so that running completions do not wait long;
    0: 1,024 on a CPU, 8,192 on a GPU."""
    remember: Natural = 64
    """MiB of prefilled states kept for each weight version, least recently used dropped first (the demo: about
    0.4 MiB a state); 0: none."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Precision of matrices, keys and values; auto: bfloat16 where the hardware computes in it (a GPU; a CPU with
    AVX512-BF16 or AMX), else float32."""
    graphs: Literal["auto", "on", "off"] = "auto"
    """Capture passes without prompts as CUDA graphs of rounded sizes; auto: on a GPU. On a CPU it has no benefit."""


@dataclass
class InferenceSettings:
    """An inference node: answers tactic requests in batches, or serves a third-party language model."""

    weights: str = ""
    """Weights to serve without a learner: a weights file, a checkpoint's folder, or a run's folder (its newest whole
    checkpoint), with or without the prefix `own:`. Empty: follow the versions that the learner announces."""
    model: str = ""
    """Serve a third-party language model in place of a network: `openai:URL#MODEL` (asks servers with an
    OpenAI-compatible API; `|` joins several; the key is $PROOFMESH_OPENAI_KEY or $OPENAI_API_KEY) or
    `hf:ID_OR_FOLDER+ADAPTER` (runs here, in transformers). Provers ask for it as `openai:MODEL` or
    `hf:ID_OR_FOLDER+ADAPTER`."""
    follow: str = ""
    """Serve the language model that the run announces (`proofmesh stp` does so after each training), and `model` until
    then: a folder below this one, or another name on the servers of `model`. Empty: `model` alone."""
    models: ModelSettings = field(default_factory=ModelSettings)
    """How a language model is run and asked."""
    device: str = "auto"
    """Where the network runs: `auto` (a GPU if there is one, else the CPU), `cpu`, `cuda`, `cuda:1`, ..."""
    threads: Natural = 0
    """Threads of a forward pass on the CPU; 0: half the cores, because Lean needs the other half."""
    queue: Positive = 256
    """Most requests at a time, running ones included; further requests get "busy"."""
    versions: Positive = 3
    """Weight versions kept in memory: the latest and those pinned for evaluation, least recently used dropped first."""
    cache: str = ""
    """Folder for weights files fetched from the object store; empty: a temporary one, deleted at the end."""
    pause_wait: Duration = 10.0
    """Seconds that a request waits for the end of a pause before it gets Busy with the reason "paused". Must be shorter
    than the callers' timeout."""
    engine: EngineSettings = field(default_factory=EngineSettings)
    """Sizes of the generation engine."""

    def check(self) -> None:
        """Raises ValueError for a model name that cannot be parsed, and for settings that contradict each other."""
        from node.llm.address import BadModel
        from node.llm.models import parse_model

        if not self.model:
            if self.follow:
                raise ValueError("follow: name the language model that is served first (model)")
            return
        if self.weights:
            raise ValueError("a node serves a network (weights) or a language model (model), not both")
        try:
            parse_model(self.model)
        except BadModel as error:
            raise ValueError(f"model: {error}") from error
