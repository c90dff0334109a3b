"""Reads a recipe of self-play from a TOML file.

[run]                        name and folder, as for a mesh
[stp]                        `StpSettings`
[initial], [round], [final]  settings of `proofmesh train sft` for the three trainings; of `hf-sft` with [stp] model
other sections               configure the mesh: [up], [inference], [prover], [lean_proxy], ...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from common import config
from common.config import ConfigError
from common.protocol.subjects import check_run_name
from common.settings import RunSettings
from node.stp.model_training import TUNING_OWN, tuning_of
from node.stp.models import absolute
from node.stp.settings import StpSettings
from node.training.settings import STAGES, StageSettings
from node.tuning.sft_settings import SftSettings

BANK = "bank"
"""Value of the setting `data` for the bank of this repository, prepared in the run's folder."""

TRAININGS = ("initial", "round", "final")
"""Sections of the trainings: stage 1, each round of stage 2, and stage 3 of the paper."""

FOCUS = "focus"
"""Folder of the runs focused on single statements, in the folder of the run that they start from."""

OWN = ("data", "run", "directory", "start", "seed")
"""Settings of a training that the run chooses."""


@dataclass(frozen=True)
class StpPlan:
    """The content of a recipe."""

    name: str
    directory: Path
    """The run's folder."""
    settings: StpSettings
    trainings: Mapping[str, StageSettings]
    """Trainings of our own network, by section. Data and folders are chosen later, and steps except for `initial`."""
    mesh: Mapping[str, Any]
    """Sections of the mesh's configuration."""
    tunings: Mapping[str, SftSettings] = field(default_factory=dict)
    """Trainings of a published language model, by section. Either this or `trainings` is empty."""

    @property
    def stages(self) -> Mapping[str, StageSettings | SftSettings]:
        """Settings of the trainings, by section."""
        return self.tunings or self.trainings


def read_plan(file: Path, changes: Mapping[str, Any] = {}) -> StpPlan:
    """Read a recipe. `changes`: values of flags for [run] and [stp]. Raises ConfigError, BadRunName."""
    content = config.read_toml(file)
    for section, table in content.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: {section}: expected a section [{section}], got a value")
        if section not in (*TRAININGS, "stp", *config.SECTIONS):
            raise ConfigError(f"{file}: [{section}]: unknown section")
        if section == "learner":
            raise ConfigError(f"{file}: [learner]: self-play has no learner; use the sections {', '.join(TRAININGS)}")
    content = config.merged(content, changes)
    run = config.convert(RunSettings, content.get("run", {}), f"{file}: [run]")
    settings = config.convert(StpSettings, content.get("stp", {}), f"{file}: [stp]")
    if settings.data != BANK:  # absolute, because a run may be resumed from another folder
        settings = replace(settings, data=str(Path(settings.data).absolute()))
    if settings.base and not settings.model:
        raise ConfigError(f"{file}: [stp] base: also name the model that is sampled ([stp] model)")
    settings = replace(
        settings,
        model=absolute(settings.model),
        base=absolute(settings.base),
        template=absolute(settings.template),
    )
    trainings, tunings = {}, {}
    for name in TRAININGS:
        table = content.get(name, {})
        if settings.model:
            tunings[name] = _tuning(file, name, table)
        else:
            trainings[name] = _training(file, name, table)
    if len({tuning.lora.on for tuning in tunings.values()}) > 1:
        raise ConfigError(
            f"{file}: lora.on differs between [initial], [round] and [final]; set it equally, because an adapter only "
            "fits the model that it was trained on"
        )
    mesh = {section: table for section, table in content.items() if section not in ("stp", *TRAININGS)}
    name = check_run_name(run.name)
    return StpPlan(name, Path(run.dir).absolute() / name, settings, trainings, mesh, tunings)


def _tuning(file: Path, section: str, table: Mapping[str, Any]) -> SftSettings:
    """Raises ConfigError."""
    for key in TUNING_OWN:
        if key in table:
            raise ConfigError(f"{file}: [{section}] {key}: the run chooses it; leave it out")
    return tuning_of(table, f"{file}: [{section}]")


def _training(file: Path, section: str, table: Mapping[str, Any]) -> StageSettings:
    """Raises ConfigError."""
    for key in OWN:
        if key in table:
            raise ConfigError(f"{file}: [{section}] {key}: the run chooses it; leave it out")
    chosen = config.merged(config.table_of(STAGES["sft"]), table)
    settings = config.convert(StageSettings, chosen, f"{file}: [{section}]")
    try:
        settings.check()
    except ValueError as error:
        raise ConfigError(f"{file}: [{section}]: {error}") from error
    return replace(settings, data=replace(settings.data, sources=(), held_out=0))
