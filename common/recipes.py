"""Paths of the recipes and banks that come with proofmesh. They are found as packages, not by relative paths."""

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
    """The folder of a package. An editable installation may also list a hook, so the first existing folder counts."""
    return next(Path(place) for place in importlib.import_module(package).__path__ if Path(place).is_dir())
