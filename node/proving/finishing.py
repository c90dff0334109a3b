"""Turns the proof tree of a search into a readable script: shortens it, renames hypotheses, and lays it out."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from common.lean import OutcomeKind, ProofTree, Step
from node.lean.text.script import INDENT, proof_lines
from node.prover.environment import LeanEnvironment
from node.prover.policies.goal_tactics import Goal, Hypothesis, connective, is_data, operands, read_goal

SHORTENING_SECONDS = 2.0
"""Most seconds for shortening a proof."""

NAMING_SECONDS = 1.0
"""Most further seconds for renaming. Numbered hypotheses make a proof hard to read, and renaming costs few batches."""


class Unwritable(ValueError):
    """A proof tree cannot be written as a script. The message has the reason."""


async def finished(
    tree: ProofTree, environment: LeanEnvironment, closing: Sequence[str], seconds: float | None
) -> tuple[str, ...]:
    """The lines of a proof, made readable as far as time allows. Lean checks each change.

    `closing`: tactics that may replace a whole branch. `seconds`: time limit; None leaves the proof unchanged. Raises
    Unwritable.
    """
    try:
        lines = tuple(proof_lines(tree, ""))
    except ValueError as error:
        raise Unwritable(f"the proof that was found cannot be written down: {error}") from error
    if seconds is None:
        return lines
    deadline = time.monotonic() + min(SHORTENING_SECONDS, max(0.0, seconds))
    tree = await shortened(tree, environment, closing, deadline)
    tree = await named(tree, environment, deadline + NAMING_SECONDS)
    return await laid_out(tree, environment)


# ----------------------------------------------------------------------------------------------------------------------
# Lays out a finished proof as people do: the cases of an induction follow `| name =>`, not bullets.

_CASES = re.compile(r"(?P<head>(?:induction|cases) [^|]*? with)(?P<alternatives>(?: \| [^|]* => \?_)+)")


async def laid_out(tree: ProofTree, environment: LeanEnvironment) -> tuple[str, ...]:
    """The proof's lines, the first in column 0. Uses the new layout only if Lean accepts it. Raises what `proof_lines`
    and the environment raise."""
    plain = tuple(proof_lines(tree, ""))
    lines = tuple(proof_lines(folded(tree), ""))
    if lines == plain:
        return plain
    block = "\n".join(lines)
    outcome = (await environment.run((), [block]))[block]
    return lines if outcome.kind is OutcomeKind.PROVED else plain


def folded(node: ProofTree) -> ProofTree:
    """The tree with each `induction ... with | zero => ?_ | succ n ih => ?_` and its branches as one tactic."""
    children = tuple(folded(child) for child in node.children)
    match = _CASES.fullmatch(node.tactic)
    if match is None:
        return msgspec.structs.replace(node, children=children)
    names = re.findall(r"\| ([^|]*) => \?_", match["alternatives"])
    if len(names) != len(children) or node.layout != tuple((index,) for index in range(len(names))):
        return msgspec.structs.replace(node, children=children)
    lines = [match["head"]]
    for name, child in zip(names, children, strict=True):
        lines += _case(name, child)
    return ProofTree("\n".join(lines), state=node.state)


def _case(name: str, child: ProofTree) -> Iterator[str]:
    lines = proof_lines(child, "")
    if len(lines) == 1:
        yield f"| {name} => {lines[0]}"
        return
    yield f"| {name} =>"
    yield from (INDENT + line for line in lines)


# ----------------------------------------------------------------------------------------------------------------------
# Shortens a proof: replaces branches by one tactic, drops unnecessary steps, and merges steps.
#
# Pure functions make the variants. Lean tries each variant at its place, many in one batch. `cost` says which proof is
# better: it counts tactics, and more for a `simp` in the middle.


MOST_VARIANTS = 24
"""Most variants in one batch."""

BRITTLE = 3
"""What a `simp` in the middle of a proof costs beside the tactic itself: so many tactics longer may a proof be without
it. Its result changes with Lean's library, and what follows then fails; a `simp` that closes its goal, or that uses
only the lemmas that it names, is no such risk."""

MOST_NAMES = 4
"""Most hypotheses that are tried in place of a `‹_›`, the latest first."""

ANY_HYPOTHESIS = "‹_›"

ALONE = ((0,),)
"""The layout of a tactic that leaves one goal."""


@dataclass(frozen=True)
class Variant:
    """Another proof of the same state, as a tree and as one block of tactics for Lean."""

    tree: ProofTree

    @property
    def block(self) -> str:
        return "\n".join(proof_lines(self.tree, ""))


def size(tree: ProofTree) -> int:
    """Number of tactics."""
    total, todo = 0, [tree]
    while todo:
        node = todo.pop()
        total += 1
        todo += node.children
    return total


def cost(tree: ProofTree) -> int:
    """The number of tactics, and BRITTLE for each one that simplifies in the middle."""
    return size(tree) + BRITTLE * sum(_is_brittle(node) for _, node in places(tree))


_NEXT = re.compile(r"<;>|;|\n")
_SIMPLIFIES = re.compile(r"(?:[(·]|\b(?:all_goals|any_goals|try|repeat)\b|\s)*simp(?:_all|_arith)?(?![\w'?])")
_NAMED_ONLY = re.compile(r"\bonly\s*\[")


def _is_brittle(node: ProofTree) -> bool:
    """Whether a node's tactic leaves what `simp` makes of a goal to others: to its children, or behind `<;>`."""
    parts = _NEXT.split(node.tactic)
    inner = parts if node.children else parts[:-1]
    return any(_SIMPLIFIES.match(part) and not _NAMED_ONLY.search(part) for part in inner)


