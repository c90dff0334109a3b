"""What a file itself declares, as tactics: its lemmas applied, its definitions unfolded, its types taken apart.

A theorem in a file is mostly about what stands above it, which no list of general tactics knows. Names are chosen by
what they have in common with the goal; of equally good ones the later come first, as authors use what they have just
proved.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from node.lean.text.declarations import Declaration, declarations
from node.prover.fixed_policy import value
from node.prover.goal_text import Goal, Hypothesis, connective, operands, read_goal
from node.prover.policy import Advice
from node.prover.prior import Proposal

LEMMAS = 6
"""Tried by themselves at a state."""

VARIABLES = 3
"""Of a goal, on which induction is tried."""

TOGETHER = 4
"""Lemmas in one `simp`."""

NEAREST = 3
"""Definitions that are tried where notation hides which ones the goal speaks of."""

MOST_TACTICS = 64

IN_SEARCH = 24
"""At each state of a search: they come beside a policy's own."""

SIMPLIFICATIONS = 7
"""Of these."""

_NAME = re.compile(r"[^\W\d][\w'!?₀-₉]*(?:\.[^\W\d][\w'!?₀-₉]*)*")
_HIDING = re.compile(r"[^\w\s().,:;=<>+*/∧∨→↔¬∀∃λ|&^%$!?@~·←↦≤≥≠⊢×∈∉∘∣⟨⟩{}\[\]'-]")
"""A sign in a goal that may be the file's own notation."""

_COMMON = frozenset({"fun", "Prop", "Type", "Sort", "Nat", "Int", "List", "Bool", "true", "false", "True", "False"})


@dataclass(frozen=True)
class Premises:
    """What stands above a gap."""

    declared: tuple[Declaration, ...]
    namespace: str
    """That is open at the gap."""

    @staticmethod
    def of(text: str) -> Premises:
        """Read off the text above a gap."""
        return Premises(*declarations(text))

    def short(self, name: str) -> str:
        """A name as it may be written at the gap."""
        parts = self.namespace.split(".") if self.namespace else []
        while parts and not name.startswith(".".join(parts) + "."):
            parts.pop()
        return name[len(".".join(parts)) + 1 :] if parts else name


class PremisePolicy:
    """Proposes tactics with names of the file, behind the policy interface."""

    def __init__(self, premises: Premises, unknown: Callable[[str], bool] = lambda tactic: False) -> None:
        """`unknown`: whether Lean does not know what a tactic begins with."""
        self._premises = premises
        self._unknown = unknown

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """Neither the number of samples nor the seed matters: every candidate is proposed."""
        tactics = [tactic for tactic in moves(read_goal(state), self._premises) if not self._unknown(tactic)]
        proposals = [Proposal(tactic, 1.0 - 0.5 * rank / len(tactics)) for rank, tactic in enumerate(tactics)]
        return Advice(proposals, value(state), exhausted=True)


def candidates(goal: Goal, premises: Premises) -> list[str]:
    """Everything to try on a goal by itself, best guesses first, each once: also whole inductions."""
    definitions, lemmas = _definitions(goal, premises), _lemmas(goal, premises)
    known = [*definitions, *lemmas[:TOGETHER]]
    closing = itertools.chain(
        _simplifications(definitions, lemmas),
        _whole_eliminations(goal, premises, known),
        _whole_inductions(goal, definitions, known),
    )
    return list(dict.fromkeys([*closing, *moves(goal, premises)]))[:MOST_TACTICS]


def moves(goal: Goal, premises: Premises) -> list[str]:
    """What to try at each state of a search: steps that Lean is done with at once."""
    definitions, lemmas = _definitions(goal, premises), _lemmas(goal, premises)
    steps = itertools.chain(
        itertools.islice(_simplifications(definitions, lemmas), SIMPLIFICATIONS),
        _applications(lemmas),
        _constructions(goal, premises),
        _eliminations(goal, premises),
    )
    return list(dict.fromkeys(steps))[:IN_SEARCH]


