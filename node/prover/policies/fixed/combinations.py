"""Candidate tactics that combine several elementary steps in one line, so that a search needs one step for them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from node.prover.policies.fixed.goal_text import Goal, binder_type, connective, operands

MOST_CASES = 4
"""Most propositions in one case distinction: sixteen cases."""

_INTRODUCED = ("∀", "→", "¬", "≠")


def introductions(goal: Goal) -> Iterator[str]:
    """`intro x y h`: introduces all variables and premises of the conclusion."""
    names: list[str] = []
    rest = goal.conclusion
    while (kind := connective(rest)) in _INTRODUCED:
        used = Goal(goal.hypotheses, " ".join(names))  # names bound in the conclusion may be reused
        if kind == "∀":
            binders, rest = _bound(rest)
            if not binders:
                break
            for each in binders:
                names.append(Goal(goal.hypotheses, " ".join(names)).fresh("x" if each == "_" else each)[0])
            continue
        names.append(used.fresh("h")[0])
        parts = operands(rest, "→")
        if len(parts) < 2:
            break
        rest = rest[rest.index(parts[1], len(parts[0])) :]
    if names:
        yield f"intro {' '.join(names)}"


def _bound(proposition: str) -> tuple[list[str], str]:
    """The variables of `∀ (x y : T) {z : U}, body`, and the body; no variables if the binders cannot be parsed."""
    depth = 0
    for position, char in enumerate(proposition):
        depth += (char in "([{⦃") - (char in ")]}⦄")
        if char == "," and depth == 0:
            head = proposition[1:position]
            groups = re.findall(r"[(\[{⦃]([^:()\[\]{}]*?) :[^()]*(?:\([^()]*\)[^()]*)*[)\]}⦄]", head)
            names = " ".join(groups) if groups else re.sub(r" : .*| [∈<≤>≥] .*", "", head)
            words = names.split()
            if re.search(r" [∈<≤>≥] ", head) or not words or any("✝" in word for word in words):
                return [], ""
            return words, proposition[position + 1 :].strip()
    return [], ""


def propositions(goal: Goal) -> list[str]:
    """The propositions that ∧ ∨ ¬ → ↔ combine in the conclusion and the hypotheses, without those below a binder.

    Hypotheses and their negations are left out.
    """
    leaves: dict[str, None] = {}
    for text in [goal.conclusion, *(hypothesis.type for hypothesis in goal.proofs)]:
        for leaf in _leaves(text):
            leaves.setdefault(leaf)
    decided = {hypothesis.type for hypothesis in goal.proofs}
    decided |= {text.removeprefix("¬") for text in decided} | {goal.conclusion}
    return [leaf for leaf in leaves if leaf not in decided and leaf not in ("True", "False")]


def _leaves(proposition: str) -> Iterator[str]:
    proposition = _bare(proposition.strip())
    kind = connective(proposition)
    sides = operands(proposition, "=") if kind == "=" else []
    if kind in ("∧", "∨", "→", "↔") or any(connective(side) == "¬" for side in sides):
        for part in operands(proposition, kind):
            yield from _leaves(part)
    elif kind == "¬":
        yield from _leaves(proposition[1:])
    elif proposition and "✝" not in proposition:
        yield proposition


def _bare(proposition: str) -> str:
    """The proposition without parentheses around the whole text."""
    if proposition.startswith("(") and proposition.endswith(")"):
        depth = 0
        for position, char in enumerate(proposition):
            depth += (char == "(") - (char == ")")
            if depth == 0:
                return proposition[1:-1].strip() if position == len(proposition) - 1 else proposition
    return proposition


def distinctions(goal: Goal) -> Iterator[str]:
    """Case distinctions: on all plain propositions at once (a truth table), then on each quantified one."""
    leaves = propositions(goal)
    plain = [leaf for leaf in leaves if connective(leaf) not in ("∀", "∃")]
    if 0 < len(plain) <= MOST_CASES and _logical(goal):
        names = goal.fresh("h", len(plain))
        cases = [f"by_cases {name} : {leaf}" for name, leaf in zip(names, plain, strict=True)]
        yield " <;> ".join([*cases, "simp_all"])
    for leaf in leaves:
        if leaf not in plain:
            yield f"by_cases {goal.fresh('h')[0]} : {leaf}"


def _logical(goal: Goal) -> bool:
    """True if the goal has a logical connective that a case distinction could simplify."""
    return any(
        connective(text) in ("∧", "∨", "→", "↔", "¬") for text in [goal.conclusion, *(h.type for h in goal.proofs)]
    )


def uses(goal: Goal) -> Iterator[str]:
    """Hypotheses applied to arguments from the context: `exact h _ _ ‹_› ‹_›`."""
    for hypothesis in goal.proofs:
        arguments = "".join(f" {each}" for each in _arguments(hypothesis.type))
        if "‹_›" in arguments:
            yield f"exact {hypothesis.name}{arguments}"


def _arguments(proposition: str) -> list[str]:
    """One argument for each variable (`_`) and premise (`‹_›`) of a hypothesis."""
    arguments: list[str] = []
    while (kind := connective(proposition)) in ("∀", "→"):
        if kind == "∀":
            binders, proposition = _bound(proposition)
            if not binders:
                break
            arguments += ["_"] * len(binders)
        else:
            parts = operands(proposition, "→")
            arguments.append("‹_›")
            proposition = proposition[proposition.index(parts[1], len(parts[0])) :]
    return [*arguments, "‹_›"] if kind == "¬" else arguments


def pairs(goal: Goal) -> Iterator[str]:
    """Existential statements with witness and proofs from the context."""
    if connective(goal.conclusion) == "∃":
        yield "exact ⟨_, ‹_›⟩"
        yield "exact ⟨_, ‹_›, ‹_›⟩"
        for function in (term for term in goal.terms if "→" in term.type and not term.type.endswith("Prop")):
            for term in goal.terms[-3:]:
                if term.name != function.name and "→" not in term.type and operands(function.type, "→")[0] == term.type:
                    yield f"refine ⟨{function.name} {term.name}, ?_⟩"


def functions(goal: Goal) -> Iterator[str]:
    """Diagonal arguments on relations, equal functions at a point, and `propext`."""
    for hypothesis in goal.proofs:
        for relation in goal.terms:
            type_, *others = operands(relation.type, "→")
            if others == [type_, "Prop"] and binder_type(hypothesis.type) == f"{type_} → Prop":
                yield f"have {goal.fresh('h')[0]} := {hypothesis.name} fun x => ¬{relation.name} x x"
        if connective(hypothesis.type) == "=":
            for term in goal.terms[-2:]:
                yield f"have {goal.fresh('h')[0]} := congrFun {hypothesis.name} {term.name}"
    if connective(goal.conclusion) == "=":
        yield "apply propext"
