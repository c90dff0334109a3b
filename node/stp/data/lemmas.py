"""Finds the lemmas that a proof invokes, and their statements: library theorems, and theorems above the statement. Pure
except for reading files.

STP gets the lemmas of a proof from its verifier. Here they are read from the proof's text, so lemmas that `simp` or
`omega` use internally do not count. They do not count in STP either, which looks at the tactics' syntax. Only theorems
count, not definitions, constructors (`Or.inl`) or axioms. For a traced project Lean itself reports the premises
(`node.stp.data.sources`).

A name counts if it is written in full, or as the open namespaces allow. Projections may follow it (`and_comm.mp`). It
does not count if its first part is bound by the statement or the proof (`h.symm`), or if it is also the name of a
tactic (`trivial`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from common.files import NOT_JSON
from common.lean import Theorem
from node.bank.statements import given_proof
from node.lean.text.declarations import Declaration, declarations
from node.lean.text.lexing import NAME, blanked
from node.lean.text.statement import StatementError, parse_statement
from node.stp.data.statements import bound_names
from node.stp.records import EMPTY_LEMMA, Lemma, StpError

POCKET = Path(__file__).resolve().parents[2] / "lean" / "toolchain" / "pocket" / "lean"
"""The sources of pocket Lean's core library."""

TRACED = "theorems.jsonl"
"""File name in a folder that `proofmesh trace` has written."""

_THEOREMS = frozenset({"theorem", "lemma"})
_DOTTED = re.compile(rf"(?<![\w.'!?✝@«»])@?((?:_root_\.)?{NAME}(?:\.{NAME})*)(?!\s*:=)")
_TACTICS = frozenset({"congr", "ext", "funext", "rfl", "trivial", "symm"})
"""Theorem names that usually mean tactics in proofs."""
_GROUP = re.compile(r"[({\[⦃][^(){}\[\]⦃⦄]*(?:[({\[][^(){}\[\]⦃⦄]*[)}\]][^(){}\[\]⦃⦄]*)*[)}\]⦄]")
_WORD = re.compile(NAME)