async def shortened(
    tree: ProofTree, environment: LeanEnvironment, closing: Sequence[str], deadline: float
) -> ProofTree:
    """The proof, or a shorter one of the same theorem. `closing`: tactics that may replace whole branches. `deadline`:
    time of `time.monotonic` after which no variant is tried. Raises what the environment raises."""
    changed = True
    while changed and time.monotonic() < deadline:
        changed = False
        for path, node in places(tree):
            if time.monotonic() >= deadline:
                break
            better = await _better(node, path, environment, closing)
            if better is not None:
                tree, changed = replaced(tree, path, better), True
                break  # paths have changed; the environment caches the variants that were tried above
    return await _fewer_lemmas(tree, environment, deadline)


async def _better(
    node: ProofTree, path: tuple[Step, ...], environment: LeanEnvironment, closing: Sequence[str]
) -> ProofTree | None:
    """The variant of a subtree with the least cost that Lean accepts at its place; None if it accepts none."""
    possible = [variant for variant in variants_of(node, closing) if cost(variant.tree) <= cost(node)]
    variants = sorted(possible, key=lambda variant: cost(variant.tree))[:MOST_VARIANTS]
    blocks = {variant.block: variant.tree for variant in reversed(variants)}
    if not blocks:
        return None
    order = list(dict.fromkeys(variant.block for variant in variants))
    outcomes = await environment.run(path, order)
    accepted = (block for block in order if outcomes[block].kind is OutcomeKind.PROVED)
    best = next(accepted, None)
    return None if best is None else blocks[best]


def places(tree: ProofTree) -> Iterator[tuple[tuple[Step, ...], ProofTree]]:
    """Every subtree with the path to it, from the root down."""
    todo: list[tuple[tuple[Step, ...], ProofTree]] = [((), tree)]
    while todo:
        path, node = todo.pop(0)
        yield path, node
        for index, child in enumerate(node.children):
            todo.append(((*path, Step(node.tactic, index, node.layout)), child))


def replaced(tree: ProofTree, path: Sequence[Step], new: ProofTree) -> ProofTree:
    """The tree with another subtree at the end of a path."""
    spine = [tree]
    for step in path:
        spine.append(spine[-1].children[step.branch])
    for step, parent in zip(reversed(path), reversed(spine[:-1]), strict=True):
        children = list(parent.children)
        children[step.branch] = new
        new = msgspec.structs.replace(parent, children=tuple(children))
    return new


