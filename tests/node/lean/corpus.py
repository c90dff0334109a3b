"""A seeded corpus of candidates, good and bad, on many states; and what Lean says of one alone."""

import random
import re
from dataclasses import dataclass
from pathlib import Path

from common.lean import Outcome, OutcomeKind, Step, Theorem
from node.lean.text.goals import factorise, split_goals
from node.lean.text.script import indent_tactic, path_lines
from node.lean.worker.plan import BatchPlan
from node.lean.worker.pool import Pool
from node.lean.worker.process import Diagnostic, LeanProcess, WorkerEnded

THEOREMS = [
    Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p"),
    Theorem("t", "(p q r : Prop) (h : p ∧ (q ∨ r))", "(p ∧ q) ∨ (p ∧ r)"),
    Theorem("t", "(p q : Prop) (hp : p) (hq : q)", "p ∧ (q ∧ p)"),
    Theorem("t", "(p q : Prop) (h : p ∨ q)", "q ∨ p"),
    Theorem("t", "(n : Nat)", "n + 0 = n ∧ 0 + n = n"),
    Theorem("t", "(a b c : Nat) (h : a ≤ b) (h' : b ≤ c)", "a ≤ c"),
    Theorem("t", "", "∃ n : Nat, n * n = 49 ∧ n < 10"),
    Theorem("t", "(P : Nat → Prop) (h : ∀ x, P x)", "∃ a, ∃ b, P a ∧ P b ∧ a = a"),
    Theorem("t", "(xs ys : List Nat)", "(xs ++ ys) ++ [] = xs ++ ys"),
    Theorem("t", "(p q : Prop) [Decidable p]", "(¬ q → ¬ p) → p → q"),
    Theorem("t", "(f : Nat → Nat) (h : ∀ x, f x = x)", "f (f 2) = 2"),
    Theorem("t", "(a b : Nat) (h : a = b)", "b = a ∧ ∀ c, a + c = b + c"),
]


def _lines(name: str) -> list[str]:
    """Lines of a file beside this one; `\\n` in them is a line break."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line.replace("\\n", "\n") for line in text.splitlines()]


OPENERS = _lines("openers.txt")
"""Tactics that make states: each is run on the states found so far."""

WRITTEN = _lines("candidates.txt")
"""Candidates good, failing, unparsable, refused, unclosed, referring to themselves, ..."""

CLOSERS = ("assumption", "simp_all", "rfl", "trivial", "simp", "constructor <;> assumption", "exact h", "decide")
"""Candidates that close goals more often than others: what seems to be proved is checked most."""

TOKENS = sorted({token for text in WRITTEN for token in re.findall(r"[\w.']+|\S", text)})
"""What the written candidates are made of."""


@dataclass(frozen=True)
class Case:
    """One candidate on one state."""

    theorem: Theorem
    path: tuple[Step, ...]
    tactic: str


def candidate(rng: random.Random) -> str:
    """A written candidate, a broken one, two in a row, or a soup of tokens."""
    roll = rng.random()
    tactic = rng.choice(WRITTEN)
    if roll < 0.1:
        return rng.choice(CLOSERS)
    if roll < 0.3:
        return rng.choice(OPENERS)
    if roll < 0.7:
        return tactic
    if roll < 0.8:
        return tactic + rng.choice(["\n", "; ", " <;> "]) + rng.choice(WRITTEN)
    if roll < 0.88 and len(tactic) > 2:
        cut = rng.randrange(1, len(tactic))
        return tactic[:cut]
    return " ".join(rng.choices(TOKENS, k=rng.randrange(1, 8)))


async def find_states(pool: Pool, rng: random.Random, number: int) -> list[tuple[Theorem, tuple[Step, ...]]]:
    """States of the theorems, up to three steps deep, those with shared metavariables included."""
    states: list[tuple[Theorem, tuple[Step, ...]]] = [(theorem, ()) for theorem in THEOREMS]
    frontier = list(states)
    while len(states) < number and frontier:
        theorem, path = frontier.pop(rng.randrange(len(frontier)))
        plan = BatchPlan(theorem, path, dict(enumerate(OPENERS)))
        await pool.run(plan, timeout=10, warm=theorem)
        for index, outcome in plan.outcomes.items():
            for branch in range(len(outcome.branches)):
                step = Step(OPENERS[index], branch, outcome.layout)
                if len(path) < 3 and rng.random() < 0.5:
                    frontier.append((theorem, (*path, step)))
                    states.append(frontier[-1])
    rng.shuffle(states)
    return states[:number]


async def corpus(pool: Pool, seed: int, *, states: int, size: int) -> list[Case]:
    """A corpus of `size` candidates, evenly on the states."""
    rng = random.Random(seed)
    found = await find_states(pool, rng, states)
    return [Case(*found[number % len(found)], candidate(rng)) for number in range(size)]


async def asked_alone(process: LeanProcess, case: Case, *, parentheses: bool) -> Outcome:
    """What Lean says of one candidate, in a document of its own, in one plain example.

    Without parentheses it stands as a person would write it; with them it must be a tactic block on its own terms.
    """
    place: list[int] = []

    def hole(prefix: str) -> list[str]:
        place.append(len(prefix))
        return indent_tactic(tactic, prefix)

    tactic = "(" + case.tactic.replace("\n", "\n ") + "\n)" if parentheses else case.tactic
    lines = path_lines(case.path, hole)
    head = f"example {case.theorem.binders} : {case.theorem.conclusion} := by"
    start = _find(lines, indent_tactic(tactic, " " * place[0]), place[0])
    try:
        diagnostics = await process.edit("\n" + "\n".join([head, *lines]) + "\n", silence=10, limit=30)
    except WorkerEnded as end:
        await process.kill()  # it may still be at it when it is asked for the next
        if any(PARSER.match(item.message) for item in end.diagnostics):
            return Outcome(OutcomeKind.ERROR, message="half of it was parsed, and did not end")
        return Outcome(OutcomeKind.TIMEOUT)
    errors = [item for item in diagnostics if item.is_error]
    if all(_about_the_state(item, start + 2, place[0]) for item in errors):
        goals = [goal for item in errors[:1] for goal in split_goals(item.message)]
        return Outcome(OutcomeKind.GOALS, factorise(goals)) if goals else Outcome(OutcomeKind.PROVED)
    return Outcome(OutcomeKind.ERROR, message=errors[0].message)


PARSER = re.compile(r"(<input>)?(unexpected|expected|unknown tactic|unterminated|missing)")


def _find(lines: list[str], tactic: list[str], column: int) -> int:
    """The line where the candidate begins: where its lines stand, up to bullets before the first."""
    for number in range(len(lines)):
        if lines[number][column:] == tactic[0][column:] and lines[number + 1 : number + len(tactic)] == tactic[1:]:
            return number
    raise AssertionError("the candidate is not in its own document")


def _about_the_state(item: Diagnostic, line: int, column: int) -> bool:
    """Whether it says that goals are left in what encloses the candidate."""
    start = (item.full_range or item.range).start
    return item.message.startswith("unsolved goals") and (start.line, start.character) < (line, column)