class LemmaGone(KeyError):
    """The library has no lemma with this name; the message says what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


class _Row(msgspec.Struct):
    name: str
    statement: str
    error: str = ""


class Library:
    """Named statements that proofs may invoke."""

    def __init__(self, lemmas: Iterable[Lemma], protected: Iterable[str] = ()) -> None:
        """`protected`: names that stay qualified even if their namespace is open."""
        self._lemmas = {each.name: each for each in lemmas}
        self._protected = frozenset(protected)

    @staticmethod
    def of(source: str | Path = "pocket") -> Library:
        """Read a library from `pocket` (pocket Lean's core library), a folder that `proofmesh trace` has written, a
        .lean file, or a file of rows {"name", "statement"}. Raises StpError."""
        if str(source) == "pocket":
            return _pocket()
        path = Path(source)
        if path.is_dir():
            return Library(each for each in _rows(path / TRACED) if each.name)
        if path.suffix == ".lean":
            return _declared([_text(path)])
        return Library(_rows(path))

    def joined(self, other: Library) -> Library:
        """The lemmas of both libraries; if a name is in both, the other library's."""
        return Library([*self._lemmas.values(), *other._lemmas.values()], self._protected | other._protected)

    @property
    def lemmas(self) -> list[Lemma]:
        """All lemmas, sorted by name."""
        return [self._lemmas[name] for name in sorted(self._lemmas)]

    @property
    def protected(self) -> frozenset[str]:
        return self._protected

    def __len__(self) -> int:
        return len(self._lemmas)

    def __contains__(self, name: object) -> bool:
        return name in self._lemmas

    def lemma(self, name: str, header: str = "") -> Lemma:
        """The lemma with a name; `header`: the text above the statement. Raises LemmaGone."""
        if name == EMPTY_LEMMA.name:
            return EMPTY_LEMMA
        lemma = _above(header).lemmas.get(name) or self._lemmas.get(name)
        if lemma is None:
            raise LemmaGone(
                f"no lemma {name!r} among the {len(self)} of this run's data, which may come from another library; "
                "prepare the data again with `proofmesh stp prepare`"
            )
        return lemma

    def invoked_in(self, theorem: Theorem, script: str) -> tuple[str, ...]:
        """Names of the lemmas that a proof of a theorem invokes, in order of first mention."""
        code, above = blanked(script), _above(header_of(theorem))
        local = bound_names(theorem.binders, theorem.conclusion) | names_bound_in(code)
        names = (self._resolved(match[1], local, above) for match in _DOTTED.finditer(code))
        return tuple(dict.fromkeys(name for name in names if name))

    def _resolved(self, written: str, local: frozenset[str], above: _Above) -> str:
        """The full name of the lemma that a written name refers to; empty if it refers to none."""
        rooted = written.startswith("_root_.")
        parts = written.removeprefix("_root_.").split(".")
        if not rooted and (parts[0] in local or (len(parts) == 1 and parts[0] in _TACTICS)):
            return ""
        for length in range(len(parts), 0, -1):
            name = ".".join(parts[:length])
            for full in [name] if rooted else above.opened.meanings(name):
                if (full in self._lemmas or full in above.lemmas) and not self._is_hidden(name, full, above):
                    return full
        return ""

    def _is_hidden(self, written: str, full: str, above: _Above) -> bool:
        """Whether the lemma is protected and written without its last namespace, so that the name does not mean it."""
        protected = full in self._protected or full in above.protected
        return protected and written != full and "." not in written


def header_of(theorem: Theorem) -> str:
    """The text above a statement."""
    return theorem.place.context.text if theorem.place is not None else theorem.header


class _Above:
    """The lemmas that a header declares, and the namespaces that it opens."""

    def __init__(self, header: str) -> None:
        declared = declarations(header)[0] if header.strip() else ()
        self.lemmas: Mapping[str, Lemma] = {each.name: each for each in _lemmas_of(declared)}
        self.protected = frozenset(each.name for each in declared if "protected" in each.modifiers)
        self.opened: Opened = opened_in(header)


@lru_cache(maxsize=256)
def _above(header: str) -> _Above:
    return _Above(header)


@cache
def _pocket() -> Library:
    return _declared(_text(path) for path in sorted(POCKET.rglob("*.lean")))


def _declared(texts: Iterable[str]) -> Library:
    public = [each for text in texts for each in declarations(text)[0] if "private" not in each.modifiers]
    return Library(_lemmas_of(public), (each.name for each in public if "protected" in each.modifiers))


def _lemmas_of(declared: Iterable[Declaration]) -> list[Lemma]:
    return [Lemma(each.name, _stated(each)) for each in declared if each.kind in _THEOREMS and each.statement]


def _stated(declaration: Declaration) -> str:
    """The statement of a declaration, with the file's variables that it mentions."""
    groups = [group for text in declaration.variables for group in _GROUP.findall(text)]
    mentioned = set(_WORD.findall(declaration.statement))
    used: dict[int, str] = {}
    for place in reversed(range(len(groups))):
        names, colon, type_text = groups[place][1:-1].partition(":")
        names_used = [name for name in names.split() if name in mentioned]
        if colon and names_used:
            used[place] = f"{groups[place][0]}{' '.join(names_used)} : {type_text.strip()}{groups[place][-1]}"
            mentioned |= set(_WORD.findall(type_text))
    for place, group in enumerate(groups):
        if group[0] == "[" and ":" not in group and set(_WORD.findall(group)[1:]) & mentioned:
            used[place] = group
    variables = [used[place] for place in sorted(used)]
    return " ".join([f"theorem {declaration.name}", *variables, declaration.statement])


def _rows(path: Path) -> list[Lemma]:
    """Raises StpError."""
    lemmas = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=_Row)
        except NOT_JSON as error:
            raise StpError(f"{path}, line {number}: {error}; a row needs `name` and `statement`") from error
        if row.error:
            continue
        text = without_proof(row.statement)
        with contextlib.suppress(StatementError):  # with the lemma's full name
            text = msgspec.structs.replace(parse_statement(text), name=row.name).signature
        lemmas.append(Lemma(row.name, " ".join(text.split())))
    return lemmas


def without_proof(statement: str) -> str:
    """Remove a proof, or the beginning of one, after a statement."""
    return statement[: given_proof(blanked(statement))].rstrip()


