"""Finds the namespaces that are open after a text, and the full names that a short name may refer to there. Pure.

This is an approximation, not a parser of Lean: see `node.lean.text.declarations`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.lean.text.lexing import blanked

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
