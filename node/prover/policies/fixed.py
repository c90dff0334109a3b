"""A policy without a model: a fixed, ordered list of generic tactics, completed with names from the goal's text.

Closing tactics come first, then tactics for the conclusion, tactics that use hypotheses, and case distinctions. They
include combinations of several steps and tactics about numbers (`goal_tactics.py`). All tactics for a state are
proposed at once, so one expansion exhausts the state. The value is a count of symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from common.lean import TacticRule
from node.lean.text.rules import tactic_problem
from node.prover.policies import goal_tactics
from node.prover.policies.goal_tactics import (
    Goal,
    Hypothesis,
    binder_name,
    binder_type,
    connective,
    operands,
    read_goal,
)
from node.prover.policies.names import NEIGHBOURS, BadPolicy, PolicyName
from node.prover.policies.policy import Advice, Policy, ranked

if TYPE_CHECKING:
    from node.retrieval.neighbours import ProvedStates

CLOSING = ("rfl", "assumption", "contradiction", "trivial", "simp", "simp_all", "decide")
"""Tactics that need no names from the goal."""

ARITHMETIC = (
    "simp [Nat.add_comm, Nat.add_assoc, Nat.add_left_comm]",
    "simp [Nat.mul_comm, Nat.mul_assoc, Nat.mul_left_comm]",
    "simp [Nat.mul_add, Nat.add_mul]",
    "rw [Nat.add_comm]",
    "rw [Nat.mul_comm]",
)
"""For conclusions with sums or products."""

ORDER = ("exact Nat.le_refl _", "apply Nat.le_succ_of_le", "apply Nat.succ_le_succ", "apply Nat.le_trans")
"""For conclusions with comparisons."""

MOST_TACTICS = 48
"""Most candidates for one state. In a batch of 32 copies of a goal Lean takes about 0.7 ms for each, so this is near
50 ms."""

SYMBOLS_PER_STEP = 6.0
"""Rough number of symbols of a conclusion that one tactic removes. Only the order of states depends on it."""

SYMBOLS_OF_FALSE = 12
"""Symbols that `False` counts as: two tactics, about what it takes to find a contradiction."""


class FixedPolicy:
    """The fixed list of tactics as a policy."""

    def __init__(self, closing: Sequence[str] = CLOSING, rule: TacticRule | None = None) -> None:
        """`closing`: the tactics that come first at every state. `rule`: the tactics that the proof may have."""
        self._closing = tuple(closing)
        self._rule = rule

    def under(self, rule: TacticRule | None) -> FixedPolicy:
        """The same list for a theorem with this rule."""
        return FixedPolicy(self._closing, rule)

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """All candidates, whatever the number of samples and the seed."""
        return advise(state, self._closing, self._rule)


def advise(state: str, closing: Sequence[str] = CLOSING, rule: TacticRule | None = None) -> Advice:
    """All candidates in order; the state is exhausted after them. Those that the rule refuses take no room."""
    tactics = listed(state, closing)
    if rule is not None:
        tactics = [tactic for tactic in tactics if not tactic_problem(tactic, rule)]
    return Advice(ranked(tactics[:MOST_TACTICS]), value(state), exhausted=True)


def listed(state: str, closing: Sequence[str] = CLOSING) -> list[str]:
    """The whole list for a state, best guesses first."""
    return list(dict.fromkeys([*closing, *everything(read_goal(state))]))


def value(state: str) -> float:
    """V = -1 - symbols of all conclusions / SYMBOLS_PER_STEP. A shorter conclusion probably needs fewer steps."""
    conclusions = re.findall(r"^⊢((?:.|\n )*)", state, flags=re.MULTILINE)
    return -1.0 - sum(map(symbols, conclusions)) / SYMBOLS_PER_STEP


def symbols(conclusion: str) -> int:
    """Number of words and signs of a conclusion. `False` gives no hint for its proof, so it counts as a long one."""
    if conclusion.strip() == "False":
        return SYMBOLS_OF_FALSE
    return len(re.findall(r"[\w'.]+|[^\s\w]", conclusion))


Source = Callable[[Goal], Iterator[str]]


def candidates(goal: Goal) -> list[str]:
    """The distinct elementary tactics of the list that fit the goal's text, best guesses first."""
    return _from(
        goal,
        lambda goal: iter(CLOSING),
        linear_arithmetic,
        from_conclusion,
        from_hypotheses,
        rewrites,
        case_distinctions,
        last_resorts,
    )


