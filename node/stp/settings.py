"""Settings of self-play, and its recipe, which is read from a TOML file:

[run]                        name and folder, as for a mesh
[stp]                        `StpSettings`; the defaults are STP's numbers (arXiv 2502.00212 and its code, kfdong/STP)
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
from common.limits import Duration, Factor, Natural, Positive, Ratio, Share, Temperature
from common.protocol.subjects import check_run_name
from common.settings import RunSettings
from node.llm.address import HUB_PREFIX
from node.training.settings import STAGES, StageSettings
from node.tuning.settings import SftSettings


@dataclass
class ConjecturerSettings:
    """Which conjectures are sampled, and which are trained on."""

    share: Share = 1.0
    """Maximum conjectures per round, as a share of the unproved statements; 0: no conjectures (expert iteration)."""
    seed_rate: Share = 0.35
    """A statement becomes a seed if more than this share of its samples in one round were correct."""
    empty_lemma: Share = 0.5
    """Probability that a seed is also used with the empty lemma, `theorem true : True`."""
    lemma_share: Share = 0.1
    """Maximum share of a round's seeds with the same lemma."""
    barely: Share = 0.25
    """Train on proved conjectures with a success rate below this."""
    needs_lemma: bool = True
    """Train only on conjectures whose proof invokes the lemma of their seed."""
    elegance_cut: Share = 0.2
    """Share of each lemma's conjectures that is not trained on: those with the lowest elegance (length of the shortest
    proof divided by length of the statement)."""
    reweight: bool = True
    """Weight conjectures by the number of unproved statements that embeddings match to them."""
    temperature: Temperature = 1.0
    """Sampling temperature of conjectures."""
    most: Natural = 0
    """Maximum conjectures per round, which overrides `share`; 0: use `share`."""


@dataclass
class ProverSettings:
    """How statements and conjectures are proved, and which proofs are trained on."""

    first_samples: Positive = 64
    """Proofs sampled for each statement in the first round."""
    samples: Positive = 32
    """Proofs sampled for each statement and conjecture in later rounds."""
    again: Share = 0.05
    """Probability that a solved statement is attempted again in a round."""
    temperature: Temperature = 1.0
    """Sampling temperature of proofs."""
    rate_limit: Share = 0.5
    """Statements with a higher success rate in a round are not trained on."""
    per_character: Factor = 0.001
    """A proof of n characters that took t seconds weighs exp(-per_character n - per_second t), divided by the number of
    distinct proofs of its statement."""
    per_second: Factor = 0.01
    """See `per_character`."""
    replay: Positive = 3
    """Number of latest rounds whose data is trained on, including the current one."""


@dataclass
class TrainingSettings:
    """The amount of data for each round's training. The three trainings are configured in separate sections."""

    epochs: Ratio = 1.0
    """Epochs of a training; [initial] sets its own number of steps."""
    initial: Share = 0.0
    """Share of the initial data's proofs and pairs that is added to each round's data, drawn anew each time; STP adds
    none."""


@dataclass
class EvaluationSettings:
    """Evaluation on statements of the test split: after the first and the last training, and in between."""

    samples: Natural = 32
    """Proofs sampled for each statement; 0: no evaluations."""
    statements: Natural = 0
    """Number of statements, from the start of the split; 0: all."""
    every: Natural = 0
    """Also evaluate after every round whose number is divisible by this; 0: after none."""


@dataclass
class FinalSettings:
    """The last stage: training from the base network on everything verified."""

    train: bool = True
    """Whether a cycle ends with this training."""
    proofs: Positive = 16
    """Maximum distinct proofs per statement."""
    rate_limit: Share = 0.25
    """Conjectures with a higher success rate are left out."""


@dataclass
class StpSettings:
    """Self-play of a conjecturer and a prover."""

    data: str = "bank"
    """Folder written by `proofmesh stp prepare`; `bank`: prepare the bank of this repository."""
    model: str = ""
    """A published language model in Hugging Face's format as conjecturer and prover: `openai:URL#MODEL` (on servers
    that run vLLM; `|` joins several), or `hf:ID_OR_FOLDER` (with transformers, in the inference nodes). Empty: our own
    network. With a model, [initial], [round] and [final] are settings of `proofmesh train hf-sft`."""
    base: str = ""
    """The model that the first training of `model` starts from: a folder or a hub id, with `+ADAPTER` after it if it
    has an adapter. Empty: the model in `model`."""
    template: str = "stp"
    """Prompt template of `model`: a family from `proofmesh models list` with an open code block, or a .toml file. The
    conjecturer's text is in the same block. Its `max_tokens` limits proofs and conjectures."""
    rounds: Positive = 24
    """Rounds (conjecture, prove, select, train) between two trainings from the base."""
    cycles: Positive = 1
    """Number of cycles; a cycle is a series of rounds, followed by a training from the base."""
    minutes: Duration = 0.0
    """Minutes of work after which no further round begins and the last stage follows; 0: no limit."""
    until_solved: bool = False
    """End as soon as all statements are solved, without a training from the base."""
    given: Share = 1.0
    """Share of the data's proofs for the first training, drawn by the seed. Statements of the other proofs are to be
    proved, like those without a proof."""
    statements: Natural = 0
    """Number of statements of the data set to use, drawn by the seed; 0: all."""
    seed: Natural = 0
    """Seed of all random choices."""
    tracker: str = ""
    """Trackers that get the numbers of each round, too: `tensorboard`, `trackio:PROJECT`, `wandb:PROJECT`, or several
    with commas. Each is an optional package (docs/operations.md)."""
    conjecturer: ConjecturerSettings = field(default_factory=ConjecturerSettings)
    """Conjectures."""
    prover: ProverSettings = field(default_factory=ProverSettings)
    """Proofs."""
    training: TrainingSettings = field(default_factory=TrainingSettings)
    """The rounds' trainings."""
    final: FinalSettings = field(default_factory=FinalSettings)
    """Training from the base."""
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    """Evaluation on the test split."""


