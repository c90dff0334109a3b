"""Sizes of the generation engine, apart from it so that reading a configuration does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

from common.limits import Positive


@dataclass(frozen=True)
class EngineSettings:
    """Sizes of the engine."""

    slots: Positive = 32
    """States that run at the same time."""
    cells: Positive = 32
    """Samples of one state at most."""
    new_tokens: Positive = 32
    """Longest tactic in tokens; longer completions are cut off and marked."""
    prompt_tokens: Positive = 1024
    """Prompt tokens that one forward pass takes in at most (one prompt always fits), so that running rows do not wait
    long."""