def everything(goal: Goal) -> list[str]:
    """The elementary tactics, and combinations of several steps, best guesses first.

    Invertible steps come before all others: the goals after them are provable exactly if the goal is (as in focused
    proof search: Andreoli, J. Logic Comput. 1992).
    """
    # 1. Tactics that may close the goal at once.
    at_once = _from(
        goal,
        linear_arithmetic,
        goal_tactics.uses,
        goal_tactics.laws,
        goal_tactics.multiplied_out,
        regrouping,
        goal_tactics.pairs,
        witnessed,
    )
    # 2. An invertible step, if there is one: nothing else is tried beside it.
    for step in (introductions, eliminated, split_conclusion):
        if steps := list(step(goal)):
            return list(dict.fromkeys([*at_once, *steps]))
    # 3. Otherwise steps that may lose a proof.
    choices = _from(
        goal,
        goal_tactics.parity,
        goal_tactics.lemmas,
        goal_tactics.divisors,
        instantiations,
        from_hypotheses,
        goal_tactics.functions,
        case_distinctions,
        goal_tactics.distinctions,
        inductions,
        equations,
        last_resorts,
    )
    return list(dict.fromkeys([*at_once, *choices]))


def introductions(goal: Goal) -> Iterator[str]:
    """Introductions and inductions, if the conclusion begins with ∀ or a premise. Inductions may need all of it."""
    if connective(goal.conclusion) in ("∀", "→", "¬", "≠"):
        yield from goal_tactics.introductions(goal)
        yield from (tactic for tactic in case_distinctions(goal) if tactic.startswith("induction"))


def eliminated(goal: Goal) -> Iterator[str]:
    """Split one hypothesis: conjunctions and existentials first, then disjunctions."""
    for wanted in (("∧", "∃"), ("∨",)):
        for hypothesis in goal.proofs:
            if connective(hypothesis.type) in wanted:
                yield from eliminations(hypothesis, goal)
                return


def split_conclusion(goal: Goal) -> Iterator[str]:
    """Prove both halves."""
    if connective(goal.conclusion) in ("∧", "↔"):
        yield "constructor"


def _from(goal: Goal, *sources: Source) -> list[str]:
    return list(dict.fromkeys(tactic for source in sources for tactic in source(goal)))


def linear_arithmetic(goal: Goal) -> Iterator[str]:
    """Linear arithmetic, if the goal has numbers."""
    if goal_tactics.about_numbers(goal):
        yield "omega"


def regrouping(goal: Goal) -> Iterator[str]:
    """Reorder sums and products."""
    if connective(goal.conclusion) == "=" and re.search(r"[+*]", goal.conclusion):
        yield "ac_rfl"


def witnessed(goal: Goal) -> Iterator[str]:
    """Witnesses together with proofs that they satisfy the conclusion."""
    if connective(goal.conclusion) != "∃":
        return
    if not goal_tactics.about_numbers(goal):
        for term in data_terms(goal):
            yield f"exact ⟨{term}, by simp_all⟩"
        return
    for term in goal_tactics.witnesses(goal):
        yield f"exact ⟨{term}, by omega⟩"
    if "*" in goal.conclusion:
        for term in goal_tactics.solutions(goal):
            yield f"exact ⟨{term}, by simp only [{goal_tactics.DISTRIBUTE}] <;> omega⟩"


def instantiations(goal: Goal) -> Iterator[str]:
    """Introduction rules with a choice: a side, a witness, a quotient."""
    if connective(goal.conclusion) not in ("∃", "∣"):
        if not (connective(goal.conclusion) == "=" and goal_tactics.about_numbers(goal)):
            yield from from_conclusion(goal)
        return
    terms = [*goal_tactics.witnesses(goal), *data_terms(goal)]
    yield from (f"refine ⟨{term}, ?_⟩" for term in dict.fromkeys(terms))
    if not terms:
        yield from from_conclusion(goal)


def data_terms(goal: Goal) -> list[str]:
    """Names of the context that may be witnesses, the latest first."""
    plain = [term.name for term in goal.terms if "→" not in term.type and not term.type.startswith(("Prop", "Type"))]
    return plain[::-1][:4]


def equations(goal: Goal) -> Iterator[str]:
    """Rewriting with hypotheses, and rewriting of hypotheses."""
    yield from (f"simp at {hypothesis.name}" for hypothesis in goal.proofs[:2])
    yield from (tactic for tactic in rewrites(goal) if tactic not in ARITHMETIC)


