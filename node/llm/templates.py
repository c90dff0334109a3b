"""Prompt templates: how each family of prover models is prompted and how it answers, in one TOML file per family.

`node/llm/families` holds the templates of published families; users name their own by path. Templates are pure data:
the code that fills them (`node.llm.prompts`) and parses completions (`node.llm.outputs`) knows no model by name.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Annotated, Literal, get_args, get_type_hints

import msgspec

from common.output.command import UserError
from node.llm.sampling import Decoding
from node.model.checkpoint_folders import DIGITS

FAMILIES = Path(__file__).parent / "families"

TACTIC_FIELDS = frozenset({"state", "name", "steps", "premises"})
PROOF_FIELDS = frozenset({"statement", "name", "header", "informal_prefix", "problem"})
CORRECTION_FIELDS = frozenset({"round", "errors"})
MESSAGE_FIELDS = frozenset({"role", "content"})

_Tokens = Annotated[int, msgspec.Meta(ge=1)]


class TemplateError(UserError, ValueError):
    """The template does not exist, or its file is invalid; one line says what, where, and what to do."""


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a template's file."""


class StatementForm(_Record, frozen=True):
    """The form of statements in a whole-proof family's prompt."""

    header: str = ""
    """Commands before a statement that has no header itself."""
    ending: str = ":= by"
    """Text after the statement and one space."""


class OutputForm(_Record, frozen=True):
    """The form of a family's completions."""

    prefix: str = ""
    """Text at the start of a completion that is not part of the tactic."""
    echo: str = ""
    """The end of the prompt, for models that may repeat the prompt: the text up to it is removed."""
    stops: tuple[str, ...] = ()
    """Texts that end a completion."""
    remove: tuple[str, ...] = ()
    """Marks that are removed everywhere in a completion."""
    code: Literal["plain", "open", "last"] = "plain"
    """`plain`: the completion is the tactic. `open`: the prompt leaves a code block open, and the completion continues
    it. `last`: the completion is prose with code blocks, and the last complete one with a theorem is used."""


class Sampling(_Record, frozen=True):
    """The sampling parameters of the family's authors."""

    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)]
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)]
    max_tokens: _Tokens
    beams: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Width of the beam search that the family is published with; 0: it is sampled."""


class Limits(_Record, frozen=True):
    """Maximum lengths in tokens, as the family's authors state them, or else as the model's context allows."""

    prompt: _Tokens
    output: _Tokens
    token_bytes: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    """UTF-8 bytes per token, to estimate a prompt's length without a tokenizer. Lean's symbols have three bytes."""


class ChatText(_Record, frozen=True):
    """The form of a conversation as one text, if the model's chat template is known."""

    message: str
    """One message, with {role} and {content}."""
    answer: str
    """Text before the model's answer."""
    begin: str = ""
    """Text before the first message."""


