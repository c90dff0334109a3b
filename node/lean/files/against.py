"""Checks that a submission proves what a reference states, by comparing compiled names, types and definitions. Pure.

For each theorem of the reference, the submission must have a theorem with the same name and type. Every constant of
the user's files that this type depends on must be the same in both: its kind, its type, and the value of definitions.
If the reference leaves a definition open (its value is `sorry`), the submission may fill it. If only parts are open,
the other parts must be the same. Lean's own axioms and those that the reference declares are permitted. Comparator and
SafeVerify give the same guarantee.

A name is resolved by the imports of the file that uses it: two files of a submission may declare the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from node.lean.files.judging import LocalModule, shown_name, unsupported
from node.lean.files.report import DeclarationVerdict
from node.lean.olean.module import Constant, Kind
from node.lean.olean.show import show
from node.lean.olean.terms import Tag, Terms
from node.lean.verify.judge import AXIOMS, UNFINISHED

_MADE_UP = re.compile(r"(?:^|\.)(?:_\w+|match_\d+(?:_\d+)*|proof_\d+(?:_\d+)*|eq_\d+)$")
"""Names that Lean generates with a number. A declaration before them may shift the number."""

_RENAMED = frozenset({Kind.DEFINITION, Kind.THEOREM})
"""Kinds whose generated names may differ in the submission. Types with different names are never the same."""

_SHOWN = 160
"""Most characters of a term in a message."""

MISSING = "missing: the reference states it, but the submission does not"


@dataclass(frozen=True)
class _Place:
    """A constant, and the user's file that declares it; `module` is empty for the library."""

    module: str
    name: str


_Pair = tuple[_Place, _Place]
"""A constant of the reference, and its counterpart in the submission."""


@dataclass(frozen=True)
class _Found:
    """The result of comparing two constants alone: different, or the same if the pairs below are the same."""

    reason: str = ""
    """How the constants differ; empty if they do not."""
    below: tuple[_Pair, ...] = ()


class _Differ(Exception):
    """Two terms or constants are not the same. The text says how."""


