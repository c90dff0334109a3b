"""Policies that use names beside the goal's: the declarations of the theorem's own file, and retrieved lemmas of a
library. Lemmas are applied, definitions unfolded, types split.

A theorem in a file is mostly about the declarations above it, which no general list of tactics names. Declarations are
ranked by the names that they share with the goal. Among equals the later come first, because authors use what they have
just proved.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from common.lean import Context, Theorem
from node.lean.text.declarations import Declaration, declarations
from node.llm.prompts import Premise
from node.prover.policies.combined import ByTurns, MixturePolicy, Part, wrapped
from node.prover.policies.fixed import FixedPolicy, value
from node.prover.policies.goal_tactics import Goal, Hypothesis, connective, operands, read_goal
from node.prover.policies.language_model import LanguageModelPolicy
from node.prover.policies.names import INFERENCE, TACTICS, BadPolicy
from node.prover.policies.policy import Advice, BadAdvice, NoTactics, Policy, ranked
from node.retrieval.corpus import RetrievalError
from node.retrieval.index import PremiseSource, Retrieved

LEMMAS = 6
"""Most theorems of the file that are tried one by one at a state."""

VARIABLES = 3
"""Most variables of a goal on which induction is tried."""

TOGETHER = 4
"""Most theorems in one `simp` call."""

NEAREST = 3
"""Definitions that are tried if the goal names none, because notation may hide them."""

MOST_TACTICS = 64
"""Most tactics that are tried once, before the search, on the theorem itself."""

IN_SEARCH = 24
"""Most tactics that are proposed at each state of a search, in addition to the policy's own."""

SIMPLIFICATIONS = 7
"""Most tactics among these that simplify or unfold."""

_NAME = re.compile(r"[^\W\d][\w'!?₀-₉]*(?:\.[^\W\d][\w'!?₀-₉]*)*")
_HIDING = re.compile(r"[^\w\s().,:;=<>+*/∧∨→↔¬∀∃λ|&^%$!?@~·←↦≤≥≠⊢×∈∉∘∣⟨⟩{}\[\]'-]")
"""A symbol in a goal that may be notation of the file."""

_COMMON = frozenset({"fun", "Prop", "Type", "Sort", "Nat", "Int", "List", "Bool", "true", "false", "True", "False"})


@dataclass(frozen=True)
class Premises:
    """The declarations above a `sorry` (gap) in a file."""

    declared: tuple[Declaration, ...]
    namespace: str
    """The namespace that is open at the gap."""

    @staticmethod
    def of(text: str) -> Premises:
        """Parse the text above a gap."""
        return Premises(*declarations(text))

    def short(self, name: str) -> str:
        """The short form of a name at the gap, without open namespaces."""
        parts = self.namespace.split(".") if self.namespace else []
        while parts and not name.startswith(".".join(parts) + "."):
            parts.pop()
        return name[len(".".join(parts)) + 1 :] if parts else name

    # A file may have thousands of declarations, and every state of a search needs the relevant ones. So statements are
    # parsed once, and declarations are found by lookup tables.

    @cached_property
    def definitions(self) -> list[int]:
        """Indices of definitions in `declared`, the nearest to the gap first."""
        return [place for place, each in _nearest_first(self.declared) if each.kind in ("def", "abbrev", "instance")]

    @cached_property
    def definitions_by_name(self) -> dict[str, list[int]]:
        """Indices of definitions by name, with and without namespace."""
        return _index((place, _names_of(self.declared[place])) for place in self.definitions)

    @cached_property
    def mentioned(self) -> dict[int, frozenset[str]]:
        """The names in the statement of each theorem, by index."""
        return {place: frozenset(names(each.statement)) for place, each in enumerate(self.declared) if each.is_proof}

    @cached_property
    def theorems_by_name(self) -> dict[str, list[int]]:
        """Indices of theorems by each name in their statements."""
        return _index(self.mentioned.items())

    @cached_property
    def own_names(self) -> frozenset[str]:
        """All declared names, with and without namespaces."""
        return frozenset(name for each in self.declared for name in _names_of(each))


def _nearest_first(declared: Sequence[Declaration]) -> Iterator[tuple[int, Declaration]]:
    return ((place, declared[place]) for place in reversed(range(len(declared))))


