"""`proofmesh models list`, `show` and `try`: how each family of prover models is asked, and what one answers; `export`
and `import`: networks of ours in Hugging Face's format, and back; `update`: new weights for running servers.

Exit code: 0 done; 1 `try` got nothing that could be kept; 2 the template, the theorem, the server or the folder cannot
be used.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import tyro

from common.limits import Factor, Natural, Positive
from node.llm.settings import ModelSettings

if TYPE_CHECKING:
    from node.llm.sampling import Prompt
    from node.llm.templates import Template

DONE, NOTHING, UNUSABLE = 0, 1, 2

USAGE = """proofmesh models list                      families of prover models that are known
proofmesh models show ID                   the template of a family, as TOML
proofmesh models show ID --prompt TEXT     the exact prompt for a proof state or a statement, and nothing else
proofmesh models try ID TEXT --policy openai:URL#MODEL     ask a model (or hf:FOLDER): its answer, and what is kept
proofmesh models update openai:URL#MODEL FOLDER     give running vLLM servers new weights, or a LoRA adapter
proofmesh models export own:PATH FOLDER    a network of ours as a folder in Hugging Face's format
proofmesh models import FOLDER CHECKPOINT  and back, also after it was trained on with transformers
ID: a name of the list, a model's id (Goedel-LM/Goedel-Prover-V2-8B), or a .toml file of yours.
Each says more with --help."""


@dataclass
class ListSettings:
    """List the families of prover models that are known."""


@dataclass
class ShowSettings:
    """Show a template, or the exact prompt that it makes."""

    id: Annotated[str, tyro.conf.Positional]
    """Name of a template (`proofmesh models list`), id of a model, or a .toml file."""

    prompt: str = ""
    """A proof state (`⊢ ...`) or a statement (`theorem ...`), as the family reads; `-` reads it from the standard
    input. Prints the prompt alone: the text, or the messages of a conversation as JSON."""

    raw: bool = False
    """Print a conversation as the one text that the model reads, where the family's chat template is known."""

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
    """Ask a model: what it answers, what is taken out of that, and why something is dropped."""

    id: Annotated[str, tyro.conf.Positional]
    """Name of a template (`proofmesh models list`), id of a model, or a .toml file."""

    text: Annotated[str, tyro.conf.Positional]
    """A statement (`theorem ...`) or a proof state (`⊢ ...`), as the family reads; `-`: the standard input."""

    policy: str
    """Where the model is: `openai:URL#MODEL`, or `hf:ID_OR_FOLDER`."""

    samples: Positive = 1
    """Answers to ask for."""

    seed: Natural = 0
    """Where the server knows seeds, equal ones give equal answers."""

    temperature: Factor | None = None
    """Instead of the family's."""

    max_tokens: Natural = 0
    """Most tokens of an answer; 0: the family's."""

    problem: str = ""
    """The theorem in natural language, for families that read it."""

    header: str = ""
    """Commands before the statement; by default the family's own."""

    name: str = "theorem_1"
    """The theorem's name, for step provers that read it."""

    steps: list[str] = field(default_factory=list)
    """Tactics that led to the state, for step provers that read them."""

    models: ModelSettings = field(default_factory=lambda: ModelSettings(patience=30.0))
    """How the model is run and asked."""


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
    return unusable(f"no command `{name}`; there are list, show, try, export, import and update")


def list_all() -> int:
    """Print a line for each family."""
    from rich.console import Console
    from rich.table import Table

    from node.llm.templates import families

    table = Table("name", "proves by", "prompt", "models")
    table.columns[0].no_wrap = True
    table.columns[-1].overflow = "fold"
    for each in families():
        models = [f"{model} (only when named)" if each.by_name_only else model for model in each.models]
        table.add_row(each.name, each.mode, each.kind, "\n".join(models) or "none: only when named")
    Console().print(table)
    return DONE


def show(settings: ShowSettings) -> int:
    """Print a template, or a prompt's bytes."""
    from node.lean.text.statement import StatementError
    from node.llm.prompts import PromptTooLong, raw_text
    from node.llm.templates import TemplateError, find, text_of

    try:
        template = find(settings.id)
        if not settings.prompt:
            _write(text_of(settings.id, template))
            return DONE
        prompt = prompt_for(template, settings, given(settings.prompt))
        _write(raw_text(template, prompt) if settings.raw or not prompt.messages else as_json(prompt))
    except (TemplateError, StatementError, PromptTooLong) as error:
        return unusable(str(error))
    if prompt.dropped:
        print(f"{prompt.dropped} hypotheses left out: {template.name} reads {template.limits.prompt:,} tokens",
              file=sys.stderr)  # fmt: skip
    return DONE


def given(text: str) -> str:
    """A text of the command line, or the standard input for `-`."""
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
            f"`{template.name}` reads proof states (hypotheses, then `⊢ CONCLUSION`), and this is none: "
            f"{text.strip()[:60]!r}"
        )
    return tactic_prompt(template, text.strip("\n"), name=settings.name, steps=settings.steps)


def as_json(prompt: Prompt) -> str:
    """The messages of a conversation, as servers take them."""
    import json

    messages = [{"role": each.role, "content": each.content} for each in prompt.messages]
    return json.dumps(messages, ensure_ascii=False, indent=1) + "\n"


def unusable(message: str) -> int:
    """Say what is wrong; returns the exit code."""
    print(f"proofmesh models: {message}", file=sys.stderr)
    return UNUSABLE


def _write(text: str) -> None:
    """The bytes alone: no line break of ours, and what the shell gave that is not UTF-8 as it came."""
    sys.stdout.buffer.write(text.encode(errors="surrogateescape"))
    sys.stdout.buffer.flush()