class Template(_Record, frozen=True):
    """How a family is prompted, and the form of its completions."""

    title: str
    models: tuple[str, ...]
    """Ids of the models that the template is for; `*` matches any text."""
    sources: tuple[str, ...]
    """URLs of the model card, the paper and the scripts."""
    provenance: str
    """Where the template's text comes from, and which parts could not be confirmed."""
    mode: Literal["tactic", "whole-proof"]
    kind: Literal["raw", "chat"]
    template: str
    """The prompt, or the user's message, with named fields in braces."""
    sampling: Sampling
    limits: Limits
    system: str = ""
    """The system message of a conversation; empty: none."""
    by_name_only: bool = False
    """Whether this template is used only if it is named; otherwise these models get another template."""
    goals: Literal["all", "first"] = "all"
    """Which goals of a state the family reads."""
    score: Literal["sum", "mean"] = "sum"
    """Whether a tactic's log-probability is the sum or the mean over its tokens."""
    names: Literal["own", "canonical"] = "own"
    """Hypothesis names in the states that the family reads and in its tactics: `own` keeps Lean's names, `canonical` is
    v0, v1, ... in order of appearance (`node.model.names`)."""
    special: str = ""
    """A regular expression for text that the model's tokenizer reads as special tokens. In fields, a space is inserted
    after the first character of each match. Empty: there is no such text."""
    correction: str = ""
    """The user's message after a proof that failed, with {round} and {errors}; empty: the family has none."""
    statement: StatementForm = StatementForm()
    output: OutputForm = OutputForm()
    chat_text: ChatText | None = None
    name: str = ""
    """The file's name without its suffix; not a key of the file."""

    @property
    def decoding(self) -> Decoding:
        """The default sampling parameters."""
        sampling = self.sampling
        return Decoding(sampling.temperature, sampling.top_p, sampling.max_tokens, self.output.stops)

    def is_for(self, model: str) -> int:
        """How closely a pattern matches a model's name (matching letters); 0: no pattern matches.

        The owner may be missing, because servers and folders often use only the name after it.
        """
        full_name = model.lower().rstrip("/")
        short_name = full_name.rpartition("/")[2]
        return max(
            (
                len(pattern.replace("*", ""))
                for pattern in map(str.lower, self.models)
                if fnmatchcase(full_name, pattern) or fnmatchcase(short_name, pattern.rpartition("/")[2])
            ),
            default=0,
        )


def names() -> tuple[str, ...]:
    """Names of the templates that come with proofmesh."""
    return tuple(sorted(path.stem for path in FAMILIES.glob("*.toml")))


def load(name_or_path: str) -> Template:
    """The template with a name, or from a .toml file. Raises TemplateError."""
    if name_or_path in names():
        return _known(name_or_path)
    path = Path(name_or_path)
    if path.suffix == ".toml" or path.is_file():
        return _read(path)
    raise TemplateError(f"no template `{name_or_path}`{_suggestion(name_or_path, names())}")


def families() -> tuple[Template, ...]:
    """All templates that come with proofmesh, by name. Raises TemplateError."""
    return tuple(_known(name) for name in names())


def for_model(model: str) -> Template:
    """The template for a model's id, the name that a server gives it, or its folder. Raises TemplateError."""
    fitting = [(each.is_for(model), each) for each in families() if not each.by_name_only]
    closeness, best = max(fitting, key=lambda pair: pair[0])
    if closeness == 0:
        raise TemplateError(
            f"no template is known for the model `{model}`; name one from `proofmesh models list`, or a .toml file"
        )
    return best


def find(text: str) -> Template:
    """The template with a name, from a .toml file, or for a model's id. Raises TemplateError."""
    try:
        return load(text)
    except TemplateError as unknown:
        if text.endswith(".toml"):
            raise
        try:
            return for_model(text)
        except TemplateError:
            raise unknown from None


def label_of(template: Template) -> str:
    """The label of a template in results: its name and a digest of its content."""
    return f"{template.name} {hashlib.blake2b(msgspec.json.encode(template)).hexdigest()[:DIGITS]}"


def text_of(text: str, template: Template) -> str:
    """The text of the template's file. `text` is what `find` was called with."""
    path = FAMILIES / f"{template.name}.toml"
    return (path if template.name in names() and not text.endswith(".toml") else Path(text)).read_text("utf-8")


def fill(template: str, fields: Mapping[str, str]) -> str:
    """Fill the fields of a template; values may contain braces. Raises KeyError for a field without a value."""
    parts = Formatter().parse(template)
    return "".join(text + (fields[field] if field is not None else "") for text, field, _, _ in parts)


@cache
def _known(name: str) -> Template:
    return _read(FAMILIES / f"{name}.toml")


