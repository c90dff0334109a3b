"""`verify` in a session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.config import ConfigError, load_lean
from node.command.proofs.verdicts import Verdicts, reference_of, toolchain_of, verify_all
from node.command.proofs.verify import VerifySettings
from node.lean.check.files.sources import collect, from_text
from proofmesh.engine import Engine
from proofmesh.results import Verification
from proofmesh.settings import path_list, settings_of

TEXT = "text"
"""Name of a text without a file in verdicts."""


async def verify(engine: Engine, given: Mapping[str, Any], paths: tuple[Any, ...], text: str) -> Verification:
    """The verdicts on files, or on a text. Raises errors that `proofmesh.errors.public_errors` converts."""
    if bool(paths) == bool(text):
        raise ConfigError("verify: name files and folders, or give `text`, not both")
    file = Path(given["config"]) if given.get("config") else None
    default = VerifySettings(paths=(), lean=load_lean(file), config=file)
    settings = settings_of(default, {**given, "paths": path_list(paths)}, "verify")
    toolchain = await asyncio.to_thread(toolchain_of, settings)
    if settings.sandbox:
        toolchain = await toolchain.confined()
    reference = await asyncio.to_thread(reference_of, settings.against)
    at_once = settings.jobs or len(os.sched_getaffinity(0))
    verifier = await engine.verifier(toolchain, at_once, settings.seconds, settings.memory_mb)
    project = Path(toolchain.project) if toolchain.project else None
    groups = [[from_text(text, TEXT)]] if text else collect(settings.paths, project)
    verdicts = Verdicts(strict=settings.strict)
    shown = ", ".join(map(str, settings.paths))
    await verify_all(verifier, groups, reference, verdicts, everything=settings.all, shown=shown)
    return Verification(tuple(verdicts.rows), tuple(verdicts.notes))
