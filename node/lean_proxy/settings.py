"""Configuration of a lean-proxy."""

from __future__ import annotations

from dataclasses import dataclass

from node.lean.settings import LeanProcessSettings


@dataclass
class LeanProxySettings(LeanProcessSettings):
    """A lean-proxy runs tactics on its Lean processes, and verifies proofs in fresh ones."""
