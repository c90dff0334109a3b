"""Reads hypotheses, conclusion and main connectives from the text of a goal, to propose tactics for it.

These are heuristics on text, not a parser for Lean. A wrong guess costs one failed tactic.
"""

from __future__ import annotations

import re
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
