"""`proofmesh models export` and `import`: convert proofmesh's own networks to Hugging Face's format and back."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from common.output.visible import say
from node.llm.command import DONE, unusable
from node.llm.servers import INSTALL

if TYPE_CHECKING:
    from node.model.hub.exporting import Origin

OWN = "own:"


@dataclass
class ExportSettings:
    """Write one of proofmesh's own networks as a folder in Hugging Face's format: weights, model code, tokenizer and
    model card."""

    network: Annotated[str, tyro.conf.Positional]
    """`own:PATH`, where PATH is a run's folder, a checkpoint or a weights file."""

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder to write."""

    force: bool = False
    """Replace the folder if it exists."""


@dataclass
class ImportSettings:
    """Make a checkpoint from an exported folder, also after further training with transformers."""

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder in Hugging Face's format."""

    out: Annotated[Path, tyro.conf.Positional]
    """Checkpoint folder to write; `own:OUT` then uses it."""

    force: bool = False
    """Replace the checkpoint if it exists."""


def convert(name: str, rest: Sequence[str], prog: str) -> int:
    """Run `export` or `import`; returns the exit code."""
    if name == "export":
        return export(tyro.cli(ExportSettings, args=rest, prog=prog))
    return import_(tyro.cli(ImportSettings, args=rest, prog=prog))


def export(settings: ExportSettings) -> int:
    """Write the folder; returns the exit code."""
    from node.model.checkpoint_folders import CheckpointError
    from node.model.hub.folders import FolderExists, check_free
    from node.model.loading import read_weights
    from node.model.weights import WeightsError
    from node.model.weights_path import weights_at

    if ":" in settings.network and not settings.network.startswith(OWN):
        return unusable(f"`{settings.network}` is not one of proofmesh's own networks; write own:PATH")
    try:
        check_free(settings.folder, force=settings.force)
        path = weights_at(Path(settings.network.removeprefix(OWN)), _note)
        weights = read_weights(path)
    except (FolderExists, CheckpointError, WeightsError) as error:
        return unusable(str(error))
    try:
        from node.model.hub.exporting import NotExportable
        from node.model.hub.exporting import export as write
    except ImportError as error:
        return unusable(f"Hugging Face's format needs the package `{error.name}`; run {INSTALL}")
    try:
        origin = origin_of(path, weights.information)
        write(weights.model, weights.tokenizer, settings.folder, origin, force=settings.force)
    except NotExportable as error:
        return unusable(f"{path} cannot be exported: {error}")
    except FolderExists as error:
        return unusable(str(error))
    except OSError as error:
        return unusable(_not_written(settings.folder, error))
    say(f"{settings.folder}: {weights.model.parameter_count():,} parameters of step {origin.step:,}, from {path}")
    say(f"use it: proofmesh prove --policy hf:{settings.folder} 'theorem ...'")
    return DONE


def import_(settings: ImportSettings) -> int:
    """Write the checkpoint; returns the exit code."""
    from node.model import checkpoint
    from node.model.checkpoint_folders import STATE
    from node.model.hub.folders import FolderExists, check_free
    from node.model.hub.importing import BadFolder, read_folder
    from node.model.trained import PROOFS_KEY

    try:
        check_free(settings.out, force=settings.force, holds=(STATE,))
        imported = read_folder(settings.folder)
        config = {PROOFS_KEY: True} if imported.proofs else None
        checkpoint.save(settings.out, imported.model, imported.tokenizer, step=imported.step, config=config)
    except (FolderExists, BadFolder) as error:
        return unusable(str(error))
    except OSError as error:
        return unusable(_not_written(settings.out, error))
    say(f"{settings.out}: a checkpoint of {imported.model.parameter_count():,} parameters, step {imported.step:,}")
    say(f"use it: proofmesh prove --policy own:{settings.out} 'theorem ...'")
    return DONE


def origin_of(path: Path, information: dict[str, str]) -> Origin:
    """The origin of weights: their training step, and their run's configuration and evaluations."""
    from common import curves
    from node.model.checkpoint_folders import check
    from node.model.hub.exporting import Origin

    if not path.is_dir():
        step = information.get("step", "0")
        return Origin(int(step) if step.isdigit() else 0, dict(information))
    state = check(path)
    run = path.parent.parent
    training = state["config"] or _learner_of(run)
    of_step = [each for each in curves.read_evaluations(run / curves.EVALUATIONS) if each.step == state["step"]]
    if not of_step:
        return Origin(state["step"], training)
    last = of_step[-1]
    decided = last.statements - last.undecided
    text = f"It proved {last.solved} of {decided} held-out theorems with {last.simulations} simulations each."
    return Origin(state["step"], training, text)


def _learner_of(run: Path) -> dict[str, Any]:
    """The learner's configuration in a run's config.toml, which checkpoints do not repeat; empty if there is none."""
    try:
        config = tomllib.loads((run / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    learner = config.get("learner")
    return learner if isinstance(learner, dict) else {}


def _not_written(out: Path, error: OSError) -> str:
    return f"{out} cannot be written: {error.strerror} ({error.filename})"


def _note(text: str) -> None:
    say(text, file=sys.stderr)