def variants_of(node: ProofTree, closing: Sequence[str]) -> Iterator[Variant]:
    """Possible proofs of a node's state with fewer or simpler tactics."""
    if size(node) > 1:
        for tactic in closing:
            yield Variant(ProofTree(tactic, state=node.state))
        if one := _in_one(node):
            yield Variant(ProofTree(one, state=node.state))
        leaves = {child.tactic for child in node.children}
        if len(node.children) > 1 and len(leaves) == 1 and not any(child.children for child in node.children):
            yield Variant(ProofTree(f"{_without_holes(node.tactic)} <;> {leaves.pop()}", state=node.state))
        if len(node.children) > 1:
            for tactic in closing:
                yield Variant(ProofTree(f"{_without_holes(node.tactic)} <;> {tactic}", state=node.state))
    yield from (Variant(tree) for tree in _dropped(node))
    if merged := _merged(node):
        yield Variant(merged)
    yield from (Variant(tree) for tree in _without_simp(node))
    if not node.children and re.search(r"\[|<;>", node.tactic):
        yield from (Variant(ProofTree(tactic, state=node.state)) for tactic in closing)
    if not node.children and node.tactic.count(ANY_HYPOTHESIS) in (1, 2):
        yield from (Variant(ProofTree(tactic, state=node.state)) for tactic in _by_name(node))


def _by_name(node: ProofTree) -> Iterator[str]:
    """A leaf's tactic with names of hypotheses in place of `‹_›`."""
    names = [hypothesis.name for hypothesis in reversed(read_goal(node.state).hypotheses)][:MOST_NAMES]
    pieces = node.tactic.split(ANY_HYPOTHESIS)
    for chosen in itertools.product(names, repeat=len(pieces) - 1):
        yield "".join(piece + name for piece, name in zip(pieces, [*chosen, ""], strict=True))


_LEMMAS = re.compile(r"\[([^\[\]]*, [^\[\]]*)\]")


async def _fewer_lemmas(tree: ProofTree, environment: LeanEnvironment, deadline: float) -> ProofTree:
    """The proof without unnecessary lemmas in `simp [...]` and similar tactics of leaves."""
    for path, node in list(places(tree)):
        match = _LEMMAS.search(node.tactic)
        if node.children or match is None or time.monotonic() >= deadline:
            continue
        lemmas = match[1].split(", ")

        def without(left_out: Sequence[str], match: re.Match[str] = match, lemmas: list[str] = lemmas) -> str:
            remaining = ", ".join(lemma for lemma in lemmas if lemma not in left_out)
            return match.string[: match.start()] + f"[{remaining}]" + match.string[match.end() :]

        alone = {lemma: without([lemma]) for lemma in lemmas}
        outcomes = await environment.run(path, list(alone.values()))
        spare = [lemma for lemma in lemmas if outcomes[alone[lemma]].kind is OutcomeKind.PROVED]
        # One lemma may replace another, so lemmas that are unnecessary one by one may be necessary together.
        together = [without(spare[start:]) for start in range(len(spare))]
        outcomes = await environment.run(path, together) if together else {}
        best = next((tactic for tactic in together if outcomes[tactic].kind is OutcomeKind.PROVED), None)
        if best is not None:
            tree = replaced(tree, path, ProofTree(best, state=node.state))
    return tree


def _dropped(node: ProofTree) -> Iterator[ProofTree]:
    """The proof without the node's tactic, and without that and the tactic below it."""
    for child in node.children:
        if len(node.children) == 1:
            yield child
            yield from (grandchild for grandchild in child.children if len(child.children) == 1)
        elif size(child) < size(node) - 1:
            yield child


_INTRO = re.compile(r"intro ([^\n;<]+)")
_HOLE = re.compile(r"\?_(?!\w)")


def _merged(node: ProofTree) -> ProofTree | None:
    """`intro x` followed by `intro y`, as `intro x y`."""
    if node.layout != ALONE or len(node.children) != 1:
        return None
    child = node.children[0]
    first, second = _INTRO.fullmatch(node.tactic), _INTRO.fullmatch(child.tactic)
    if first is None or second is None:
        return None
    return msgspec.structs.replace(child, tactic=f"intro {first[1]} {second[1]}", state=node.state)


_SIMP = re.compile(r"simp( \[[^\[\]]+\])?(?: at ([\w']+))?")
_WITH_LEMMAS = re.compile(r"(?<![\w.])(simp(?:_all)?)(?= \[)")