def _text(path: Path) -> str:
    """Raises StpError."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StpError(f"{path}: lemmas cannot be read ({error})") from error


# --- finds the names that a proof's text introduces: hypotheses, variables, cases. Pure -------------------------------
# This is an approximation by regular expressions, for the whole proof at once: a name that is introduced anywhere
# counts as local everywhere. So a lemma is missed if the proof also uses its name for a hypothesis, but a local name
# is never mistaken for a lemma.

_NAMES = re.compile(rf"(?<![\w.'!?])({NAME})(?![.\w'!?])")
_TYPES = re.compile(r":[^()|⟩,\n]*")
"""Types after a colon in a pattern: their names are used there, not introduced."""

_UNTIL_END = r"((?:(?!<;>|=>|:=)[^\n;])*)"
_INTRODUCING = (
    re.compile(rf"\b(?:intros?|rintro|rename_i|ext|funext|next|choose){_UNTIL_END}"),
    re.compile(rf"\b(?:rcases|obtain|cases'|induction'|injection|injections|split_ifs)\b[^\n;]*?\bwith\b{_UNTIL_END}"),
    re.compile(r"\bobtain\b([^\n;:]*)"),
    re.compile(r"\|\s*([^|=>\n]*)=>"),
    re.compile(r"(?:\bfun\b|λ)([^=↦\n]*?)(?:=>|↦)"),
    re.compile(r"[∀∃]!?([^,\n]*),"),
    re.compile(rf"\b(?:have|haveI|let|letI|set|suffices)\s+({NAME})(?![.\w'!?])"),
    re.compile(r"\b(?:have|haveI|let|letI)\s+(⟨[^⟩\n]*⟩)"),
    re.compile(rf"\b(?:by_cases|generalize|rcases|cases|induction|match|if)\s+({NAME})\s*:"),
    re.compile(rf"\bgeneralize\b[^\n;]*=\s*({NAME})"),
    re.compile(r"\bcase'?\s+([^=\n]*)=>"),
)


def names_bound_in(code: str) -> frozenset[str]:
    """The names that a block of tactics (comments and strings blanked) introduces."""
    names: set[str] = set()
    for pattern in _INTRODUCING:
        for match in pattern.finditer(code):
            names.update(_NAMES.findall(_TYPES.sub(" ", match[1])))
    return frozenset(names)


# ----------------------------------------------------------------------------------------------------------------------
# Finds the namespaces that are open after a text, and the full names that a short name may refer to there. Pure.
#
# This is an approximation, not a parser of Lean: see `node.lean.text.declarations`.

_COMMAND = re.compile(
    r"^(?:noncomputable[ \t]+)?(?P<word>namespace|section|end|open)\b[ \t]*(?P<rest>[^\n]*(?:\n[ \t]+[^\n]*)*)",
    re.MULTILINE,
)
_RENAMING = re.compile(r"(\S+?)\s*(?:→|->)\s*([^\s,]+)")


@dataclass(frozen=True)
class Opened:
    """The open namespaces at a position in a text."""

    inside: tuple[str, ...] = ()
    """The enclosing namespaces, innermost first: `A.B`, `A`."""
    opened: tuple[str, ...] = ()
    """Namespaces opened with `open`, the latest first."""
    named: tuple[tuple[str, str], ...] = ()
    """Short and full names of `open A (x)` and `open A renaming x → y`."""
    hidden: frozenset[tuple[str, str]] = frozenset()
    """Namespace and name of `open A hiding x`."""

    def meanings(self, name: str) -> list[str]:
        """The full names that a name may refer to, in the order in which Lean looks them up."""
        full_names = [f"{each}.{name}" for each in self.inside]
        full_names += [full for short, full in self.named if short == name]
        full_names.append(name)
        full_names += [f"{each}.{name}" for each in self.opened if (each, name) not in self.hidden]
        return full_names


@dataclass
class _Scope:
    namespace: tuple[str, ...]
    opened: list[str]
    named: list[tuple[str, str]]
    hidden: set[tuple[str, str]]


def opened_in(text: str) -> Opened:
    """The open namespaces at the end of a text."""
    scopes = [_Scope((), [], [], set())]
    for match in _COMMAND.finditer(blanked(text)):
        word, arguments = match["word"], match["rest"].strip()
        if word == "open":
            _open(scopes[-1], arguments)
        elif word == "end":
            for _ in range(max(1, len(arguments.split(".")) if arguments else 1)):
                if len(scopes) > 1:
                    scopes.pop()
        else:
            for part in arguments.split()[0].split(".") if arguments else [""]:
                inside = (*scopes[-1].namespace, part) if word == "namespace" else scopes[-1].namespace
                scopes.append(_Scope(inside, [], [], set()))
    inner = scopes[-1].namespace
    return Opened(
        tuple(".".join(inner[:length]) for length in range(len(inner), 0, -1)),
        tuple(dict.fromkeys(name for scope in reversed(scopes) for name in reversed(scope.opened))),
        tuple(pair for scope in reversed(scopes) for pair in scope.named),
        frozenset(pair for scope in scopes for pair in scope.hidden),
    )


def _open(scope: _Scope, arguments: str) -> None:
    """`open A B`, `open A (x y)`, `open A hiding x`, `open A renaming x → y`; `open scoped A` opens no names."""
    arguments = re.sub(r"\s+in\b.*", "", arguments, flags=re.DOTALL)
    if arguments.startswith("scoped"):
        return
    if "(" in arguments:
        name, _, names = arguments.partition("(")
        scope.named += [(each, f"{name.strip()}.{each}") for each in names.partition(")")[0].split()]
    elif match := re.match(r"(\S+)\s+hiding\s+(.*)", arguments, re.DOTALL):
        scope.opened.append(match[1])
        scope.hidden |= {(match[1], each) for each in match[2].split()}
    elif match := re.match(r"(\S+)\s+renaming\s+(.*)", arguments, re.DOTALL):
        scope.opened.append(match[1])
        for old, new in _RENAMING.findall(match[2]):
            scope.named.append((new, f"{match[1]}.{old}"))
            scope.hidden.add((match[1], old))
    else:
        scope.opened += arguments.split()