def inductions(goal: Goal) -> Iterator[str]:
    """Inductions on each natural number in the conclusion."""
    for name in goal_tactics.number_terms(goal):
        if re.search(rf"(?<![\w']){re.escape(name)}(?![\w'])", goal.conclusion):
            yield from goal_tactics.kinds_of_induction(name, goal)


def from_conclusion(goal: Goal) -> Iterator[str]:
    """Introduction rules of the conclusion's main connective."""
    conclusion = goal.conclusion
    match connective(conclusion):
        case "∀":
            # One name first: `intros` gives the rest names that no later tactic can use.
            yield f"intro {goal.fresh(binder_name(conclusion))[0]}"
            yield "intros"
        case "→" | "¬" | "≠":
            yield f"intro {goal.fresh('h')[0]}"
        case "∧" | "↔":
            yield "constructor"
        case "∨":
            yield "left"
            yield "right"
        case "∃":
            # Witnesses: what the goal already has, latest first, then small constants of common types.
            for term in [
                *(h.name for h in reversed(goal.terms) if h.type not in ("Prop", "Type")),
                "0",
                "1",
                "_",
                "[]",
            ]:
                yield f"refine ⟨{term}, ?_⟩"
        case "=":
            yield "funext x"
            yield "congr"
        case "≤" | "<" | "≥" | ">":
            yield from ORDER


def from_hypotheses(goal: Goal) -> Iterator[str]:
    """Use, split, or apply each hypothesis, the latest first."""
    for hypothesis in goal.proofs:
        yield from eliminations(hypothesis, goal)
    for hypothesis in goal.proofs:
        if connective(hypothesis.type) in ("→", "∀", "¬", "↔"):
            yield f"apply {hypothesis.name}"
            yield from forward(hypothesis, goal)


def eliminations(hypothesis: Hypothesis, goal: Goal) -> Iterator[str]:
    """Split a hypothesis by its main connective."""
    name, left, right = hypothesis.name, *goal.fresh("h", 2)
    match connective(hypothesis.type):
        case "∧" | "↔":
            yield f"obtain ⟨{left}, {right}⟩ := {name}"
        case "∨":
            yield f"rcases {name} with {left} | {right}"
        case "∃":
            witness = goal.fresh(binder_name(hypothesis.type))[0]
            yield f"obtain ⟨{witness}, {left}⟩ := {name}"
            yield f"obtain ⟨{witness}, rfl⟩ := {name}"
        case "=":
            yield f"subst {name}"


def forward(hypothesis: Hypothesis, goal: Goal) -> Iterator[str]:
    """Apply an implication or a universal statement to terms and proofs of the context."""
    new = goal.fresh("h")[0]
    if connective(hypothesis.type) == "→":
        antecedent = operands(hypothesis.type, "→")[0]
        for other in goal.proofs:
            if other.type == antecedent.removeprefix("(").removesuffix(")") or other.type == antecedent:
                yield f"have {new} := {hypothesis.name} {other.name}"
    elif connective(hypothesis.type) == "∀":
        type_ = binder_type(hypothesis.type)
        fitting = [term for term in goal.terms if not type_ or term.type == type_]
        for term in fitting[-3:] if type_ else fitting[-2:]:
            yield f"have {new} := {hypothesis.name} {term.name}"


def rewrites(goal: Goal) -> Iterator[str]:
    """Rewriting with equations and equivalences of the context, in both directions, and with laws of arithmetic."""
    equations = [h for h in goal.proofs if re.search(r"[=↔]", h.type)][:3]
    for hypothesis in equations:
        yield f"rw [{hypothesis.name}]"
        yield f"rw [← {hypothesis.name}]"
    if equations:
        yield "simp [*]"
    if re.search(r"[+*]", goal.conclusion):
        yield from ARITHMETIC


def case_distinctions(goal: Goal) -> Iterator[str]:
    """Induction and cases on variables, cases on propositions."""
    for term in goal.terms:
        if not re.search(rf"(?<![\w']){re.escape(term.name)}(?![\w'])", goal.conclusion):
            continue
        name, rest = goal.fresh(term.name + "'")[0], goal.fresh("ih")[0]
        kind = "" if "→" in term.type else term.type.split()[0]
        if kind in ("Nat", "ℕ"):
            yield f"induction {term.name} with | zero => ?_ | succ {name} {rest} => ?_"
            yield f"cases {term.name} with | zero => ?_ | succ {name} => ?_"
        elif kind == "List":
            head = goal.fresh("x")[0]
            yield f"induction {term.name} with | nil => ?_ | cons {head} {name} {rest} => ?_"
        elif kind in ("Bool", "Option") or " × " in term.type:
            yield f"cases {term.name}"
    for term in goal.terms:
        if term.type == "Prop":
            yield f"by_cases {goal.fresh('h')[0]} : {term.name}"


