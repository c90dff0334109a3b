"""The command `proofmesh models`.

`list` and `show` print the prompt templates of prover families. `try` sends one prompt and prints the completions.
`export` and `import` convert proofmesh's own networks to Hugging Face's format and back. `update` loads new weights
into running servers.

Exit codes: 0 success; 1 `try` got no usable completion; 2 the template, the theorem, the server or the folder cannot be
used.
"""

from __future__ import annotations

import asyncio
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from common.limits import Factor, Natural, Positive, Timeout
from common.output.command import Exit, UserError, refuse
from common.output.visible import say
from node.llm.settings import ModelSettings

if TYPE_CHECKING:
    from common.lean import Theorem
    from node.llm.address import ModelAddress
    from node.llm.outputs import Parsed
    from node.llm.sampling import Decoding, Prompt, Sample
    from node.llm.templates import Template
    from node.llm.updating import Servers
    from node.model.hub.conversion import Origin

USAGE = """proofmesh models list                      known families of prover models
proofmesh models show ID                   the template of a family, as TOML
proofmesh models show ID --prompt TEXT     only the exact prompt for a proof state or a statement
proofmesh models try ID TEXT --policy openai:URL#MODEL     prompt a model (or hf:FOLDER), show its completions
proofmesh models update openai:URL#MODEL FOLDER     load new weights or a LoRA adapter into running vLLM servers
proofmesh models export own:PATH FOLDER    write one of our networks as a folder in Hugging Face's format
proofmesh models import FOLDER CHECKPOINT  read such a folder back, also after training with transformers
ID: a name from the list, a model's id (Goedel-LM/Goedel-Prover-V2-8B), or your own .toml file.
Add --help to a command for its options."""


@dataclass
class ListSettings:
    """List the known families of prover models."""


@dataclass
class ShowSettings:
    """Print a template, or a prompt made from it."""

    id: Annotated[str, tyro.conf.Positional]
    """Name of a template (`proofmesh models list`), id of a model, or a .toml file."""

    prompt: str = ""
    """A proof state (`⊢ ...`) or a statement (`theorem ...`), whichever the family reads; `-` reads it from standard
    input. Prints only the prompt: the text, or the messages of a conversation as JSON."""

    raw: bool = False
    """Print a conversation as the single text that the model reads, if the family's chat template is known."""

    problem: str = ""
    """The theorem in natural language, for families that read it."""

    header: str = ""
    """Commands before the statement; by default the family's own."""

    name: str = "theorem_1"
    """The theorem's name, for step provers that read it."""

    steps: list[str] = field(default_factory=list)
    """Tactics that led to the state, for step provers that read them."""


@dataclass
class TrySettings:
    """Prompt a model: show its completions, the tactics or proofs parsed from them, and why others are rejected."""

    id: Annotated[str, tyro.conf.Positional]
    """Name of a template (`proofmesh models list`), id of a model, or a .toml file."""

    text: Annotated[str, tyro.conf.Positional]
    """A statement (`theorem ...`) or a proof state (`⊢ ...`), whichever the family reads; `-`: standard input."""

    policy: str
    """Where the model is: `openai:URL#MODEL`, or `hf:ID_OR_FOLDER`."""

    samples: Positive = 1
    """Completions to request."""

    seed: Natural = 0
    """Seed of the sampling. If the server supports seeds, equal seeds give equal completions."""

    temperature: Factor | None = None
    """Temperature; by default the family's."""

    max_tokens: Natural = 0
    """Maximum tokens of a completion; 0: the family's."""

    problem: str = ""
    """The theorem in natural language, for families that read it."""

    header: str = ""
    """Commands before the statement; by default the family's own."""

    name: str = "theorem_1"
    """The theorem's name, for step provers that read it."""

    steps: list[str] = field(default_factory=list)
    """Tactics that led to the state, for step provers that read them."""

    models: ModelSettings = field(default_factory=lambda: ModelSettings(patience=30.0))
    """How the model is run and prompted."""


