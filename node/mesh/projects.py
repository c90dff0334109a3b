"""Which Lake project files belong to, and so which Lean they are for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from common.lean_settings import LeanSettings

LAKE_FILES = ("lakefile.toml", "lakefile.lean")


def project_of(path: Path) -> Path | None:
    """The Lake project that a path is, or lies in; None where it lies in none."""
    place = path.resolve()
    for folder in (place, *place.parents):
        if any((folder / name).is_file() for name in LAKE_FILES):
            return folder
    return None


def lean_for(lean: LeanSettings, paths: Iterable[Path]) -> LeanSettings:
    """The settings, with the project of the first path that lies in one, unless they name a project or a toolchain."""
    if lean.project or lean.toolchain:
        return lean
    project = next((found for path in paths if (found := project_of(path))), None)
    return replace(lean, project=str(project)) if project else lean