def _without_simp(node: ProofTree) -> Iterator[ProofTree]:
    """`simp` followed by `exact h`, as `simpa using h`, which closes the goal; and `simp` with only its own lemmas."""
    if not _is_brittle(node):
        return
    simp, term = _SIMP.fullmatch(node.tactic), _term(node.children[0]) if len(node.children) == 1 else ""
    if simp and term and not term.startswith("by ") and simp[2] in (None, term):
        yield ProofTree(f"simpa{simp[1] or ''} using {term}", state=node.state)
    end = len(node.tactic) if node.children else [*_NEXT.finditer(node.tactic)][-1].start()
    only = _WITH_LEMMAS.sub(r"\1 only", node.tactic[:end]) + node.tactic[end:]
    if only != node.tactic:
        yield msgspec.structs.replace(node, tactic=only)


def _in_one(node: ProofTree) -> str:
    """A step and the terms that close its goals, as one `exact`; empty if there is no such form."""
    terms = [_term(child) for child in node.children]
    # Terms with `by ...` are not easier to read than the tactics, except for witnesses.
    proved_by = sum(term.startswith("by ") for term in terms)
    if not terms or not all(terms) or (proved_by and not node.tactic.startswith("refine ⟨")):
        return ""
    tactic = node.tactic
    if tactic.startswith("refine ") and len(_HOLE.findall(tactic)) == len(terms):
        pieces = _HOLE.split(tactic.removeprefix("refine "))
        filled = "".join(piece + term for piece, term in zip(pieces, [*terms, ""], strict=True))
        return f"exact {filled}"
    if tactic == "constructor" and len(terms) == 2:
        return f"exact ⟨{terms[0]}, {terms[1]}⟩"
    if tactic in ("left", "right"):
        return f"exact Or.in{tactic[0]} {_argument(terms[0])}"
    if (applied := re.fullmatch(r"apply ([\w.']+(?: [\w.']+)*)", tactic)) is not None:
        return f"exact {applied[1]} {' '.join(map(_argument, terms))}"
    if (have := re.fullmatch(r"have ([\w']+) := ([^\n]+)", tactic)) is not None and len(terms) == 1:
        word = re.compile(rf"(?<![\w.']){re.escape(have[1])}(?![\w'])")
        if len(word.findall(terms[0])) == 1:
            return "exact " + word.sub(lambda _: _argument(have[2]), terms[0])
    return ""


def _term(child: ProofTree) -> str:
    """A leaf as a term: `e` for `exact e`, `by ...` for one-word tactics; empty for others."""
    if child.children or "\n" in child.tactic:
        return ""
    if child.tactic.startswith("exact ") and "<;>" not in child.tactic:
        return child.tactic.removeprefix("exact ")
    return f"by {child.tactic}" if re.fullmatch(r"\w+", child.tactic) else ""


def _argument(term: str) -> str:
    """A term as the argument of a function."""
    return term if re.fullmatch(r"[\w.'‹›⟨⟩]+|⟨.*⟩", term) else f"({term})"


def _without_holes(tactic: str) -> str:
    """`induction n with | zero => ?_ | succ n ih => ?_` as `induction n`, for proofs that do not use the names."""
    return re.sub(r" with(?: \| [^|]* => \?_)+$", "", tactic)


# ----------------------------------------------------------------------------------------------------------------------
# Gives the hypotheses of a proof readable names: `hp` for p, `hpq` for p → q, `ih`, `n`, `x`, instead of `h_1_2`.
#
# The names depend on the states of the proof, for which Lean runs its tactics again. Lean checks the renamed proof; if
# it is refused, the old names stay.


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


async def named(tree: ProofTree, environment: LeanEnvironment, deadline: float) -> ProofTree:
    """The proof with better names; unchanged if Lean refuses the result or the deadline (of `time.monotonic`) has
    passed. Raises what the environment raises."""
    new = await _named_below(tree, (), _Scope({}), environment, deadline)
    if new is None or new == tree or time.monotonic() >= deadline:
        return tree
    block = "\n".join(proof_lines(new, ""))
    outcome = (await environment.run((), [block]))[block]
    return new if outcome.kind is OutcomeKind.PROVED else tree


async def _named_below(
    node: ProofTree, path: tuple[Step, ...], scope: _Scope, environment: LeanEnvironment, deadline: float
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