def main(argv: Sequence[str]) -> int:
    """Entry point of `proofmesh models`; returns the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE)
        return Exit.DONE if argv else Exit.UNUSABLE
    name, arguments = argv[0], list(argv[1:])
    commands: dict[str, tuple[Any, Callable[[Any], int]]] = {
        "list": (ListSettings, list_all),
        "show": (ShowSettings, show),
        "try": (TrySettings, try_model),
        "update": (UpdateSettings, update),
        "export": (ExportSettings, export),
        "import": (ImportSettings, import_),
    }
    try:
        if name not in commands:
            raise UserError(f"unknown command `{name}`; use list, show, try, export, import or update")
        settings, run = commands[name]
        return run(tyro.cli(settings, args=arguments, prog=f"proofmesh models {name}"))
    except UserError as error:
        return refuse("proofmesh models", error, error.exit_code)


def list_all(_: ListSettings) -> int:
    """Print each family with its models below it, each on a line that fits: names are copied from here."""
    from node.llm.templates import families

    for each in families():
        say(f"{each.name:<26}{each.mode}, {each.kind} prompt")
        for model in each.models or ("no models: only when named",):
            say(f"    {model}{' (only when named)' * (each.by_name_only and bool(each.models))}")
    return Exit.DONE


def show(settings: ShowSettings) -> int:
    """Print a template, or the exact bytes of a prompt."""
    from node.llm.prompts import raw_text
    from node.llm.templates import find, text_of

    template = find(settings.id)
    if not settings.prompt:
        _write(text_of(settings.id, template))
        return Exit.DONE
    prompt = prompt_for(template, settings, argument_or_input(settings.prompt))
    _write(raw_text(template, prompt) if settings.raw or not prompt.messages else as_json(prompt))
    if prompt.dropped:
        aside = f"{prompt.dropped} hypotheses left out: {template.name} reads {template.limits.prompt:,} tokens"
        say(aside, file=sys.stderr)
    return Exit.DONE


def argument_or_input(text: str) -> str:
    """The text of a command-line argument; for `-`, standard input."""
    return sys.stdin.read() if text == "-" else text


def prompt_for(template: Template, settings: ShowSettings | TrySettings, text: str) -> Prompt:
    """The prompt for a state or a statement. Raises UserError."""
    from node.llm.prompts import proof_prompt, tactic_prompt

    if template.mode == "whole-proof":
        return proof_prompt(template, _statement(text, settings.header), problem=settings.problem)
    if "⊢" not in text:
        raise UserError(
            f"`{template.name}` reads proof states; write hypotheses, then `⊢ CONCLUSION`, instead of "
            f"{text.strip()[:60]!r}"
        )
    return tactic_prompt(template, text.strip("\n"), name=settings.name, steps=settings.steps)


def _statement(text: str, header: str) -> Theorem:
    """The theorem that a text states. Raises UserError."""
    from node.lean.text.statement import StatementError, parse_statement

    try:
        return parse_statement(text, header)
    except StatementError as error:
        raise UserError(str(error)) from error


def as_json(prompt: Prompt) -> str:
    """The messages of a conversation as JSON, in the form that servers accept."""
    import json

    messages = [{"role": each.role, "content": each.content} for each in prompt.messages]
    return json.dumps(messages, ensure_ascii=False, indent=1) + "\n"


def _note(text: str) -> None:
    """Print a message about servers on standard error."""
    refuse("proofmesh models", text)


def _write(text: str) -> None:
    """Write the exact bytes: no added line break, and non-UTF-8 arguments unchanged."""
    sys.stdout.buffer.write(text.encode(errors="surrogateescape"))
    sys.stdout.buffer.flush()


# ----------------------------------------------------------------------------------------------------------------------
# `proofmesh models try`


def try_model(settings: TrySettings) -> int:
    """Run the command; returns its exit code."""
    from node.llm.models import as_run, parse_model
    from node.llm.templates import find

    if settings.temperature is not None and not 0 <= settings.temperature <= 2:
        raise UserError(f"--temperature {settings.temperature:g}: choose a value between 0 and 2")
    address = parse_model(settings.policy)
    template = as_run(address, find(settings.id), settings.models)
    text = argument_or_input(settings.text)
    prompt = prompt_for(template, settings, text)
    theorem = _statement(text, settings.header) if template.mode == "whole-proof" else None
    samples = asyncio.run(_tried(settings, address, template, prompt))
    say(f"prompt ({template.name})".ljust(78, "─"))
    say(prompt.text or as_json(prompt), indent="")
    usable = [_show_sample(number, sample, template, theorem, text) for number, sample in enumerate(samples, 1)]
    say(f"{sum(usable)} of {len(usable)} answers kept")
    return Exit.DONE if any(usable) else Exit.FAILED


async def _tried(settings: TrySettings, address: ModelAddress, template: Template, prompt: Prompt) -> Sequence[Sample]:
    from node.llm.models import open_model

    async with open_model(address, settings.models, template=template, note=_note) as sampler:
        return await sampler.sample(prompt, settings.samples, settings.seed, _decoding(settings, template))


def _decoding(settings: TrySettings, template: Template) -> Decoding:
    decoding = template.decoding
    if settings.temperature is not None:
        decoding = replace(decoding, temperature=settings.temperature)
    return replace(decoding, max_tokens=settings.max_tokens or decoding.max_tokens)


def _show_sample(number: int, sample: Sample, template: Template, theorem: Theorem | None, asked: str) -> bool:
    """Print a completion and what was parsed from it; returns whether it is usable."""
    from node.llm.outputs import parse_proof, parse_tactic, score
    from node.llm.prompts import with_own_names

    length = f"{sample.token_count:,} tokens{', cut' if sample.cut else ''}"
    say(f"answer {number} ({length})".ljust(78, "─"))
    say(sample.text, indent="")
    parsed = parse_tactic(template, sample) if theorem is None else parse_proof(template, sample, theorem)
    kind = "tactic" if theorem is None else "proof"
    say(f"{kind if parsed.text else 'dropped'} of answer {number}{_why(parsed)}".ljust(78, "─"))
    if parsed.text:
        say(parsed.text if theorem else with_own_names(template, asked, parsed.text), indent="")
    log_probability = score(template, sample, parsed) if theorem is None else None
    if log_probability is not None:
        say(f"log-probability ({template.score} over tokens): {log_probability:.4g}")
    return bool(parsed.text)


def _why(parsed: Parsed) -> str:
    return f" ({parsed.problem}: {parsed.problem.explanation})" if parsed.problem is not None else ""


# ----------------------------------------------------------------------------------------------------------------------
# `proofmesh models update`


@dataclass
class UpdateSettings:
    """Load the weights of a folder into vLLM servers without a restart, or a LoRA adapter under a separate name."""

    model: Annotated[str, tyro.conf.Positional]
    """The servers and the model: `openai:URL#MODEL`, or `openai:URL|URL#MODEL`."""

    folder: Annotated[Path | None, tyro.conf.Positional] = None
    """Weights in Hugging Face's format, or a LoRA adapter. The servers must see the folder under the same path. Without
    a folder, paused servers resume."""

    version: str = ""
    """Version name of the weights; by default the folder's name. An adapter becomes the model MODEL-VERSION."""

    mode: Literal["wait", "keep", "abort"] = "wait"
    """Requests in flight: `wait` finishes them before the update, `keep` finishes them with the new weights, `abort`
    aborts them, and their clients retry. Adapters do not pause the servers."""

    remove: bool = False
    """Unload the adapter of this version instead."""

    seconds: Timeout = 600.0
    """Timeout of one step on one server."""


