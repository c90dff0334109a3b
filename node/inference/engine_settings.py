"""Sizes of the generation engine, apart from it so that reading a configuration does not import torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineSettings:
    """Sizes of the engine."""

    slots: int = 32
    """States that run at the same time."""
    cells: int = 32
    """Samples of one state at most."""
    new_tokens: int = 32
    """Longest tactic in tokens; longer completions are cut off and marked."""
    prompt_tokens: int = 1024
    """Prompt tokens that one forward pass takes in at most (one prompt always fits), so that running rows do not wait
    long."""