def _read(path: Path) -> Template:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TemplateError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise TemplateError(f"{path}: not UTF-8; save the file as UTF-8") from None
    try:
        template = msgspec.toml.decode(text, type=Template)
    except msgspec.ValidationError as error:
        raise TemplateError(f"{path}: {_explained(str(error))}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise TemplateError(f"{path}: not TOML: {error}") from None
    _check(template, path)
    return msgspec.structs.replace(template, name=path.stem)


def _explained(problem: str) -> str:
    """msgspec's message, with the place first and a suggestion for the key."""
    message, _, place = problem.partition(" - at `$")
    section = place.rstrip("`").lstrip(".")
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", message):
        return f"[{section or 'top'}] unknown key `{unknown[1]}`{_suggestion(unknown[1], _keys(section))}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", message):
        return f"[{section or 'top'}] the key `{missing[1]}` is missing; add it"
    outer, _, key = section.rpartition(".")
    choices = get_args(get_type_hints(_SECTIONS[outer]).get(key)) if message.startswith("Invalid enum") else ()
    allowed = f"; choose one of {', '.join(choices)}" if choices else ""
    return f"`{section}`: {message[0].lower()}{message[1:]}{allowed}"


_SECTIONS: dict[str, type[msgspec.Struct]] = {
    "": Template,
    "statement": StatementForm,
    "output": OutputForm,
    "sampling": Sampling,
    "limits": Limits,
    "chat_text": ChatText,
}


def _keys(section: str) -> tuple[str, ...]:
    return tuple(field for field in _SECTIONS[section].__struct_fields__ if section or field != "name")


def _check(template: Template, path: Path) -> None:
    """Check the rules that types do not express. Raises TemplateError."""
    if template.name:
        raise TemplateError(f"{path}: remove the key `name`; a template has the name of its file")
    is_tactic = template.mode == "tactic"
    _check_fields(
        path,
        "template",
        template.template,
        TACTIC_FIELDS if is_tactic else PROOF_FIELDS,
        "state" if is_tactic else "statement",
    )
    if template.correction:
        _check_fields(path, "correction", template.correction, CORRECTION_FIELDS, "errors")
    if template.chat_text is not None:
        _check_fields(path, "chat_text.message", template.chat_text.message, MESSAGE_FIELDS, "content")
    if template.kind == "raw" and (template.system or template.correction or template.chat_text is not None):
        raise TemplateError(f'{path}: `system`, `correction` and `chat_text` need `kind = "chat"`')
    if is_tactic != (template.output.code == "plain"):
        allowed = '"plain"' if is_tactic else '"open" or "last"'
        raise TemplateError(f'{path}: `output.code` must be {allowed} with `mode = "{template.mode}"`')
    if template.names == "canonical" and not is_tactic:
        raise TemplateError(f'{path}: `names = "canonical"` needs `mode = "tactic"`; this family reads statements')
    _check_special(path, template.special)
    if template.sampling.max_tokens > template.limits.output:
        raise TemplateError(f"{path}: `sampling.max_tokens` must be at most `limits.output`, {template.limits.output}")


def _check_special(path: Path, pattern: str) -> None:
    try:
        matches_nothing = bool(pattern) and re.search(pattern, "") is not None
    except re.error as error:
        raise TemplateError(f"{path}: `special` is not a regular expression: {error}") from None
    if matches_nothing:
        raise TemplateError(f"{path}: `special` matches the empty text; it must match at least one character")


def _check_fields(path: Path, key: str, text: str, allowed: frozenset[str], required: str) -> None:
    try:
        fields = [(field, form, conversion) for _, field, form, conversion in Formatter().parse(text)]
    except ValueError as error:
        raise TemplateError(f"{path}: `{key}`: {error}; write {{{{ and }}}} for literal braces") from None
    names_in_text = {field for field, _, _ in fields if field is not None}
    if unknown := next((field for field in sorted(names_in_text) if field not in allowed), None):
        suggestion = _suggestion(unknown, sorted(allowed))
        raise TemplateError(f"{path}: `{key}` has an unknown field {{{unknown}}}{suggestion}")
    if any(form or conversion for _, form, conversion in fields):
        raise TemplateError(f"{path}: `{key}`: write a field as a name in braces, without `:` or `!`")
    if required not in names_in_text:
        raise TemplateError(f"{path}: `{key}` has no field {{{required}}}; add it")


def _suggestion(name: str, known_names: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known_names), n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; choose one of {', '.join(known_names)}"
