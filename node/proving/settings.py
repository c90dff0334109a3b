"""Settings of interactive proving: section [prove] of a configuration file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from common.limits import Natural, Samples
from common.protocol.attempts import MethodName, TreeMethod
from common.settings import SAMPLES
from node.llm.settings import ModelSettings

CLOSING = ("rfl", "assumption", "simp", "decide", "omega", "simp_all", "grind", "aesop", "norm_num", "ring")
"""Cheap ones first. Tactics that this Lean or project does not have are detected and skipped."""

SEARCHING = ("exact?",)
"""Lean's own search of the library; Mathlib has more."""


@dataclass
class ProvingSettings:
    """Settings of interactive proving."""

    policy: str = ""
    """The policy that proposes tactics: `own:PATH` (a checkpoint; for a run's folder its newest), `openai:URL#MODEL` (a
    language model on a server), `hf:ID_OR_FOLDER+ADAPTER` (a language model in this process; the adapter is optional),
    `tactics` (a fixed list), `tactics:FILE` (one tactic a line), `neighbours:RUN` (the list and the tactics of a run's
    proofs, by similarity of their states), or a mixture such as `own:PATH+tactics`, with shares
    such as `own:PATH*2+tactics`. Append `@TEMPLATE` to a model whose name does not determine its prompt template. With
    `own:PATH,tactics` two searches take turns. Empty: the list first, then the list with the newest checkpoint of
    runs/demo, if there is one. On a running mesh (--url): `inference` (its network), `openai:MODEL` or
    `hf:ID_OR_FOLDER` (a model that it serves), `tactics`, or a mixture of these; empty: the policy of its provers, a
    network together with the list. Whole proofs: a model that writes them, a network (`own:PATH`, `inference`) that was
    trained on whole proofs, or `proofs:FILE` (rows {"name", "proof"})."""

    method: MethodName = "mcts"
    """Search method: `mcts` (Monte Carlo tree search), `best-first` (the most likely path first), `random` (any open
    state), or `whole-proof` (no search: whole proofs are sampled, and Lean tries each)."""

    correct: Natural = 0
    """For `whole-proof`: most rounds of corrections. In each, a refused proof goes back to the model with Lean's
    errors. A correction counts as a sampled proof."""

    then: Literal["", TreeMethod] = ""
    """For `whole-proof`: the search that uses the second half of the budget. It starts from the correct beginnings of
    failed proofs. The policy has to propose tactics, too: `proofs:FILE+tactics`; a network does both. Empty: none."""

    premises: str = ""
    """Folder of an index of premises (`proofmesh premises index`). Lemmas of a library that are relevant for a state go
    into the prompts of models whose template has a place for them; with other policies they are proposed as tactics.
    Empty: none."""

    closing: list[str] = field(default_factory=lambda: list(CLOSING))
    """Tactics that are tried first, all in one batch. Tactics that this Lean does not know are skipped."""

    searching: list[str] = field(default_factory=lambda: list(SEARCHING))
    """Tactics that search the library, tried last. The proof contains Lean's suggestion, not the searching tactic."""

    allow: list[str] = field(default_factory=list)
    """The only tactics that a proof may have: heads (`rfl`, `rw`) and forms (`"rw [h*]"`, `"exact _"`); empty: all."""

    ban: list[str] = field(default_factory=list)
    """Tactics that no proof may have, such as `simp`, `omega`, `decide`."""

    samples: Samples = SAMPLES
    """Tactics that a network samples for each expansion; for `whole-proof`, proofs in one batch of requests."""

    models: ModelSettings = field(default_factory=ModelSettings)
    """How language models are run and prompted."""

    shorten: bool = True
    """Shorten a proof and give its hypotheses readable names before it is verified. Whole proofs are left unchanged."""

    @property
    def whole_proofs(self) -> bool:
        """Whether the method samples whole proofs."""
        return self.method == "whole-proof"