def last_resorts(goal: Goal) -> Iterator[str]:
    """Tactics that fit almost any goal and rarely help."""
    if goal.conclusion != "False":
        if any(connective(hypothesis.type) == "¬" for hypothesis in goal.proofs):
            yield "exfalso"
        # Assumed already, a negation is of no more use the second time.
        if not any(h.type in (f"¬{goal.conclusion}", f"¬({goal.conclusion})") for h in goal.proofs):
            yield f"refine Classical.byContradiction fun {goal.fresh('h')[0]} => ?_"
    if connective(goal.conclusion) == "=":
        yield "symm"
    yield "split"
    yield "constructor"


# ----------------------------------------------------------------------------------------------------------------------
# Policies from files: tactics that are proposed at every state, and proved states whose tactics go before the others.


MOST_LINES = 48
"""Most tactics of a file, because all are tried at every state."""


class ListedTactics:
    """A policy that proposes the same tactics at every state, in order."""

    def __init__(self, tactics: Sequence[str]) -> None:
        self._proposals = ranked(tactics)

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """All tactics, whatever the arguments."""
        return Advice(list(self._proposals), value(state), exhausted=True)


class NeighbourTactics:
    """The fixed list and the tactics of proved states, ordered by the most similar of these (`node.retrieval`)."""

    def __init__(self, proved: ProvedStates, closing: Sequence[str] = CLOSING, rule: TacticRule | None = None) -> None:
        """`closing`, `rule`: as in `FixedPolicy`."""
        self._proved = proved
        self._closing = tuple(closing)
        self._rule = rule

    def under(self, rule: TacticRule | None) -> NeighbourTactics:
        """The same states for a theorem with this rule."""
        return NeighbourTactics(self._proved, self._closing, rule)

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """The first `samples` tactics; nothing else is proposed for the state later. What is refused takes no room: a
        proof of another bank may have tactics that this theorem's rule refuses."""
        ordered = self._proved.ordered(state, listed(state, self._closing))
        taken = (tactic for tactic in ordered if not tactic_problem(tactic, self._rule))
        return Advice(ranked(list(islice(taken, samples))), value(state), exhausted=True)


def read_proved(where: str) -> ProvedStates:
    """The proved states of a run, or of other training data. Raises BadPolicy."""
    from node.retrieval.corpus import RetrievalError
    from node.retrieval.neighbours import proved_states

    try:
        return proved_states(where)
    except RetrievalError as error:
        raise BadPolicy(f"`{NEIGHBOURS}:{where}`: {error}") from error


def contents(name: PolicyName) -> list[str]:
    """The lines of what a part of a policy reads tactics from, for checks and digests. Raises BadPolicy if it cannot be
    used."""
    return read_proved(name.where).contents if name.kind == NEIGHBOURS else read_tactics(Path(name.where))


def tactics_policy(name: PolicyName, closing: Sequence[str] = CLOSING) -> Policy:
    """A list of tactics as a policy. `closing`: first tactics of the fixed list. Raises BadPolicy for a bad file."""
    if name.kind == NEIGHBOURS:
        return NeighbourTactics(read_proved(name.where), closing)
    return ListedTactics(read_tactics(Path(name.where))) if name.where else FixedPolicy(closing)


def read_tactics(file: Path) -> list[str]:
    """The tactics of a file, one a line. Blank lines and lines that begin with # are skipped. Raises BadPolicy."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadPolicy(f"{file}: the list of tactics cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadPolicy(f"{file}: the list of tactics is not text in UTF-8") from error
    tactics: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        tactic = line.strip()
        if not tactic or tactic.startswith("#"):
            continue
        if problem := tactic_problem(tactic):
            raise BadPolicy(f"{file}, line {number}: {problem}")
        tactics[tactic] = None
    if not tactics:
        raise BadPolicy(f"{file}: there is no tactic in it")
    if len(tactics) > MOST_LINES:
        raise BadPolicy(f"{file}: {len(tactics)} tactics; at most {MOST_LINES}, as all are tried on every state")
    return list(tactics)
