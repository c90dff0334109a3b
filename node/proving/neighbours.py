"""Tactics from what stands above a gap: the file's own definitions, and the theorems about them. Pure.

A list of tactics knows the library. What a file defines itself is known to the file alone: `simp [double]`,
`rw [euclid]`, `exact swap ..`. The text above a gap says which names there are; a wrong guess costs a failed tactic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from common.places import Context, Place
from node.lean.text.lexing import blanked
from node.prover.goal_text import read_goal

MOST_NAMES = 6
"""Definitions, and theorems, that are tried; the nearest ones."""

MOST_VARIABLES = 3

_LINE = re.compile(
    r"^[ \t]*(?:@\[[^\]]*\][ \t]*)*(?:(?:private|protected|noncomputable|partial|nonrec|local|scoped)[ \t]+)*"
    r"(?P<word>theorem|lemma|def|abbrev|instance|namespace|section|mutual|end)\b[ \t]*(?P<name>[^\s:({\[⦃]*)",
    re.MULTILINE,
)
_TOKEN = re.compile(r"(?:[^\W\d]|«[^»]*»)(?:[\w'!?]|«[^»]*»|\.(?=[^\W\d]|«))*")
_DEFINES = ("def", "abbrev", "instance")


@dataclass(frozen=True)
class _Declared:
    """A declaration above a gap."""

    name: str
    """With its namespace."""
    defines: bool
    """Whether it is a definition; else a theorem."""
    tokens: frozenset[str]
    """The names in its text."""


def neighbour_tactics(place: Place, state: str) -> list[str]:
    """What to try at a place, by the state that Lean shows there. Raises BadContext."""
    declared, inside = _declared(place.context)
    goal = read_goal(state)
    used = _mentioned(" ".join([goal.conclusion, *(hypothesis.type for hypothesis in goal.hypotheses)]))
    nearest = [each for each in reversed(declared) if each.defines]
    # Notation hides the names of what it stands for: then those that are near have to do.
    own = [each for each in nearest if _in(each.name, used)][:MOST_NAMES] or nearest[: MOST_NAMES // 2]
    about = [each for each in reversed(declared) if not each.defines and _bears(each, own, used)][:MOST_NAMES]
    definitions, theorems = ([_short(each.name, inside) for each in some] for some in (own, about))
    if not definitions and not theorems:
        return []
    variables = [hypothesis.name for hypothesis in goal.terms if _in(hypothesis.name, used)][:MOST_VARIABLES]
    calls = [call for name in definitions if (call := _call(name, goal.conclusion))]
    return list(dict.fromkeys(_tactics(definitions, theorems, variables, calls)))


def _call(name: str, conclusion: str) -> str:
    """The first application of a function in a conclusion; empty where there is none."""
    short = re.escape(name.rpartition(".")[2])
    match = re.search(rf"(?<![\w'])(?:[\w']+\.)*{short}((?: (?:[\w'.]+|\([^()]*\)))+)", conclusion)
    return f"{name}{match.group(1)}" if match else ""


def _tactics(
    definitions: Sequence[str], theorems: Sequence[str], variables: Sequence[str], calls: Sequence[str]
) -> Iterator[str]:
    every = ", ".join([*definitions, *theorems])
    for theorem in theorems:
        yield f"exact {theorem} .."
        yield f"apply {theorem} <;> assumption"
        yield f"rw [{theorem}]"
    for definition in definitions:
        yield f"rw [{definition}]"
        yield f"rw [{definition}]; simp"
    if definitions:
        some = ", ".join(definitions)
        yield f"simp [{some}]"
        yield f"simp_all [{some}]"
        yield f"simp [{some}]; omega"
        yield f"unfold {some.replace(', ', ' ')}; omega"
        yield f"grind [{some}]"
    yield f"simp [{every}]"
    yield f"simp_all [{every}]"
    yield f"grind [{every}]"
    for way in (
        *(f"fun_induction {call}" for call in calls[:2]),
        *(f"{way} {variable}" for way in ("cases", "induction") for variable in variables),
    ):
        yield f"{way} <;> simp_all [{every}]"
        yield f"{way} <;> simp_all [{every}] <;> omega"
        yield f"{way} <;> grind [{every}]"
    for variable in variables:
        yield f"induction {variable} <;> simp [{every}, *]; omega"


@lru_cache(maxsize=64)
def _declared(context: Context) -> tuple[list[_Declared], str]:
    """What a text declares, in its order, and the namespace at its end."""
    code = blanked(context.text)
    matches = list(_LINE.finditer(code))
    inside: list[str] = []
    found = []
    for number, match in enumerate(matches):
        word, name = match["word"], match["name"]
        if word == "namespace":
            inside.append(name)
        elif word in ("section", "mutual"):
            inside.append("")
        elif word == "end":
            del inside[-1:]
        elif name:
            end = matches[number + 1].start() if number + 1 < len(matches) else len(code)
            full = (
                name.removeprefix("_root_.") if name.startswith("_root_.") else ".".join([*filter(None, inside), name])
            )
            found.append(_Declared(full, word in _DEFINES, _mentioned(code[match.end() : end])))
    return found, ".".join(filter(None, inside))


def _mentioned(text: str) -> frozenset[str]:
    """The names in a text, and by their last parts: `xs.total` may be `Foo.total` of `xs`."""
    tokens = _TOKEN.findall(text) + re.findall(r"\.([^\W\d][\w'!?]*)", text)
    return frozenset(tokens) | {token.rpartition(".")[2] for token in tokens}


def _in(name: str, used: frozenset[str]) -> bool:
    return name in used or name.rpartition(".")[2] in used


def _bears(theorem: _Declared, definitions: Sequence[_Declared], used: frozenset[str]) -> bool:
    """Whether a theorem is about what a goal is about."""
    return any(_in(definition.name, theorem.tokens) for definition in definitions) or _in(theorem.name, used)


def _short(name: str, inside: str) -> str:
    """A name as it is written within a namespace."""
    return name.removeprefix(f"{inside}.") if inside else name
