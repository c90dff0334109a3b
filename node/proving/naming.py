"""Gives the hypotheses of a proof readable names: `hp` for p, `hpq` for p → q, `ih`, `n`, `x`, instead of `h_1_2`.

The names depend on the states of the proof, for which Lean runs its tactics again. Lean checks the renamed proof; if it
is refused, the old names stay.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from common.lean import OutcomeKind, ProofTree, Step
from node.lean.text.script import proof_lines
from node.prover.policies.goal_tactics import Goal, Hypothesis, connective, is_data, operands, read_goal
from node.proving.shortening import Runs

NAME = r"[^\W\d][\w']*"

_BINDING_FORMS = (
    re.compile(r"(?:intro|rintro|funext) (?P<new>[^\n;<]+)"),
    re.compile(r"(?:obtain|have) (?P<new>⟨[^:]*⟩|[\w']+)(?P<use>(?: : .*)? := .*)", re.DOTALL),
    re.compile(r"(?P<use>rcases .*?) with (?P<new>[^\n;]+)"),
    re.compile(r"(?P<use>(?:induction|cases) .*?) with (?P<new>(?:\| [^|]* => \?_ ?)+)"),
    re.compile(r"(?P<use>refine Classical\.byContradiction) fun (?P<new>[\w']+) => \?_"),
)
"""Tactics that introduce names in a known form: the place of the names (`new`), and of uses of the context (`use`)."""

_CONSTRUCTORS = {"zero", "succ", "nil", "cons", "ind", "inl", "inr", "rfl", "none", "some", "_"}
"""Words in patterns that are not names."""

_NUMBER_NAMES = ("n", "m", "k", "l", "i", "j")
_OTHER_NAMES = ("x", "y", "z", "w")


@dataclass(frozen=True)
class _Scope:
    """The renaming at a place of the proof: from old to new names of hypotheses that the proof has introduced."""

    names: Mapping[str, str]

    def renamed(self, text: str) -> str:
        """A text that uses the context, with new names."""
        return _words(text, self.names)


async def named(tree: ProofTree, environment: Runs, deadline: float) -> ProofTree:
    """The proof with better names; unchanged if Lean refuses the result or the deadline (of `time.monotonic`) has
    passed. Raises what the environment raises."""
    new = await _named_below(tree, (), _Scope({}), environment, deadline)
    if new is None or new == tree or time.monotonic() >= deadline:
        return tree
    block = "\n".join(proof_lines(new, ""))
    outcome = (await environment.run((), [block]))[block]
    return new if outcome.kind is OutcomeKind.PROVED else tree


async def _named_below(
    node: ProofTree, path: tuple[Step, ...], scope: _Scope, environment: Runs, deadline: float
) -> ProofTree | None:
    """The renamed subtree; None after the deadline, or if Lean shows no states. `path` has the old names."""
    if time.monotonic() >= deadline:
        return None
    chosen: dict[str, str] = {}
    if _CASE.search(node.tactic):
        tactic, chosen = _cases_named(node.tactic, scope)
    elif (parts := split(node.tactic)) is None:
        tactic = scope.renamed(node.tactic)
    elif not node.children:  # only the rest of the same line uses its names
        tactic = parts.written(scope.renamed, {name: re.sub(r"_\d+$", "", name) for name in parts.names})
    else:
        outcome = (await environment.run(path, [node.tactic]))[node.tactic]
        if len(outcome.branches) != len(node.children):
            return None
        chosen = choose(parts.names, [read_goal(branch.state) for branch in outcome.branches], scope.names)
        tactic = parts.written(scope.renamed, chosen)
    below = _Scope({**scope.names, **chosen})
    children = []
    for index, child in enumerate(node.children):
        step = Step(node.tactic, index, node.layout)
        renamed = await _named_below(child, (*path, step), below, environment, deadline)
        if renamed is None:
            return None
        children.append(renamed)
    return msgspec.structs.replace(node, tactic=tactic, children=tuple(children))


_CASE = re.compile(r"by_cases ([\w']+) : ([^\n]*?)(?= <;> |$)")


def _cases_named(tactic: str, scope: _Scope) -> tuple[str, dict[str, str]]:
    """`by_cases h : p <;> by_cases h_1 : q` with names that fit the propositions, and the renaming."""
    chosen: dict[str, str] = {}
    taken = set(scope.names.values())

    def written(match: re.Match[str]) -> str:
        type_ = scope.renamed(match[2])
        wishes = [proof_name(type_) or "h", "h", *(f"h{_subscript(number)}" for number in range(1, 100))]
        name = next(each for each in wishes if each not in taken)
        taken.add(name)
        chosen[match[1]] = name
        return f"by_cases {name} : {type_}"

    return _CASE.sub(written, tactic), chosen


@dataclass(frozen=True)
class Parts:
    """A tactic split into pieces: (text, whether it binds new names)."""

    pieces: tuple[tuple[str, bool], ...]

    @property
    def names(self) -> list[str]:
        """The new names, in order."""
        words = (word for text, binds in self.pieces if binds for word in re.findall(NAME, text))
        return [word for word in dict.fromkeys(words) if word not in _CONSTRUCTORS]

    def written(self, used: Callable[[str], str], chosen: Mapping[str, str]) -> str:
        """The renamed tactic: `used` renames the text that uses names, `chosen` the names that it binds."""
        return "".join(_words(text, chosen) if binds else used(text) for text, binds in self.pieces)


def split(tactic: str) -> Parts | None:
    """Split a tactic of a known form; None for others."""
    head, combined, tail = tactic.partition(" <;> ")
    for form in _BINDING_FORMS:
        if match := form.fullmatch(head):
            begin, end = match.span("new")
            return Parts(((head[:begin], False), (head[begin:end], True), (head[end:] + combined + tail, False)))
    return None


def choose(names: Iterable[str], goals: Iterable[Goal], outer: Mapping[str, str]) -> dict[str, str]:
    """A better name for each new name, from the goals in which it is visible. `outer`: the renaming so far."""
    chosen: dict[str, str] = {}
    goals = list(goals)
    new = set(names := list(names))
    taken_outside = {
        outer.get(hypothesis.name, hypothesis.name)
        for goal in goals
        for hypothesis in goal.hypotheses
        if hypothesis.name not in new
    }
    for name in names:
        seen = [(goal, h) for goal in goals for h in goal.hypotheses if h.name == name]
        if not seen:
            continue
        goal, hypothesis = seen[-1]
        # Separate branches may use the same name.
        beside = {chosen[h.name] for each, _ in seen for h in each.hypotheses if h.name in chosen and h.name != name}
        chosen[name] = next(
            each for each in _wishes(hypothesis, goal, {**outer, **chosen}) if each not in taken_outside | beside
        )
    return chosen


def _wishes(hypothesis: Hypothesis, goal: Goal, known: Mapping[str, str]) -> Iterator[str]:
    """Readable names for a hypothesis, best first. Endless, so that one is always free."""
    if is_data(hypothesis.type, goal):
        yield from _data_names(hypothesis)
        base = "n" if hypothesis.type in ("Nat", "ℕ") else "x"
    elif hypothesis.name.startswith("ih"):
        base = "ih"
        yield "ih"
    else:
        if short := proof_name(_words(hypothesis.type, known)):
            yield short
        base = "h"
        yield "h"
    yield from (f"{base}{_subscript(number)}" for number in range(1, 10_000))


def _data_names(hypothesis: Hypothesis) -> Iterator[str]:
    """The name without its number, then the usual ones for a type."""
    plain = re.sub(r"(_\d+|')+$", "", hypothesis.name)
    if plain and plain not in ("h", "_"):
        yield plain
    yield from _NUMBER_NAMES if hypothesis.type in ("Nat", "ℕ", "Int", "ℤ") else _OTHER_NAMES


_ATOM = re.compile(r"(¬?)\(?([A-Za-z]\w?)((?: [a-z]\w?)*)\)?")


def proof_name(type_: str) -> str:
    """`hp` for p, `hnp` for ¬p, `hpq` for p → q, `hx` for P x, `hn` for n = ...; empty for longer propositions."""
    if (match := _ATOM.fullmatch(type_)) is not None:
        negated, head, arguments = match.groups()
        words = arguments.split()
        if not words:
            return f"h{'n' * bool(negated)}{head}"
        if len(words) == 1 and not negated:
            return f"h{words[0]}"
        return f"hn{words[0]}" if len(words) == 1 else ""
    if connective(type_) == "=" and re.fullmatch(r"[A-Za-z]", left := operands(type_, "=")[0]):
        return f"h{left}"
    for symbol in ("→", "≤", "<"):
        sides = operands(type_, symbol)
        if connective(type_) == symbol and len(sides) == 2 and all(re.fullmatch(r"[A-Za-z]", side) for side in sides):
            return f"h{sides[0]}{sides[1]}"
    return ""


def _subscript(number: int) -> str:
    return "".join(chr(ord("₀") + int(digit)) for digit in str(number))


def _words(text: str, names: Mapping[str, str]) -> str:
    """A text with whole words renamed. A word after a dot is a field, which is not renamed."""
    if not names:
        return text
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<![\w.'✝])(?:{pattern})(?![\w'✝])", lambda match: names[match.group()], text)
