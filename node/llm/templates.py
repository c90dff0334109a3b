"""How each family of prover models wants to be asked, and how it answers: templates, one TOML file a family.

`node/llm/families` holds the published ones; a path names the user's own. A template is data: the code that fills it
(`node.llm.prompts`) and reads what comes back (`node.llm.outputs`) knows no model by name.
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

from node.llm.sampling import Decoding
from node.model.checkpoint_folders import DIGITS

FAMILIES = Path(__file__).parent / "families"

TACTIC_FIELDS = frozenset({"state", "name", "steps", "premises"})
PROOF_FIELDS = frozenset({"statement", "name", "header", "informal_prefix", "problem"})
CORRECTION_FIELDS = frozenset({"round", "errors"})
MESSAGE_FIELDS = frozenset({"role", "content"})

_Tokens = Annotated[int, msgspec.Meta(ge=1)]


class TemplateError(ValueError):
    """There is no such template, or its file is wrong; one line says what, where, and what to do."""


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a template's file."""


class StatementForm(_Record, frozen=True):
    """How a whole-proof family wants a statement written."""

    header: str = ""
    """Commands before a statement that brings none itself."""
    ending: str = ":= by"
    """What stands behind the statement, one space after it."""


class OutputForm(_Record, frozen=True):
    """What a family's answers look like."""

    prefix: str = ""
    """What an answer begins with, and the tactic does not."""
    echo: str = ""
    """The last text of the prompt, where a model may repeat the prompt: what stands before it is dropped."""
    stops: tuple[str, ...] = ()
    """Texts that end an answer."""
    remove: tuple[str, ...] = ()
    """Marks to take out wherever they stand."""
    code: Literal["plain", "open", "last"] = "plain"
    """`plain`: the answer is the tactic. `open`: the prompt leaves a block of code open, and the answer goes on with
    it. `last`: the answer is prose with blocks of code, and the last complete one with a theorem counts."""


class Sampling(_Record, frozen=True):
    """How the family's authors sample."""

    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)]
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)]
    max_tokens: _Tokens
    beams: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Published with beam search of this width; 0: sampled."""


class Limits(_Record, frozen=True):
    """Lengths that the family was made for, in tokens; where its authors name none, what the model's context leaves."""

    prompt: _Tokens
    output: _Tokens
    token_bytes: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    """UTF-8 bytes of a token, to estimate a prompt's length without a tokenizer. Lean's signs have three bytes."""


class ChatText(_Record, frozen=True):
    """A conversation as one text, where the model's chat template is known."""

    message: str
    """One message, with {role} and {content}."""
    answer: str
    """What stands before the model's answer."""
    begin: str = ""
    """What stands before the first message."""


class Template(_Record, frozen=True):
    """How a family is asked, and what it answers."""

    title: str
    models: tuple[str, ...]
    """Ids that it is for; `*` stands for anything."""
    sources: tuple[str, ...]
    """Addresses of the model card, the paper, the scripts."""
    provenance: str
    """Where the bytes are from, and what could not be had."""
    mode: Literal["tactic", "whole-proof"]
    kind: Literal["raw", "chat"]
    template: str
    """The prompt, or the user's message, with named fields in braces."""
    sampling: Sampling
    limits: Limits
    system: str = ""
    """The system message of a conversation; empty: none."""
    by_name_only: bool = False
    """Another template is taken for these models unless this one is asked for."""
    goals: Literal["all", "first"] = "all"
    """Which goals of a state the family reads."""
    score: Literal["sum", "mean"] = "sum"
    """What a tactic's log-probability is, of those of its tokens."""
    names: Literal["own", "canonical"] = "own"
    """What hypotheses are called in the state that the family reads, and in its tactics: as they are, or v0, v1, ... in
    order of appearance (`node.model.names`)."""
    special: str = ""
    """A regular expression of what the model's tokenizer reads as special tokens wherever a text spells them: within a
    field a space is put behind its first character. Empty: nothing is read so."""
    correction: str = ""
    """The user's message after a proof that failed, with {round} and {errors}; empty: the family has none."""
    statement: StatementForm = StatementForm()
    output: OutputForm = OutputForm()
    chat_text: ChatText | None = None
    name: str = ""
    """The name of the file, without its ending; no key of the file."""

    @property
    def decoding(self) -> Decoding:
        """How to sample when nobody says otherwise."""
        sampling = self.sampling
        return Decoding(sampling.temperature, sampling.top_p, sampling.max_tokens, self.output.stops)

    def is_for(self, model: str) -> int:
        """How closely a pattern names a model (letters that agree); 0: none does.

        The owner may be missing: servers and folders often have only the name behind it.
        """
        wanted = model.lower().rstrip("/")
        short = wanted.rpartition("/")[2]
        return max(
            (
                len(pattern.replace("*", ""))
                for pattern in map(str.lower, self.models)
                if fnmatchcase(wanted, pattern) or fnmatchcase(short, pattern.rpartition("/")[2])
            ),
            default=0,
        )