def _definitions(goal: Goal, premises: Premises) -> list[str]:
    """Definitions that the goal speaks of, those of the conclusion first."""
    conclusion = names(goal.conclusion)
    all_names = conclusion | {name for hypothesis in goal.hypotheses for name in names(hypothesis.type)}
    defined = [each for each in reversed(premises.declared) if each.kind in ("def", "abbrev", "instance")]
    spoken = [each for each in defined if _mentioned(each, all_names)]
    spoken.sort(key=lambda each: not _mentioned(each, conclusion))
    if not spoken and _HIDING.search(goal.conclusion):
        spoken = defined[:NEAREST]
    return [premises.short(each.name) for each in spoken][:LEMMAS]


def _lemmas(goal: Goal, premises: Premises) -> list[str]:
    """Theorems of the file, by what their statements have in common with the goal."""
    conclusion = names(goal.conclusion)
    hypotheses = {name for hypothesis in goal.proofs for name in names(hypothesis.type)}
    own = {part for each in premises.declared for part in _names_of(each)}

    def score(statement: str) -> float:
        mentioned = names(statement)
        weights = {name: 3.0 if name in own else 1.0 for name in mentioned}
        shared = sum(weight for name, weight in weights.items() if name in conclusion)
        return shared + 0.5 * sum(weight for name, weight in weights.items() if name in hypotheses - conclusion)

    proofs = [each for each in reversed(premises.declared) if each.is_proof]
    ranked = sorted(proofs, key=lambda each: -score(each.statement))
    return [premises.short(each.name) for each in ranked if score(each.statement) > 0][:LEMMAS]


def _simplifications(definitions: Sequence[str], lemmas: Sequence[str]) -> Iterator[str]:
    own, together = ", ".join(definitions), ", ".join([*definitions, *lemmas[:TOGETHER]])
    if definitions:
        yield f"simp [{own}]"
        yield f"simp_all [{own}]"
        yield f"simp_all [{own}]; omega"
    if lemmas:
        yield f"simp [{together}]"
        yield f"simp_all [{together}]"
        yield f"simp_all [{together}]; omega"
    if definitions:
        yield f"unfold {definitions[0]}"
    if together:
        yield f"grind [{together}]"
    if definitions:
        yield f"unfold {definitions[0]}; split <;> simp_all <;> omega"
        yield f"simp only [{own}]"
        yield f"simp [{own}]; omega"
        yield f"unfold {' '.join(definitions)}; omega"
        for definition in definitions[:TOGETHER]:
            yield f"rw [{definition}]"
            yield f"rw [{definition}]; simp"


def _applications(lemmas: Sequence[str]) -> Iterator[str]:
    for name in lemmas:
        yield f"exact {name} .."
        yield f"apply {name} <;> assumption"
        yield f"apply {name}"
        yield f"rw [{name}]"
    for name in lemmas[:TOGETHER]:
        yield f"rw [← {name}]"
        yield f"simpa using {name} .."


def _constructions(goal: Goal, premises: Premises) -> Iterator[str]:
    """The constructors of the conclusion's own inductive predicate."""
    predicate = _type_of(goal.conclusion, premises)
    if predicate is not None:
        yield "constructor"
        for each in predicate.constructors:
            yield f"apply {premises.short(predicate.name)}.{each.name}"


def _eliminations(goal: Goal, premises: Premises) -> Iterator[str]:
    """Cases and induction on what has a type of the file's own, a goal for each case."""
    for hypothesis in reversed(goal.hypotheses):
        declared = _type_of(hypothesis.type, premises)
        if declared is not None and declared.constructors:
            yield f"induction {hypothesis.name} with {_alternatives(declared, goal, recursive=True)}"
            yield f"cases {hypothesis.name} with {_alternatives(declared, goal, recursive=False)}"
        elif declared is not None:
            yield f"cases {hypothesis.name}"


def _whole_eliminations(goal: Goal, premises: Premises, known: Sequence[str]) -> Iterator[str]:
    """The same, with every case closed in the same way."""
    for hypothesis in reversed(goal.hypotheses):
        if _type_of(hypothesis.type, premises) is not None:
            for closing in _closings(known):
                yield f"induction {hypothesis.name} <;> {closing}"
                yield f"cases {hypothesis.name} <;> {closing}"