def update(settings: UpdateSettings) -> int:
    """Run the command; returns its exit code: 0 success, 1 some servers failed, 2 wrong arguments."""
    from node.llm.address import parse_address
    from node.llm.updating import Servers

    servers = Servers(parse_address(settings.model), settings.seconds, _note)
    say(asyncio.run(_updated(settings, servers)))
    return Exit.DONE


async def _updated(settings: UpdateSettings, servers: Servers) -> str:
    """Carry out the command; returns the text to print."""
    from node.llm import updating

    model, count = servers.address.model, len(servers.address.urls)
    of_servers = f"{count} server{'s' if count > 1 else ''}"
    if settings.remove:
        if not settings.version:
            raise UserError("--remove: name the adapter's version with --version")
        name = updating.adapter_name(model, settings.version)
        await updating.remove_adapter(servers, name)
        return f"{name} is unloaded from {of_servers}"
    if settings.folder is None:
        await updating.resume_only(servers)
        return f"resumed {of_servers} of {model}"
    folder = settings.folder.absolute()
    version = settings.version or folder.name
    if updating.is_adapter(folder):
        name = updating.adapter_name(model, version)
        await updating.add_adapter(servers, folder, name)
        urls = "|".join(servers.address.urls)
        return f"loaded by {of_servers}: --policy 'openai:{urls}#{name}@TEMPLATE'"
    await updating.update_weights(servers, folder, version, settings.mode)
    return f"{of_servers} of {model} answer with {version} now"


