"""Recipes and banks that come with proofmesh, found through the package system and not by relative paths."""

from __future__ import annotations

import importlib
from pathlib import Path


def recipe(name: str) -> Path:
    """The path of `scripts/recipes/NAME.toml`."""
    return _folder("scripts") / "recipes" / f"{name}.toml"


def bundled_bank(name: str = "pocket") -> Path:
    """The folder of a bank that comes with proofmesh."""
    return _folder("data") / name


def _folder(package: str) -> Path:
    """Where a package is. An editable installation may list a hook beside the folder, so the first folder counts."""
    return next(Path(place) for place in importlib.import_module(package).__path__ if Path(place).is_dir())
