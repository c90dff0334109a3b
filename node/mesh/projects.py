"""Which Lake project files belong to: it brings its own Lean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from common.lean_settings import LeanSettings


def lean_for(lean: LeanSettings, paths: Sequence[Path]) -> LeanSettings:
    """Which Lean paths are to be read with: that of the first project, unless one is named."""
    projects = [found for path in paths if (found := project_of(path))]
    if projects and not lean.project and not lean.toolchain:
        return replace(lean, project=str(projects[0]))
    return lean


def project_of(path: Path) -> Path | None:
    """The Lake project that a path is, or lies in; None where it lies in none."""
    place = path.resolve()
    for folder in (place, *place.parents):
        if any((folder / name).is_file() for name in ("lakefile.toml", "lakefile.lean")):
            return folder
    return None
