"""Shortens a proof: replaces branches by one tactic, drops unnecessary steps, and merges steps.

Pure functions make the variants. Lean tries each variant at its place, many in one batch. `cost` says which proof is
better: it counts tactics, and more for a `simp` in the middle.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from common.lean import Outcome, OutcomeKind, ProofTree, Step
from node.lean.text.script import proof_lines
from node.prover.policies.goal_tactics import read_goal

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


class Runs(Protocol):
    """Runs tactics: the part of `node.prover.environment.Environment` that is used here."""

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        """One outcome for every tactic."""


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


async def shortened(tree: ProofTree, environment: Runs, closing: Sequence[str], deadline: float) -> ProofTree:
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
    node: ProofTree, path: tuple[Step, ...], environment: Runs, closing: Sequence[str]
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


async def _fewer_lemmas(tree: ProofTree, environment: Runs, deadline: float) -> ProofTree:
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
