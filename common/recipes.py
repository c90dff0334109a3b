"""Recipes and banks that come with proofmesh, found through the package system and not by relative paths."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def recipe(name: str) -> Path:
    """The path of `scripts/recipes/NAME.toml`."""
    return Path(str(resources.files("scripts"))) / "recipes" / f"{name}.toml"


def bundled_bank() -> Path:
    """The folder of the bank that comes with proofmesh."""
    return Path(str(resources.files("data"))) / "pocket"