@dataclass
class Comparison:
    """Compares the files of a submission with those of a reference. All must be read into the same `Terms`."""

    terms: Terms
    reference: list[LocalModule]
    submission: list[LocalModule]
    filled: dict[str, str] = field(default_factory=dict)
    """Definitions that the reference leaves open, with their values in the submission."""
    fillable: bool = True
    """False if the submission may not fill what the reference leaves open."""
    _found: dict[_Pair, _Found] = field(default_factory=dict)
    _same: set[_Pair] = field(default_factory=set)
    """Pairs that are the same, including all pairs below them."""

    def __post_init__(self) -> None:
        self._references = {module.name: module for module in self.reference}
        self._submissions = {module.name: module for module in self.submission}

    def verdicts(self) -> Iterator[DeclarationVerdict]:
        """One verdict for each theorem of the reference, in its order."""
        for module in self.reference:
            for constant, keyword in module.stated():
                if constant.kind is Kind.THEOREM or (constant.kind is Kind.DEFINITION and self._open(constant)):
                    yield self._verdict(module, constant, keyword)

    def _verdict(self, home: LocalModule, expected: Constant, keyword: str) -> DeclarationVerdict:
        """The best verdict among the submission's theorems of this name: its files may declare it more than once."""
        name = expected.name
        shown, line = shown_name(name), home.line_of(name)
        verdicts = []
        for owner in self.submission:
            if name in owner.constants:
                axioms = tuple(sorted(owner.axioms.get(name, ())))
                reason = self._reason(home, owner, name, axioms)
                verdicts.append(DeclarationVerdict(shown, keyword, owner.line_of(name) or line, reason, axioms))
        if not verdicts:
            return DeclarationVerdict(shown, keyword, line, MISSING)
        return next((verdict for verdict in verdicts if verdict.accepted), verdicts[0])

    def _reason(self, home: LocalModule, owner: LocalModule, name: str, axioms: tuple[str, ...]) -> str:
        if reason := self.difference(_Place(home.name, name), _Place(owner.name, name)):
            return reason
        if not owner.constants[name].safe:
            return "it is unsafe or partial: the kernel does not check it"
        if rejection := owner.rejection(name):
            return rejection
        if name not in owner.axioms:
            return "the kernel has not checked it"
        foreign = [axiom for axiom in unsupported(AXIOMS, axioms) if not self._permitted(owner, axiom)]
        if "sorryAx" in foreign:
            return UNFINISHED
        if foreign:
            return f"it uses axioms that neither Lean nor the reference has: {', '.join(foreign)}"
        return ""

    def _permitted(self, owner: LocalModule, axiom: str) -> bool:
        """True if the reference declares the axiom that a file of the submission uses."""
        submitted = _place(owner, axiom)
        return any(
            axiom in module.constants
            and module.constants[axiom].kind is Kind.AXIOM
            and not self.difference(_Place(module.name, axiom), submitted)
            for module in self.reference
        )

    def statement_difference(self, home: LocalModule, owner: LocalModule, name: str) -> str:
        """How a theorem's statement differs from the one in the reference; empty if it does not."""
        one, other = home.constants[name], owner.constants[name]
        if len(one.level_parameters) != len(other.level_parameters):
            return "it has other universe parameters"
        try:
            pairs = [*self._terms_alike(_Sides(home, owner, one, other), "the statement", one.type, other.type)]
        except _Differ as error:
            return str(error)
        return next((reason for pair in pairs if (reason := self.difference(*pair))), "")

    # --- are two constants the same? --------------------------------------------------------------------------------

    def difference(self, expected: _Place, submitted: _Place) -> str:
        """How a constant of the submission, or a constant below it, differs from the reference; empty if none does.

        Types may refer to each other in cycles. So a pair counts as the same only after all pairs below it are checked.
        """
        waiting, seen = [(expected, submitted)], set()
        while waiting:
            pair = waiting.pop()
            if pair in seen or pair in self._same:
                continue
            seen.add(pair)
            if pair not in self._found:
                try:
                    self._found[pair] = _Found(below=tuple(self._alike(*pair)))
                except _Differ as error:
                    self._found[pair] = _Found(str(error))
            result = self._found[pair]
            if result.reason:
                return result.reason
            waiting += result.below
        self._same |= seen
        return ""

    def _alike(self, expected: _Place, submitted: _Place) -> Iterator[_Pair]:
        """The pairs that must also be the same for these two constants to be the same. Raises _Differ."""
        shown = shown_name(expected.name)
        if not expected.module and not submitted.module:
            if expected.name != submitted.name:
                raise _Differ(f"{shown_name(submitted.name)} stands where the reference has {shown}")
            return
        if not expected.module:
            raise _Differ(f"{shown} is from the library in the reference, but the submission declares its own")
        if not submitted.module:
            raise _Differ(f"{shown} is declared by the reference, but not by the submission")
        home, owner = self._references[expected.module], self._submissions[submitted.module]
        one, other = home.constants[expected.name], owner.constants[submitted.name]
        if one.kind is not other.kind:
            raise _Differ(f"{shown} is a {_kind(one)} in the reference, but a {_kind(other)} in the submission")
        if one.name != other.name and not (
            one.kind in _RENAMED and _MADE_UP.search(one.name) and _MADE_UP.search(other.name)
        ):
            raise _Differ(f"{shown_name(submitted.name)} stands where the reference has {shown}")
        if one.safe != other.safe:
            raise _Differ(f"{shown} is unsafe or partial in the reference or the submission only")
        if len(one.level_parameters) != len(other.level_parameters):
            raise _Differ(f"{shown} differs in the number of universe parameters")
        sides = _Sides(home, owner, one, other)
        yield from self._terms_alike(sides, f"the type of {shown}", one.type, other.type)
        yield from self._contents_alike(sides)

    def _contents_alike(self, sides: _Sides) -> Iterator[_Pair]:
        """The pairs that must be the same in the contents of two constants of equal kind and type. Raises _Differ."""
        one, other = sides.one, sides.other
        shown = shown_name(one.name)
        if one.kind is Kind.INDUCTIVE:
            if (one.parameters, len(one.constructors), len(one.mutual)) != (
                other.parameters,
                len(other.constructors),
                len(other.mutual),
            ):
                raise _Differ(f"{shown} is a different inductive type: parameters or constructors differ")
            pairs = zip((*one.constructors, *one.mutual), (*other.constructors, *other.mutual), strict=True)
            yield from (sides.pair(*names) for names in pairs)
        elif one.kind in (Kind.CONSTRUCTOR, Kind.RECURSOR):
            yield sides.pair(one.inductive, other.inductive)
        elif one.kind in (Kind.DEFINITION, Kind.OPAQUE):
            assert one.value is not None and other.value is not None
            if self._open(one) and self.fillable:
                self.filled[shown] = show(self.terms, other.value, _SHOWN)
            if not (self.fillable and self._open_as_a_whole(one)):
                yield from self._terms_alike(sides, f"the definition of {shown}", one.value, other.value)

    def _open(self, constant: Constant) -> bool:
        """True if a definition is open, at least in parts: its own value contains `sorry`."""
        return constant.value is not None and "sorryAx" in self.terms.constants(constant.value)

    def _open_as_a_whole(self, constant: Constant) -> bool:
        """True if a definition is `sorry`, or a function with the body `sorry`."""
        term = constant.value
        while term is not None and (shape := self.terms.shape(term))[0] == Tag.LAMBDA:
            term = int(shape[2])  # type: ignore[arg-type]
        return term is not None and self._head(term) == "sorryAx"

    def _head(self, term: int) -> str:
        """The constant that a term applies; empty if it applies none."""
        while (shape := self.terms.shape(term))[0] == Tag.APPLY:
            term = int(shape[1])  # type: ignore[arg-type]
        return str(shape[1]) if shape[0] == Tag.CONSTANT else ""

    # --- are two terms the same? ------------------------------------------------------------------------------------

    def _terms_alike(self, sides: _Sides, what: str, expected: int, submitted: int) -> Iterator[_Pair]:
        """The pairs of constants that must be the same for two terms to be the same. Raises _Differ.

        A `sorry` in a value of the reference matches any term. Arguments that are proofs may differ: they prove the
        same proposition, because the function is the same.
        """
        levels = dict(zip(sides.one.level_parameters, sides.other.level_parameters, strict=True))
        renamed = any(first != second for first, second in levels.items())
        in_value = expected == sides.one.value
        waiting, seen = [(expected, submitted)], set()
        while waiting:
            pair = waiting.pop()
            if pair in seen:
                continue
            seen.add(pair)
            first, second = (self.terms.shape(term) for term in pair)
            # Only in values: a statement with `sorry` must not match every other statement.
            if in_value and self.fillable and self._head(pair[0]) == "sorryAx":
                continue
            if first[0] != second[0] or len(first) != len(second):
                raise _Differ(f"{what} differs: {self._shown(*pair)}")
            match first, second:
                case (Tag.CONSTANT, str(name), tuple(ones)), (_, str(other_name), tuple(others)):
                    yield sides.pair(name, other_name)
                    if len(ones) != len(others) or not all(
                        self._levels_alike(*each, levels, renamed) for each in zip(ones, others, strict=True)
                    ):
                        raise _Differ(f"{what} differs: {self._shown(*pair)}")
                case (Tag.SORT, int(level)), (_, int(other_level)):
                    if not self._levels_alike(level, other_level, levels, renamed):
                        raise _Differ(f"{what} differs: {self._shown(*pair)}")
                case (Tag.PROJECTION, str(name), index, int(inner)), (
                    _,
                    str(other_name),
                    other_index,
                    int(other_inner),
                ):
                    if index != other_index:
                        raise _Differ(f"{what} differs: {self._shown(*pair)}")
                    yield sides.pair(name, other_name)
                    waiting.append((inner, other_inner))
                case (Tag.BOUND | Tag.LITERAL, *_), _:
                    if first != second:
                        raise _Differ(f"{what} differs: {self._shown(*pair)}")
                case (Tag.APPLY, int(function), int(argument)), (_, int(other_function), int(other_argument)):
                    waiting.append((function, other_function))
                    if not (self._proof(sides.home, argument) or self._proof(sides.owner, other_argument)):
                        waiting.append((argument, other_argument))
                case _:
                    waiting += [
                        (a, b)
                        for a, b in zip(first[1:], second[1:], strict=True)
                        if isinstance(a, int) and isinstance(b, int)
                    ]

    def _proof(self, module: LocalModule, term: int) -> bool:
        """True if a term applies a theorem of the user's files that Lean generated for a proof within a term."""
        name = self._head(term)
        if not _MADE_UP.search(name):
            return False
        owner = module.owner(name)
        return owner is not None and owner.constants[name].kind is Kind.THEOREM

    def _levels_alike(self, one: int, other: int, names: dict[str, str], renamed: bool) -> bool:
        if not renamed or (one == other and not self.terms.parametric(one)):
            return one == other
        first, second = self.terms.shape(one), self.terms.shape(other)
        if first[1] != second[1] or len(first) != len(second):
            return False
        return all(
            names.get(a) == b if isinstance(a, str) else self._levels_alike(a, b, names, renamed)  # type: ignore[arg-type]
            for a, b in zip(first[2:], second[2:], strict=True)
        )

    def _shown(self, expected: int, submitted: int) -> str:
        shown, reference = (show(self.terms, term, _SHOWN) for term in (submitted, expected))
        return f"`{shown}` stands where the reference has `{reference}`"


@dataclass(frozen=True)
class _Sides:
    """Two constants to compare, each with the file that declares it."""

    home: LocalModule
    owner: LocalModule
    one: Constant
    other: Constant

    def pair(self, expected: str, submitted: str) -> _Pair:
        """The pair of a name in the reference's constant and a name in the submission's."""
        return _place(self.home, expected), _place(self.owner, submitted)


def _place(module: LocalModule, name: str) -> _Place:
    """The constant that a name refers to in a file."""
    owner = module.owner(name)
    return _Place(owner.name if owner else "", name)


def _kind(constant: Constant) -> str:
    return constant.kind.name.lower()