def _index(named: Iterable[tuple[int, Iterable[str]]]) -> dict[str, list[int]]:
    """Indices by name."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, mentioned in named:
        for name in mentioned:
            places[name].append(place)
    return places


class PremisePolicy:
    """A policy that proposes tactics with names of the file."""

    def __init__(self, premises: Premises, unknown: Callable[[str], bool] = lambda tactic: False) -> None:
        """`unknown`: True for tactics that Lean does not know."""
        self._premises = premises
        self._unknown = unknown

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """All candidates, whatever the number of samples and the seed."""
        tactics = [tactic for tactic in moves(read_goal(state), self._premises) if not self._unknown(tactic)]
        return Advice(ranked(tactics), value(state), exhausted=True)


@dataclass(frozen=True)
class _Relevant:
    """The names of the file that are relevant for a goal, in short form, the best first."""

    definitions: list[str]
    lemmas: list[str]

    @staticmethod
    def to(goal: Goal, premises: Premises) -> _Relevant:
        return _Relevant(_definitions(goal, premises), _lemmas(goal, premises))


def candidates(goal: Goal, premises: Premises) -> list[str]:
    """Distinct tactics to try once on a goal, before a search, best guesses first. They include whole inductions."""
    relevant = _Relevant.to(goal, premises)
    simp_names = [*relevant.definitions, *relevant.lemmas[:TOGETHER]]
    tactics = itertools.chain(
        _simplifications(relevant.definitions, relevant.lemmas),
        _whole_eliminations(goal, premises, simp_names),
        _whole_inductions(goal, relevant.definitions, simp_names),
        _moves(goal, premises, relevant),
    )
    return list(dict.fromkeys(tactics))[:MOST_TACTICS]


def moves(goal: Goal, premises: Premises) -> list[str]:
    """Tactics for each state of a search: fast single steps."""
    return _moves(goal, premises, _Relevant.to(goal, premises))


def _moves(goal: Goal, premises: Premises, relevant: _Relevant) -> list[str]:
    steps = itertools.chain(
        itertools.islice(_simplifications(relevant.definitions, relevant.lemmas), SIMPLIFICATIONS),
        _applications(relevant.lemmas),
        _constructions(goal, premises),
        _eliminations(goal, premises),
    )
    return list(dict.fromkeys(steps))[:IN_SEARCH]


def _definitions(goal: Goal, premises: Premises) -> list[str]:
    """Definitions that the goal mentions: those of the conclusion first; among equals the nearest first."""
    conclusion = names(goal.conclusion)
    all_names = conclusion | {name for hypothesis in goal.hypotheses for name in names(hypothesis.type)}
    by_name = premises.definitions_by_name
    in_conclusion = {place for name in conclusion for place in by_name.get(name, ())}
    mentioned = {place for name in all_names for place in by_name.get(name, ())}
    chosen = sorted(mentioned, key=lambda place: (place not in in_conclusion, -place))
    if not chosen and _HIDING.search(goal.conclusion):
        chosen = premises.definitions[:NEAREST]
    return [premises.short(premises.declared[place].name) for place in chosen[:LEMMAS]]


def _lemmas(goal: Goal, premises: Premises) -> list[str]:
    """Theorems of the file, ranked by the names that they share with the goal; among equals the nearest first."""
    conclusion = names(goal.conclusion)
    hypotheses = {name for hypothesis in goal.proofs for name in names(hypothesis.type)} - conclusion
    scores: dict[int, float] = defaultdict(float)
    # Names of the file weigh more than library names, and names of the conclusion more than those of hypotheses.
    for name in conclusion | hypotheses:
        weight = (3.0 if name in premises.own_names else 1.0) * (1.0 if name in conclusion else 0.5)
        for place in premises.theorems_by_name.get(name, ()):
            scores[place] += weight
    chosen = sorted(scores, key=lambda place: (-scores[place], -place))
    return [premises.short(premises.declared[place].name) for place in chosen[:LEMMAS]]


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
    """Constructors, if the conclusion is an inductive predicate of the file."""
    predicate = _type_of(goal.conclusion, premises)
    if predicate is not None:
        yield "constructor"
        for each in predicate.constructors:
            yield f"apply {premises.short(predicate.name)}.{each.name}"


def _eliminations(goal: Goal, premises: Premises) -> Iterator[str]:
    """Cases and induction on hypotheses with a type of the file, with one goal for each case."""
    for hypothesis in reversed(goal.hypotheses):
        declared = _type_of(hypothesis.type, premises)
        if declared is not None and declared.constructors:
            yield f"induction {hypothesis.name} with {_alternatives(declared, goal, recursive=True)}"
            yield f"cases {hypothesis.name} with {_alternatives(declared, goal, recursive=False)}"
        elif declared is not None:
            yield f"cases {hypothesis.name}"


def _whole_eliminations(goal: Goal, premises: Premises, simp_names: Sequence[str]) -> Iterator[str]:
    """Cases and induction on hypotheses with a type of the file, with one tactic that closes all cases."""
    for hypothesis in reversed(goal.hypotheses):
        if _type_of(hypothesis.type, premises) is not None:
            for closing in _closings(simp_names):
                yield f"induction {hypothesis.name} <;> {closing}"
                yield f"cases {hypothesis.name} <;> {closing}"


def _whole_inductions(goal: Goal, definitions: Sequence[str], simp_names: Sequence[str]) -> Iterator[str]:
    """Functional induction along definitions of the file, and induction on variables of the conclusion."""
    closings = _closings(simp_names)
    for name in definitions[:2]:
        if call := _call(name, goal.conclusion):
            yield from (f"fun_induction {call} <;> {closing}" for closing in closings)
    for variable in _variables(goal) if definitions else ():
        yield from (f"induction {variable} <;> {closing}" for closing in closings)
        yield f"induction {variable} <;> simp [{', '.join(simp_names)}, *]; omega"
        yield f"cases {variable} <;> {closings[0]}"


def _call(name: str, conclusion: str) -> str:
    """The first application of a function in a conclusion; empty if there is none."""
    short = re.escape(name.rpartition(".")[2])
    match = re.search(rf"(?<![\w'])(?:[\w']+\.)*{short}((?: (?:[\w'.]+|\([^()]*\)))+)", conclusion)
    return f"{name}{match.group(1)}" if match else ""


def _variables(goal: Goal) -> list[str]:
    """The first variables of the conclusion."""
    mentioned = set(re.findall(r"[^\W\d][\w'!?₀-₉]*", goal.conclusion))
    return [each.name for each in goal.terms if each.name in mentioned][:VARIABLES]


def _closings(names: Sequence[str]) -> list[str]:
    """Tactics that may close every case of a case distinction."""
    arguments = f" [{', '.join(names)}]" if names else ""
    return [f"simp_all{arguments}", f"grind{arguments}", f"simp_all{arguments} <;> omega"]


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
    """The explicit arguments of a constructor, from its signature such as `(a : α) → Palindrome as → ...`."""
    binders, _, type_ = signature.partition(":") if not signature.lstrip().startswith(":") else ("", ":", signature[1:])
    if "(" in binders:  # the colon belongs to a binder
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
    """The inductive type or structure of the file at the head of a type."""
    if connective(type_):
        return None
    head = next(iter(_NAME.findall(type_)), "")
    types = (each for each in reversed(premises.declared) if each.is_type)
    return next(
        (each for each in types if head and each.name.split(".")[-len(head.split(".")) :] == head.split(".")), None
    )


def names(text: str) -> set[str]:
    """Names in a text, and the last components of dotted names. Names of one letter are left out."""
    found: set[str] = set()
    for name in _NAME.findall(text):
        found |= {name, name.rpartition(".")[2]}
    return {name for name in found if len(name) > 1 and name not in _COMMON}


def _names_of(declared: Declaration) -> set[str]:
    return {declared.name, declared.name.rpartition(".")[2]}


# ----------------------------------------------------------------------------------------------------------------------
# Policies for interactive attempts: adds the fixed list of tactics to a network, and names of the file to both.
#
# Evaluations and training use the policy alone.


SHARE = 0.5
"""Share of the prior mass for tactics with names of the file; the policy has 1. Half of all proofs in files need no
name of the file."""


def premises_of(theorem: Theorem) -> Premises | None:
    """The declarations above a `sorry`. None for a theorem outside a file, or when nothing is declared above."""
    premises = _premises(theorem.place.context) if theorem.place is not None else None
    return premises if premises is not None and premises.declared else None


def with_premises(
    policy: Policy, theorem: Theorem, *, has_values: bool, unknown: Callable[[str], bool] = lambda tactic: False
) -> Policy:
    """The policy, with tactics that use the names declared in the file.

    `has_values`: whether the policy's values are learned. `unknown`: True for tactics that Lean does not know.
    """
    premises = premises_of(theorem)
    if premises is None:
        return policy
    return MixturePolicy(
        [Part(policy, has_values=has_values), Part(PremisePolicy(premises, unknown), SHARE, name="names of the file")]
    )


def for_people(network: Policy, theorem: Theorem) -> Policy:
    """The policy that proves most, with this network."""
    both = MixturePolicy([Part(network, has_values=True, name=INFERENCE), Part(FixedPolicy(), name=TACTICS)])
    return with_premises(both, theorem, has_values=True)


@lru_cache(maxsize=64)
def _premises(context: Context) -> Premises:
    return Premises.of(context.text)


# ----------------------------------------------------------------------------------------------------------------------
# Retrieved premises in a search: library lemmas in the prompts of language models, or as tactics that name them.
#
# No list of tactics can name all lemmas of a library. An index (`node.retrieval`) finds the lemmas that are relevant
# for a state. A model whose template has a place for premises gets them in its prompt (ReProver, arXiv 2306.15626).
# With other policies, tactics with the premises are added: `apply`, `rw` and `simp`.


IN_PROMPT = 32
"""Most premises for a prompt; those that do not fit are left out."""

IN_TACTICS = 6
"""Premises for tactics at a state. Each occurs in several tactics."""

ONE_BY_ONE = 4
"""Theorems that are tried one by one; `simp` gets all premises at once."""

NAME = "retrieved premises"
"""The source of these tactics in results."""

Find = Callable[[str, int], Awaitable[Sequence[Retrieved]]]
"""(state, count) -> premises, the best one first."""


def open_source(folder: str) -> PremiseSource | None:
    """The source of premises from an index in `folder`; None if `folder` is empty. Raises BadPolicy."""
    try:
        return PremiseSource(folder) if folder else None
    except RetrievalError as error:
        raise BadPolicy(f"premises: {error}") from error


def with_retrieved(
    policy: Policy | ByTurns, theorem: Theorem, source: PremiseSource | None, *, has_values: bool
) -> Policy | ByTurns:
    """The policy with retrieved premises for this theorem. `has_values`: whether the policy's values are learned."""
    if source is None or isinstance(policy, NoTactics):
        return policy

    async def find(state: str, count: int) -> Sequence[Retrieved]:
        try:
            return await source.premises(state, theorem, count)
        except RetrievalError as error:
            raise BadAdvice(f"premises: {error}") from error

    def joined(each: Policy) -> Policy:
        prompted = _prompted(each, find)
        if prompted is not each:
            return prompted
        return MixturePolicy([Part(each, has_values=has_values), Part(RetrievedPolicy(find), SHARE, name=NAME)])

    return wrapped(policy, joined)