# --- the recipe -------------------------------------------------------------------------------------------------------


BANK = "bank"
"""Value of the setting `data` for the bank of this repository, prepared in the run's folder."""

TRAININGS = ("initial", "round", "final")
"""Sections of the trainings: stage 1, each round of stage 2, and stage 3 of the paper."""

FOCUS = "focus"
"""Folder of the runs focused on single statements, in the folder of the run that they start from."""

SFT, HF_SFT = "sft", "hf-sft"
"""Trainers (`proofmesh train NAME`): of our own network, and of a published language model."""

DEFAULTS: Mapping[str, StageSettings | SftSettings] = {SFT: STAGES["sft"], HF_SFT: SftSettings(model="base")}
"""Default settings of a training, by trainer."""

CHOSEN = {
    SFT: ("data", "run", "directory", "start", "seed"),
    HF_SFT: (
        *("model", "from_scratch", "shape", "template", "data", "out", "seed", "kind", "other_template", "keep_out"),
        *("held_out", "dry_run", "fresh"),
    ),
}
"""Settings of a training that the run chooses, by trainer."""


@dataclass(frozen=True)
class StpPlan:
    """The content of a recipe."""

    name: str
    directory: Path
    """The run's folder."""
    settings: StpSettings
    trainings: Mapping[str, Any]
    """The trainer's settings by section: `StageSettings`, or `SftSettings`. Data and folders are chosen later; for our
    own network the steps too, except for `initial`."""
    mesh: Mapping[str, Any]
    """Sections of the mesh's configuration."""

    @property
    def trainer(self) -> str:
        """The name of the trainer."""
        return HF_SFT if self.settings.model else SFT


def read_plan(file: Path, changes: Mapping[str, Any] = {}) -> StpPlan:
    """Read a recipe. `changes`: values of flags for [run] and [stp]. Raises ConfigError, BadRunName."""
    # 1. Sections. A misspelt one would silently mean the defaults.
    content = config.read_toml(file)
    for section, table in content.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: {section}: expected a section [{section}], got a value")
        if section not in (*TRAININGS, "stp", *config.SECTIONS):
            raise ConfigError(f"{file}: [{section}]: unknown section")
        if section == "learner":
            raise ConfigError(f"{file}: [learner]: self-play has no learner; use the sections {', '.join(TRAININGS)}")
    # 2. Flags go over the file, then both are converted together: an error names the section.
    content = config.merged(content, changes)
    run = config.convert(RunSettings, content.get("run", {}), f"{file}: [run]")
    settings = config.convert(StpSettings, content.get("stp", {}), f"{file}: [stp]")
    if settings.data != BANK:  # absolute, because a run may be resumed from another folder
        # Paths become absolute for the same reason.
        settings = replace(settings, data=str(Path(settings.data).absolute()))
    if settings.base and not settings.model:
        raise ConfigError(f"{file}: [stp] base: also name the model that is sampled ([stp] model)")
    settings = replace(
        settings,
        model=absolute(settings.model),
        base=absolute(settings.base),
        template=absolute(settings.template),
    )
    # 3. Which trainer runs follows from whether another model is sampled.
    trainer = HF_SFT if settings.model else SFT
    trainings = {name: _training(f"{file}: [{name}]", trainer, content.get(name, {})) for name in TRAININGS}
    if trainer == HF_SFT and len({training.lora.on for training in trainings.values()}) > 1:
        raise ConfigError(
            f"{file}: lora.on differs between [initial], [round] and [final]; set it equally, because an adapter only "
            "fits the model that it was trained on"
        )
    # 4. What is left configures the mesh's nodes.
    mesh = {section: table for section, table in content.items() if section not in ("stp", *TRAININGS)}
    name = check_run_name(run.name)
    return StpPlan(name, Path(run.dir).absolute() / name, settings, trainings, mesh)


def _training(where: str, trainer: str, table: Mapping[str, Any]) -> Any:
    """Read a training's section. Raises ConfigError."""
    for key in CHOSEN[trainer]:
        if key in table:
            raise ConfigError(f"{where} {key}: the run chooses it; leave it out")
    default = DEFAULTS[trainer]
    settings = config.convert(type(default), config.merged(config.table_of(default), table), where)
    if not isinstance(settings, StageSettings):
        return settings
    try:
        settings.check()
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error
    return replace(settings, data=replace(settings.data, sources=(), held_out=0))


def absolute(text: str) -> str:
    """Make the paths of existing files and folders in a model's or template's name absolute, because trainings and
    nodes run in other folders. Other names are unchanged."""
    prefix = HUB_PREFIX if text.startswith(HUB_PREFIX) else ""
    parts = text.removeprefix(prefix).split("+") if text else []
    paths = [str(Path(part).expanduser().absolute()) if Path(part).expanduser().exists() else part for part in parts]
    return prefix + "+".join(paths)
