"""Candidate tactics about natural numbers, made from a goal's text: arithmetic, witnesses, parity, induction."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from node.prover.policies.fixed.goal_text import Goal, connective, operands

DISTRIBUTE = "Nat.mul_add, Nat.add_mul, Nat.mul_assoc, Nat.mul_comm, Nat.mul_left_comm, Nat.two_mul, Nat.mul_two"
"""Rules that multiply out. They remove factors of 2 between products, which `omega` cannot handle."""

_NUMBERS = re.compile(r"\b(?:Nat|Int|Fin|ℕ|ℤ)\b|\d|[+*%<>≤≥∣]")
_MOST_WITNESSES = 8


def about_numbers(goal: Goal) -> bool:
    """True if `omega` might help with this goal."""
    return bool(_NUMBERS.search(" ".join([goal.conclusion, *(hypothesis.type for hypothesis in goal.hypotheses)])))


def number_terms(goal: Goal) -> list[str]:
    """Names of the natural numbers in the context."""
    return [term.name for term in goal.terms if term.type in ("Nat", "ℕ")]


def multiplied_out(goal: Goal) -> Iterator[str]:
    """Rewrite with the defining equations of the context, multiply out, and finish with linear arithmetic."""
    if not re.search(r"[*^]|\w \d", goal.conclusion) and not defining(goal):
        return
    rules = ", ".join([*defining(goal), *(["Nat.pow_succ"] if "^" in goal.conclusion else []), DISTRIBUTE])
    places = [h.name for h in goal.proofs if connective(h.type) in ("=", "≤", "<", "≠") and re.search(r"[*^]", h.type)]
    where = f" at {' '.join([*places, '⊢'])}" if places else ""
    yield f"simp only [{rules}]{where} <;> omega"


def defining(goal: Goal) -> list[str]:
    """Names of universal equations in the context, such as `∀ n, f (n + 1) = f n + 2`, then of ones like `f 0 = 0`."""
    universal = [h for h in goal.proofs if connective(h.type) == "∀" and " = " in h.type and "→" not in h.type]
    plain = [h for h in goal.proofs if universal and re.match(r"\w+ \d+ = ", h.type)]
    return [h.name for h in [*universal, *plain]]


def laws(goal: Goal) -> Iterator[str]:
    """Laws of order, divisibility and powers that may close the goal."""
    match connective(goal.conclusion):
        case "≤" | "<" | "≥" | ">" if "*" in goal.conclusion:
            yield "apply Nat.mul_le_mul <;> omega"
            yield "apply Nat.mul_lt_mul_of_lt_of_le <;> omega"
        case "∣":
            yield "exact Nat.dvd_trans ‹_› ‹_›"
            yield "exact Nat.dvd_add ‹_› ‹_›"
            yield "exact Nat.dvd_mul_right_of_dvd ‹_› _"
            yield "exact Nat.dvd_mul_left_of_dvd ‹_› _"
        case "=":
            if any("*" in hypothesis.type for hypothesis in goal.proofs):
                yield "exact Nat.eq_of_mul_eq_mul_left ‹_› ‹_›"
                yield "exact Nat.eq_of_mul_eq_mul_right ‹_› ‹_›"
            if "^" in goal.conclusion:
                yield "simp [Nat.pow_add, Nat.pow_succ, Nat.mul_pow, Nat.pow_mul]"


def lemmas(goal: Goal) -> Iterator[str]:
    """Laws that reduce the goal to a simpler one."""
    if connective(goal.conclusion) == "∣":
        yield "apply Nat.dvd_add"
        yield "apply Nat.dvd_mul_right_of_dvd"
        yield "apply Nat.dvd_mul_left_of_dvd"


def witnesses(goal: Goal) -> list[str]:
    """Witnesses for `∃ x, ...` and `d ∣ n`: solutions of an equation for x, or else sums and products of the context's
    numbers."""
    terms, names = solutions(goal), number_terms(goal)[-4:]
    if not terms and about_numbers(goal):
        quotient = connective(goal.conclusion) == "∣"
        terms = [*names, *([] if quotient else ["0", *(f"{name} + 1" for name in names[-2:])])]
        for left, right in itertools.combinations(names, 2):
            terms += [f"{left} + {right}", f"{left} * {right}"]
    return list(dict.fromkeys(terms))[:_MOST_WITNESSES]


def solutions(goal: Goal) -> list[str]:
    """Possible solutions of an equation after `∃ x`."""
    return list(dict.fromkeys(_solutions(goal.conclusion)))


def _solutions(conclusion: str) -> Iterator[str]:
    """Values of x that may solve `E = F`, where F mentions x: E divided by a factor in F, E minus a summand of F."""
    match = re.match(r"∃ *\(?(\w+)(?: : [^,]+?)?\)?, (.*)", conclusion)
    if match is None or connective(match[2]) != "=":
        return
    variable, sides = match[1], operands(match[2], "=")
    for side, x_side in (sides[:2], sides[1::-1]):
        word = rf"(?<![\w']){re.escape(variable)}(?![\w'])"
        if re.search(word, side) or not re.search(word, x_side):
            continue
        whole = side if re.fullmatch(r"[\w']+", side) else f"({side})"
        if x_side == variable:
            yield side
        for factor in re.findall(rf"(\d+) \* {word}|{word} \* (\d+)", x_side):
            yield f"{whole} / {factor[0] or factor[1]}"
        if x_side.startswith(f"{variable} + {variable}"):
            yield f"{whole} / 2"
        for summand in re.findall(rf"([\w']+) \+ {word}|{word} \+ ([\w']+)", x_side):
            yield f"{whole} - {summand[0] or summand[1]}"


def kinds_of_induction(name: str, goal: Goal) -> Iterator[str]:
    """Inductions and case splits on a natural number other than plain induction: generalizing the other numbers,
    strong induction, even and odd."""
    smaller, hypothesis = goal.fresh(f"{name}'")[0], goal.fresh("ih")[0]
    others = [other for other in number_terms(goal) if other != name and _occurs(other, goal.conclusion)]
    if others:
        yield (
            f"induction {name} generalizing {' '.join(others)} with | zero => ?_ | succ {smaller} {hypothesis} => ?_"
        )
    if "2" in goal.conclusion:
        half = goal.fresh("k")[0]
        yield (f"obtain ⟨{half}, rfl | rfl⟩ : ∃ k, {name} = 2 * k ∨ {name} = 2 * k + 1 := ⟨{name} / 2, by omega⟩")
    yield f"rcases {name} with _ | _ | {smaller}"
    yield f"induction {name} using Nat.strongRecOn with | ind {name} {hypothesis} => ?_"


def parity(goal: Goal) -> Iterator[str]:
    """Case distinctions: a number is even or odd."""
    hypothesis_types = " ".join(hypothesis.type for hypothesis in goal.proofs)
    if "2" in goal.conclusion and connective(goal.conclusion) in ("∃", "∨", "∣"):
        for name in number_terms(goal)[-2:]:
            if f"{name} % 2" in hypothesis_types:
                continue
            hypothesis = goal.fresh("h")[0]
            yield f"rcases Nat.mod_two_eq_zero_or_one {name} with {hypothesis} | {hypothesis}"


def divisors(goal: Goal) -> Iterator[str]:
    """Obtain the quotient of a hypothesis `a ∣ b`."""
    quotient, equation = goal.fresh("k")[0], goal.fresh("h")[0]
    for hypothesis in goal.proofs:
        if connective(hypothesis.type) == "∣":
            yield f"obtain ⟨{quotient}, rfl⟩ := {hypothesis.name}"
            yield f"obtain ⟨{quotient}, {equation}⟩ := {hypothesis.name}"


def _occurs(name: str, text: str) -> bool:
    return bool(re.search(rf"(?<![\w']){re.escape(name)}(?![\w'])", text))