def _prompted(policy: Policy, find: Find) -> Policy:
    """The policy with premises in the prompts of its models; the policy itself if no model has a place for them."""
    if isinstance(policy, LanguageModelPolicy):

        async def premises(state: str) -> Sequence[Premise]:
            return [Premise(each.name, each.text) for each in await find(state, IN_PROMPT)]

        return policy.with_premises(premises) if policy.reads_premises else policy
    if isinstance(policy, MixturePolicy):
        parts = [replace(part, policy=_prompted(part.policy, find)) for part in policy.parts]
        if any(new.policy is not old.policy for new, old in zip(parts, policy.parts, strict=True)):
            return MixturePolicy(parts, strict=policy.strict)
    return policy


class RetrievedPolicy:
    """A policy that proposes tactics with the names of retrieved premises."""

    def __init__(self, find: Find) -> None:
        self._find = find

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """All candidates, whatever the number of samples and the seed. Raises BadAdvice."""
        tactics = list(dict.fromkeys(moves_with(await self._find(state, IN_TACTICS))))
        return Advice(ranked(tactics), value(state), exhausted=True)


def moves_with(premises: Sequence[Retrieved]) -> Iterator[str]:
    """Tactics to try with these premises, the best first. `premises`: the best one first."""
    names = ", ".join(each.name for each in premises)
    theorems = [each.name for each in premises if each.is_proof][:ONE_BY_ONE]
    if premises:
        yield f"simp [{names}]"
    for name in theorems:
        yield f"apply {name}"
        yield f"rw [{name}]"
    if premises:
        yield f"simp_all [{names}]"
    for name in theorems:
        yield f"rw [← {name}]"
        yield f"exact {name} .."
    for each in premises[:ONE_BY_ONE]:
        if not each.is_proof:
            yield f"unfold {each.name}"
