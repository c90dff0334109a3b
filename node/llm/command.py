"""The command `proofmesh models`.

`list` and `show` print the prompt templates of prover families. `try` sends one prompt and prints the completions.
`export` and `import` convert proofmesh's own networks to Hugging Face's format and back. `update` loads new weights
into running servers.

Exit codes: 0 success; 1 `try` got no usable completion; 2 the template, the theorem, the server or the folder cannot be
used.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import tyro

from common.limits import Factor, Natural, Positive
from common.output.visible import say
from node.llm.settings import ModelSettings

if TYPE_CHECKING:
    from node.llm.sampling import Prompt
    from node.llm.templates import Template

DONE, NOTHING, UNUSABLE = 0, 1, 2

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
        return DONE if argv else UNUSABLE
    name, rest = argv[0], list(argv[1:])
    prog = f"proofmesh models {name}"
    if name == "list":
        tyro.cli(ListSettings, args=rest, prog=prog)
        return list_all()
    if name == "show":
        return show(tyro.cli(ShowSettings, args=rest, prog=prog))
    if name == "try":
        from node.llm.trying import try_model

        return try_model(tyro.cli(TrySettings, args=rest, prog=prog))
    if name == "update":
        from node.llm.update_command import UpdateSettings, update

        return update(tyro.cli(UpdateSettings, args=rest, prog=prog))
    if name in ("export", "import"):
        from node.llm.conversion import convert

        return convert(name, rest, prog)
    return unusable(f"unknown command `{name}`; use list, show, try, export, import or update")


def list_all() -> int:
    """Print each family with its models below it, each on a line that fits: names are copied from here."""
    from node.llm.templates import families

    for each in families():
        say(f"{each.name:<26}{each.mode}, {each.kind} prompt")
        for model in each.models or ("no models: only when named",):
            say(f"    {model}{' (only when named)' * (each.by_name_only and bool(each.models))}")
    return DONE


def show(settings: ShowSettings) -> int:
    """Print a template, or the exact bytes of a prompt."""
    from node.lean.text.statement import StatementError
    from node.llm.prompts import PromptTooLong, raw_text
    from node.llm.templates import TemplateError, find, text_of

    try:
        template = find(settings.id)
        if not settings.prompt:
            _write(text_of(settings.id, template))
            return DONE
        prompt = prompt_for(template, settings, argument_or_input(settings.prompt))
        _write(raw_text(template, prompt) if settings.raw or not prompt.messages else as_json(prompt))
    except (TemplateError, StatementError, PromptTooLong) as error:
        return unusable(str(error))
    if prompt.dropped:
        say(f"{prompt.dropped} hypotheses left out: {template.name} reads {template.limits.prompt:,} tokens",
              file=sys.stderr)  # fmt: skip
    return DONE


def argument_or_input(text: str) -> str:
    """The text of a command-line argument; for `-`, standard input."""
    return sys.stdin.read() if text == "-" else text


def prompt_for(template: Template, settings: ShowSettings | TrySettings, text: str) -> Prompt:
    """The prompt for a state or a statement. Raises StatementError, PromptTooLong, TemplateError."""
    from node.lean.text.statement import parse_statement
    from node.llm.prompts import proof_prompt, tactic_prompt
    from node.llm.templates import TemplateError

    if template.mode == "whole-proof":
        return proof_prompt(template, parse_statement(text, settings.header), problem=settings.problem)
    if "⊢" not in text:
        raise TemplateError(
            f"`{template.name}` reads proof states; write hypotheses, then `⊢ CONCLUSION`, instead of "
            f"{text.strip()[:60]!r}"
        )
    return tactic_prompt(template, text.strip("\n"), name=settings.name, steps=settings.steps)


def as_json(prompt: Prompt) -> str:
    """The messages of a conversation as JSON, in the form that servers accept."""
    import json

    messages = [{"role": each.role, "content": each.content} for each in prompt.messages]
    return json.dumps(messages, ensure_ascii=False, indent=1) + "\n"


def unusable(message: str) -> int:
    """Print an error message; returns the exit code."""
    say(f"proofmesh models: {message}", file=sys.stderr)
    return UNUSABLE


def _write(text: str) -> None:
    """Write the exact bytes: no added line break, and non-UTF-8 arguments unchanged."""
    sys.stdout.buffer.write(text.encode(errors="surrogateescape"))
    sys.stdout.buffer.flush()
