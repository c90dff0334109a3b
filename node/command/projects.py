"""Finds the Lake project of Lean files, which determines their Lean version."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from common.settings import LeanSettings

LAKE_FILES = ("lakefile.toml", "lakefile.lean")


def project_of(path: Path) -> Path | None:
    """The Lake project of a path: the path itself or the nearest parent with a lakefile; None if there is none."""
    absolute = Path(os.path.realpath(path))  # also where links lead in a circle
    for folder in (absolute, *absolute.parents):
        if any((folder / name).is_file() for name in LAKE_FILES):
            return folder
    return None


def lean_for(lean: LeanSettings, paths: Iterable[Path]) -> LeanSettings:
    """The settings. If they name no project or toolchain, the project of the first path in one is added."""
    if lean.project or lean.toolchain:
        return lean
    project = next((folder for path in paths if (folder := project_of(path))), None)
    return replace(lean, project=str(project)) if project else lean