def names() -> tuple[str, ...]:
    """Names of the templates that come with proofmesh."""
    return tuple(sorted(path.stem for path in FAMILIES.glob("*.toml")))


def load(name_or_path: str) -> Template:
    """The template of a name, or of a .toml file. Raises TemplateError."""
    if name_or_path in names():
        return _known(name_or_path)
    path = Path(name_or_path)
    if path.suffix == ".toml" or path.is_file():
        return _read(path)
    raise TemplateError(f"no template `{name_or_path}`{_meant(name_or_path, names())}")


def families() -> tuple[Template, ...]:
    """All templates that come with proofmesh, by name. Raises TemplateError."""
    return tuple(_known(name) for name in names())


def for_model(model: str) -> Template:
    """The template for a model's id, the name that a server gives it, or its folder. Raises TemplateError."""
    fitting = [(each.is_for(model), each) for each in families() if not each.by_name_only]
    closeness, found = max(fitting, key=lambda pair: pair[0])
    if closeness == 0:
        raise TemplateError(
            f"no template is known for the model `{model}`: name one (`proofmesh models list` shows them), or a .toml "
            "file"
        )
    return found


def find(text: str) -> Template:
    """The template of a name or a .toml file, or the one for a model's id. Raises TemplateError."""
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
    """What results say of a template: its name, and the digest of all that it says."""
    return f"{template.name} {hashlib.blake2b(msgspec.json.encode(template)).hexdigest()[:DIGITS]}"


def text_of(text: str, template: Template) -> str:
    """The file of the template that `find` has found for a text."""
    path = FAMILIES / f"{template.name}.toml"
    return (path if template.name in names() and not text.endswith(".toml") else Path(text)).read_text("utf-8")


def fill(template: str, fields: Mapping[str, str]) -> str:
    """A template with its fields; they may hold braces. Raises KeyError for a field that has no value."""
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
        raise TemplateError(f"{path}: not UTF-8") from None
    try:
        template = msgspec.toml.decode(text, type=Template)
    except msgspec.ValidationError as error:
        raise TemplateError(f"{path}: {_in_words(str(error))}") from None
    except msgspec.DecodeError as error:
        raise TemplateError(f"{path}: not TOML: {error}") from None
    _check(template, path)
    return msgspec.structs.replace(template, name=path.stem)


def _in_words(problem: str) -> str:
    """msgspec's message, with the place first and the key that was meant."""
    message, _, place = problem.partition(" - at `$")
    section = place.rstrip("`").lstrip(".")
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", message):
        return f"[{section or 'top'}] unknown key `{unknown[1]}`{_meant(unknown[1], _keys(section))}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", message):
        return f"[{section or 'top'}] the key `{missing[1]}` is missing"
    outer, _, key = section.rpartition(".")
    choices = get_args(get_type_hints(_SECTIONS[outer]).get(key)) if message.startswith("Invalid enum") else ()
    allowed = f"; it is one of {', '.join(choices)}" if choices else ""
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
    """What types do not say. Raises TemplateError."""
    if template.name:
        raise TemplateError(f"{path}: `name` is no key: a template is called as its file")
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
        wanted = '"plain"' if is_tactic else '"open" or "last"'
        raise TemplateError(f'{path}: `output.code` must be {wanted} where `mode = "{template.mode}"`')
    if template.names == "canonical" and not is_tactic:
        raise TemplateError(f'{path}: `names = "canonical"` is for proof states, and this family reads statements')
    _check_special(path, template.special)
    if template.sampling.max_tokens > template.limits.output:
        raise TemplateError(f"{path}: `sampling.max_tokens` is above `limits.output`, {template.limits.output}")


def _check_special(path: Path, pattern: str) -> None:
    try:
        matches_nothing = bool(pattern) and re.search(pattern, "") is not None
    except re.error as error:
        raise TemplateError(f"{path}: `special` is no regular expression: {error}") from None
    if matches_nothing:
        raise TemplateError(f"{path}: `special` matches an empty text")


def _check_fields(path: Path, key: str, text: str, known: frozenset[str], needed: str) -> None:
    try:
        fields = [(field, form, conversion) for _, field, form, conversion in Formatter().parse(text)]
    except ValueError as error:
        raise TemplateError(f"{path}: `{key}`: {error} (write {{{{ and }}}} for braces themselves)") from None
    found = {field for field, _, _ in fields if field is not None}
    if unknown := next((field for field in sorted(found) if field not in known), None):
        raise TemplateError(f"{path}: `{key}` has a field {{{unknown}}}{_meant(unknown, sorted(known))}")
    if any(form or conversion for _, form, conversion in fields):
        raise TemplateError(f"{path}: `{key}`: a field is a name in braces, without `:` or `!`")
    if needed not in found:
        raise TemplateError(f"{path}: `{key}` has no field {{{needed}}}")


def _meant(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; there are {', '.join(known)}"
