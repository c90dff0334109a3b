"""What the kernel knows about a constant, and the reasons why it knows none. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from node.lean.check.second.terms import Expr


class Refused(Exception):
    """The declaration breaks a rule of the type theory; the text says which."""


class NotChecked(Exception):
    """The declaration was not checked to the end; the text says why. It may be right or wrong."""


OPAQUE, ABBREVIATION = -1, 1 << 40
"""Heights of definitions. When two differ, the higher one is unfolded first."""


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    """A constant with a type."""

    name: str
    parameters: tuple[str, ...]
    """Universe parameters."""
    type: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Axiom(Constant):
    """A constant without value."""


@dataclass(frozen=True, eq=False, slots=True)
class Definition(Constant):
    """A constant that unfolds to its value."""

    value: Expr
    height: int
    """OPAQUE, ABBREVIATION, or a number. It only guides the order of unfolding."""


@dataclass(frozen=True, eq=False, slots=True)
class Theorem(Definition):
    """A definition whose type is a proposition."""


@dataclass(frozen=True, eq=False, slots=True)
class Opaque(Constant):
    """A constant whose value was checked, and is never unfolded."""

    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Inductive(Constant):
    """An inductive type."""

    arguments: int
    """The number of parameters (the same in all constructors)."""
    indices: int
    constructors: tuple[str, ...]
    recursive: bool
    group: tuple[str, ...]
    """The types that are declared together with it, itself included."""

    @property
    def structure(self) -> bool:
        """True for a type with eta: one constructor, no indices, not recursive."""
        return len(self.constructors) == 1 and not self.indices and not self.recursive


@dataclass(frozen=True, eq=False, slots=True)
class Constructor(Constant):
    """A constructor of an inductive type."""

    inductive: str
    place: int
    arguments: int
    """The number of parameters."""
    fields: int


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    """How a recursor computes on one constructor."""

    constructor: str
    fields: int
    right: Expr
    """A function of parameters, motives, minor premises and fields."""


@dataclass(frozen=True, eq=False, slots=True)
class Recursor(Constant):
    """The recursor of an inductive type."""

    arguments: int
    motives: int
    minors: int
    indices: int
    rules: tuple[Rule, ...]
    k: bool
    """True when it computes on every proof of the type, because the type has only one proof, without content."""
    inductive: str
    """The type of the major premise."""
    bodies: dict[str, tuple[int, Expr]] = field(default_factory=dict)
    """By constructor: the number of fields, and the rule without its binders."""

    @property
    def major(self) -> int:
        """The place of the major premise among the arguments."""
        return self.arguments + self.motives + self.minors + self.indices


@dataclass(frozen=True, eq=False, slots=True)
class Quotient(Constant):
    """One of the four constants of quotients."""

    kind: str
