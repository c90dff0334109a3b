"""Reads hypotheses, conclusion and main connectives from the text of a goal, and makes candidate tactics of them.

These are heuristics on text, not a parser for Lean. A wrong guess costs one failed tactic.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPEN, _CLOSE = "([{⟨⦃", ")]}⟩⦄"
_BINDING = re.compile(r"[∀∃λ]|\bfun\b|\blet\b|\bif\b|\bmatch\b")
_BY_PRECEDENCE = (("↔",), ("→",), ("∨",), ("∧",), ("=", "≠", "<", "≤", ">", "≥", "∈", "∣"))
"""Loosest first, as in Lean's notation (20, 25, 30, 35, 50)."""
_SORTS = re.compile(r"(Prop|Type\b.*|Sort\b.*)$")
_DATA = re.compile(r"(Nat|Bool|List|Option|Prod|Unit|Fin|Int|String|Char|ℕ|ℤ|Array|Subtype|Sum)\b|.* × ")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One name of the local context. Inaccessible names such as `h✝` are left out."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Goal:
    hypotheses: tuple[Hypothesis, ...]
    conclusion: str

    @property
    def proofs(self) -> list[Hypothesis]:
        """Hypotheses that look like proofs of propositions, latest first."""
        return [hypothesis for hypothesis in reversed(self.hypotheses) if not is_data(hypothesis.type, self)]

    @property
    def terms(self) -> list[Hypothesis]:
        """Hypotheses whose type is data, such as `n : Nat` or `x : α`."""
        return [hypothesis for hypothesis in self.hypotheses if is_data(hypothesis.type, self)]

    def fresh(self, base: str, count: int = 1) -> list[str]:
        """Names that the goal does not use: `h`, `h_1`, `h_2`, ..."""
        used = set(re.findall(r"[^\s()\[\]{}⟨⟩,:]+", " ".join([*(h.name for h in self.hypotheses), self.conclusion])))
        candidates = [base] + [f"{base}_{index}" for index in range(1, len(used) + count + 1)]
        return [name for name in candidates if name not in used][:count]


def read_goal(state: str) -> Goal:
    """The first goal of a state: tactics act on it."""
    hypotheses: list[Hypothesis] = []
    conclusion = ""
    for line in _logical_lines(state.split("\n\n")[0]):
        if line.startswith("⊢"):
            conclusion = line[1:].strip()
        elif " : " in line:
            names, type_ = line.split(" : ", 1)
            type_ = type_.split(" := ")[0]
            hypotheses += [Hypothesis(name, type_) for name in names.split() if "✝" not in name]
    return Goal(tuple(hypotheses), conclusion)


def _logical_lines(text: str) -> list[str]:
    """Join indented lines to the line before, because Lean breaks long types."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith(" ") and lines:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return lines


def is_data(type_: str, goal: Goal) -> bool:
    """True if a type looks like data (`Nat`, `α`, `Nat → Prop`, `Prop`), not like a proposition."""
    result = operands(type_, "→")[-1]
    if _SORTS.match(result) or _DATA.match(result):
        return True
    head = result.split()[0] if result.split() else ""
    return any(h.name == head and re.match(r"(Type|Sort)\b", operands(h.type, "→")[-1]) for h in goal.hypotheses)


def connective(proposition: str) -> str:
    """The main connective: one of ∀ ∃ ¬ ↔ → ∨ ∧ = ≠ < ≤ > ≥ ∈ ∣, or the empty string."""
    proposition = proposition.strip()
    if proposition[:1] in ("∀", "∃"):
        return proposition[0]
    for symbols in _BY_PRECEDENCE:
        for symbol in symbols:
            if len(operands(proposition, symbol)) > 1:
                return symbol
    return "¬" if proposition.startswith("¬") else ""


def operands(proposition: str, symbol: str) -> list[str]:
    """Split at a symbol outside brackets and before the first binder, whose body extends to the end: `a → b → c` has
    three operands."""
    parts, start, depth = [], 0, 0
    binder = _top_level_binder(proposition)
    for position, char in enumerate(proposition[:binder]):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0 and proposition.startswith(f" {symbol} ", position):
            parts.append(proposition[start:position].strip())
            start = position + len(symbol) + 2
    return [*parts, proposition[start:].strip()]


def _top_level_binder(text: str) -> int:
    for match in _BINDING.finditer(text):
        before = text[: match.start()]
        if sum(map(before.count, _OPEN)) == sum(map(before.count, _CLOSE)):
            return match.start()
    return len(text)


def binder_name(proposition: str) -> str:
    """The first variable of `∀ x y, ...` or `∃ (x : T), ...`; `x` if that name is inaccessible."""
    match = re.match(r"[∀∃] *[({⦃\[]?([^\s:,(){}⦃⦄✝]+)", proposition)
    return match.group(1) if match and match.group(1) != "_" else "x"


def binder_type(proposition: str) -> str:
    """The type of the first variable of `∀ (x : T), ...`; empty when it is not shown."""
    match = re.match(r"[∀∃] *[({⦃]?[^:,(]*: ([^(),]*)[)}⦄,]", proposition)
    return match.group(1).strip() if match else ""


# ----------------------------------------------------------------------------------------------------------------------
# Candidate tactics that combine several elementary steps in one line, so that a search needs one step for them.


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


# ----------------------------------------------------------------------------------------------------------------------
# Candidate tactics about natural numbers, made from a goal's text: arithmetic, witnesses, parity, induction.


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