def _whole_inductions(goal: Goal, definitions: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    """Induction along a definition of the file's own, and on what such a definition is applied to."""
    closings = _closings(known)
    for name in definitions[:2]:
        if call := _call(name, goal.conclusion):
            yield from (f"fun_induction {call} <;> {closing}" for closing in closings)
    for variable in _variables(goal) if definitions else ():
        yield from (f"induction {variable} <;> {closing}" for closing in closings)
        yield f"induction {variable} <;> simp [{', '.join(known)}, *]; omega"
        yield f"cases {variable} <;> {closings[0]}"


def _call(name: str, conclusion: str) -> str:
    """The first application of a function in a conclusion; empty where there is none."""
    short = re.escape(name.rpartition(".")[2])
    match = re.search(rf"(?<![\w'])(?:[\w']+\.)*{short}((?: (?:[\w'.]+|\([^()]*\)))+)", conclusion)
    return f"{name}{match.group(1)}" if match else ""


def _variables(goal: Goal) -> list[str]:
    """Variables of the conclusion, the first ones."""
    spoken = set(re.findall(r"[^\W\d][\w'!?₀-₉]*", goal.conclusion))
    return [each.name for each in goal.terms if each.name in spoken][:VARIABLES]


def _closings(names: Sequence[str]) -> list[str]:
    """What is to close every case of a distinction."""
    known = f" [{', '.join(names)}]" if names else ""
    return [f"simp_all{known}", f"grind{known}", f"simp_all{known} <;> omega"]


def _alternatives(declared: Declaration, goal: Goal, *, recursive: bool) -> str:
    """`| nil => ?_ | cons x xs ih => ?_`: a name for each explicit argument, then for each induction hypothesis."""
    short = declared.name.rpartition(".")[2]
    alternatives = []
    for constructor in declared.constructors:
        arguments = explicit_arguments(constructor.signature)
        given = goal.fresh("a", len(arguments)) if arguments else []
        own = [argument for argument in arguments if argument.type.split()[:1] == [short]]
        hypotheses = goal.fresh("ih", len(own)) if recursive and own else []
        alternatives.append(" ".join(["|", constructor.name, *given, *hypotheses, "=> ?_"]))
    return " ".join(alternatives)


def explicit_arguments(signature: str) -> list[Hypothesis]:
    """The explicit arguments of a constructor by its signature: `(a : α) → Palindrome as → ...`."""
    binders, _, type_ = signature.partition(":") if not signature.lstrip().startswith(":") else ("", ":", signature[1:])
    if "(" in binders:  # the colon was one of a binder
        match = re.match(r"((?:\s*[({\[][^)}\]]*[)}\]])*)\s*:?(.*)", signature, re.DOTALL)
        binders, type_ = match.groups() if match else ("", signature)
    found = [
        Hypothesis(name, group.partition(":")[2].strip())
        for group in re.findall(r"\(([^()]*:(?:[^()]|\([^()]*\))*)\)", binders)
        for name in group.partition(":")[0].split()
    ]
    for operand in operands(type_.strip(), "→")[:-1]:
        if operand.startswith(("{", "[", "⦃")):
            continue
        if operand.startswith("(") and " : " in operand:
            inside = operand[1:].rpartition(")")[0]
            found += [Hypothesis(name, inside.partition(" : ")[2]) for name in inside.partition(" : ")[0].split()]
        else:
            found.append(Hypothesis("a", operand))
    return found


def _type_of(type_: str, premises: Premises) -> Declaration | None:
    """The file's own inductive type or structure that heads a type."""
    if connective(type_):
        return None
    head = next(iter(_NAME.findall(type_)), "")
    types = (each for each in reversed(premises.declared) if each.is_type)
    return next(
        (each for each in types if head and each.name.split(".")[-len(head.split(".")) :] == head.split(".")), None
    )


def names(text: str) -> set[str]:
    """Names in a text, and the last parts of those with dots; variables of one letter do not count."""
    found: set[str] = set()
    for name in _NAME.findall(text):
        found |= {name, name.rpartition(".")[2]}
    return {name for name in found if len(name) > 1 and name not in _COMMON}


def _mentioned(declared: Declaration, spoken: set[str]) -> bool:
    return bool(_names_of(declared) & spoken)


def _names_of(declared: Declaration) -> set[str]:
    return {declared.name, declared.name.rpartition(".")[2]}