# ----------------------------------------------------------------------------------------------------------------------
# `proofmesh models export` and `import`: proofmesh's own networks in Hugging Face's format and back.

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


def export(settings: ExportSettings) -> int:
    """Write the folder; returns the exit code."""
    from node.llm.servers import INSTALL
    from node.model.checkpoint import read_weights
    from node.model.checkpoint_folders import CheckpointError, weights_at
    from node.model.hub.folders import FolderExists, check_free
    from node.model.weights import WeightsError

    # 1. The folder is checked first: reading the weights takes longer.
    if ":" in settings.network and not settings.network.startswith(OWN):
        raise UserError(f"`{settings.network}` is not one of proofmesh's own networks; write own:PATH")
    try:
        check_free(settings.folder, force=settings.force)
        path = weights_at(Path(settings.network.removeprefix(OWN)), _say_aside)
        weights = read_weights(path)
    except (FolderExists, CheckpointError, WeightsError) as error:
        raise UserError(str(error)) from error
    try:
        # 2. Only here transformers is needed, which an installation without models does not have.
        from node.model.hub.conversion import export as write
    except ImportError as error:
        raise UserError(f"Hugging Face's format needs the package `{error.name}`; run {INSTALL}") from error
    try:
        # 3. Write, with the run and the step that the weights come from.
        origin = origin_of(path, weights.information)
        write(weights.model, weights.tokenizer, settings.folder, origin, force=settings.force)
    except FolderExists as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(_not_written(settings.folder, error)) from error
    say(f"{settings.folder}: {weights.model.parameter_count():,} parameters of step {origin.step:,}, from {path}")
    say(f"use it: proofmesh prove --policy hf:{settings.folder} 'theorem ...'")
    return Exit.DONE


def import_(settings: ImportSettings) -> int:
    """Write the checkpoint; returns the exit code."""
    from node.model import checkpoint
    from node.model.checkpoint_folders import PROOFS_KEY, STATE
    from node.model.hub.conversion import BadFolder, read_folder
    from node.model.hub.folders import FolderExists, check_free

    try:
        check_free(settings.out, force=settings.force, holds=(STATE,))
        imported = read_folder(settings.folder)
        config = {PROOFS_KEY: True} if imported.proofs else None
        checkpoint.save(settings.out, imported.model, imported.tokenizer, step=imported.step, config=config)
    except (FolderExists, BadFolder) as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(_not_written(settings.out, error)) from error
    say(f"{settings.out}: a checkpoint of {imported.model.parameter_count():,} parameters, step {imported.step:,}")
    say(f"use it: proofmesh prove --policy own:{settings.out} 'theorem ...'")
    return Exit.DONE


def origin_of(path: Path, information: dict[str, str]) -> Origin:
    """The origin of weights: their training step, and their run's configuration and evaluations."""
    from common import curves
    from node.model.checkpoint_folders import check
    from node.model.hub.conversion import Origin

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


def _say_aside(text: str) -> None:
    say(text, file=sys.stderr)
