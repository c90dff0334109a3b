"""Checks that a submission proves what a reference states, by comparing compiled names, types and definitions. Pure.

For each theorem of the reference, the submission must have a theorem with the same name and type. Every constant of
the user's files that this type depends on must be the same in both: its kind, its type, and the value of definitions.
If the reference leaves a definition open (its value is `sorry`), the submission may fill it. If only parts are open,
the other parts must be the same. Lean's own axioms and those that the reference declares are permitted. Comparator and
SafeVerify give the same guarantee.

A name is resolved by the imports of the file that uses it: two files of a submission may declare the same name.
Universe parameters may have another order: constants are the same if one bijection of parameters makes their types and
values equal, and if all constants that refer to them apply their levels in the corresponding order. An `example` has
no name of its own: any example of the submission with the same statement counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from node.lean.check.files.judging import LocalModule, shown_name, unsupported
from node.lean.check.files.report import DeclarationVerdict
from node.lean.check.verify.judge import AXIOMS, UNFINISHED
from node.lean.olean.module import Constant, Kind
from node.lean.olean.terms import LevelTag, Tag, Terms, show
from node.lean.text.statement import is_module

_MADE_UP = re.compile(r"(?:^|\.)(?:_\w+|match_\d+(?:_\d+)*|proof_\d+(?:_\d+)*|eq_\d+)$")
"""Names that Lean generates with a number. A declaration before them may shift the number."""

_RENAMED = frozenset({Kind.DEFINITION, Kind.THEOREM})
"""Kinds whose generated names may differ in the submission. Types with different names are never the same."""

_DEPTH = 100
"""Most constants whose universe parameters are matched because of each other. Deeper ones are matched by name."""

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
    _levels: dict[tuple[object, ...], int] = field(default_factory=dict)
    """Numbers of levels that are compared under another name or order of their parameters."""
    _orders: dict[_Pair, tuple[int, ...]] = field(default_factory=dict)
    """The bijections of universe parameters."""
    _ordering: set[_Pair] = field(default_factory=set)
    """Pairs whose bijection is being determined."""

    def __post_init__(self) -> None:
        self._references = {module.name: module for module in self.reference}
        self._submissions = {module.name: module for module in self.submission}

    def verdicts(self) -> Iterator[DeclarationVerdict]:
        """One verdict for each theorem of the reference, in its order."""
        for module in self.reference:
            for constant, keyword in module.stated():
                if constant.kind is Kind.THEOREM or (constant.kind is Kind.DEFINITION and self._open(constant)):
                    yield self._as_written(self._verdict(module, constant, keyword))

    def _as_written(self, verdict: DeclarationVerdict) -> DeclarationVerdict:
        """The verdict without the names that we give to examples."""
        name, reason = verdict.name, verdict.reason
        for module in (*self.reference, *self.submission):
            name, reason = module.text.as_written(name), module.text.as_written(reason)
        return replace(verdict, name=name, reason=reason)

    def _verdict(self, home: LocalModule, expected: Constant, keyword: str) -> DeclarationVerdict:
        """The best verdict among the submission's theorems of this name: its files may declare it more than once."""
        name = expected.name
        example = _is_example(home, name)
        shown, line = "example" if example else shown_name(name), home.line_of(name)
        verdicts = []
        for owner in self.submission:
            # Examples are numbered in the order of their file, so the same example may have another number there.
            names = _examples(owner, expected.type) if example else _of_name(home, owner, name)
            for each in names:
                axioms = tuple(sorted(owner.axioms.get(each, ())))
                reason = self._reason(_Place(home.name, name), owner, each, axioms)
                verdicts.append(DeclarationVerdict(shown, keyword, owner.line_of(each) or line, reason, axioms))
                if not reason:
                    return verdicts[-1]
        if example and len(verdicts) > 1:
            different = f"none of the submission's {len(verdicts)} examples proves it"
            return DeclarationVerdict(shown, keyword, line, f"{different}; the first: {verdicts[0].reason}")
        return verdicts[0] if verdicts else DeclarationVerdict(shown, keyword, line, MISSING)

    def _reason(self, expected: _Place, owner: LocalModule, name: str, axioms: tuple[str, ...]) -> str:
        if reason := self.difference(expected, _Place(owner.name, name)):
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
            home = self._references.get(pair[0].module)
            if home is not None and pair[0] != expected and _is_example(home, pair[0].name):
                return "it depends on an example of the reference, whose proof may be another one in the submission"
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
        # 1. A constant of the library is the same only under the same name; no side may replace it by its own.
        if not expected.module and not submitted.module:
            if expected.name != submitted.name:
                raise _Differ(f"{shown_name(submitted.name)} stands where the reference has {shown}")
            return
        if not expected.module:
            raise _Differ(f"{shown} is from the library in the reference, but the submission declares its own")
        if not submitted.module:
            raise _Differ(f"{shown} is declared by the reference, but not by the submission")
        # 2. Both declare one: the same kind, and the same name unless Lean made the name up.
        home, owner = self._references[expected.module], self._submissions[submitted.module]
        one, other = home.constants[expected.name], owner.constants[submitted.name]
        if one.kind is not other.kind:
            raise _Differ(f"{shown} is {_kind(one)} in the reference, but {_kind(other)} in the submission")
        example = _is_example(home, one.name)
        if example != _is_example(owner, other.name):
            raise _Differ(
                f"{shown_name(submitted.name)} stands where the reference has {shown}: only one is an example"
            )
        renamed = one.kind in _RENAMED and _MADE_UP.search(one.name) and _MADE_UP.search(other.name)
        # In a module, names are private without `public`. Theorems and definitions with the same contents are the same
        # by definition. Two axioms, opaque constants or types of the same form are not.
        comparable = one.kind in (Kind.THEOREM, Kind.DEFINITION)
        private = comparable and _same_but_for_privacy(home, one.name, owner, other.name)
        if one.name != other.name and not renamed and not private and not example:
            raise _Differ(f"{shown_name(submitted.name)} stands where the reference has {shown}")
        # 3. What a type alone does not show: `unsafe`, `partial`, universes.
        if one.safe != other.safe:
            raise _Differ(f"{shown} is unsafe or partial in the reference or the submission only")
        if len(one.level_parameters) != len(other.level_parameters):
            raise _Differ(f"{shown} differs in the number of universe parameters")
        # 4. Type and contents, each with the constants that they mention in turn.
        sides = _Sides(home, owner, one, other)
        yield from self._terms_alike(sides, f"the type of {shown}", one.type, other.type)
        if not example:  # the reference's example has no proof, and nothing refers to it
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
        order = self._order((_place(sides.home, sides.one.name), _place(sides.owner, sides.other.name)))
        levels = {
            name: sides.other.level_parameters[at] for name, at in zip(sides.one.level_parameters, order, strict=True)
        }
        renamed = any(first != second for first, second in levels.items())
        in_value = expected == sides.one.value
        waiting, seen = [(expected, submitted, 0)], set()
        while waiting:
            *terms, depth = waiting.pop()
            pair = (terms[0], terms[1])
            if pair in seen:
                continue
            seen.add(pair)
            first, second = (self.terms.shape(term) for term in pair)
            # Only in values: a statement with `sorry` must not match every other statement.
            if in_value and self.fillable and self._head(pair[0]) == "sorryAx":
                continue
            if first[0] != second[0] or len(first) != len(second):
                raise _Differ(f"{what} differs: {self._shown(*pair, depth)}")
            match first, second:
                case (Tag.CONSTANT, str(name), tuple(ones)), (_, str(other_name), tuple(others)):
                    pair_below = sides.pair(name, other_name)
                    yield pair_below
                    if len(ones) != len(others) or not all(
                        self._levels_alike(level, others[at], levels, renamed)
                        for level, at in zip(ones, self._applied(pair_below, len(ones)), strict=True)
                    ):
                        raise _Differ(f"{what} differs: {self._shown(*pair, depth)}")
                case (Tag.SORT, int(level)), (_, int(other_level)):
                    if not self._levels_alike(level, other_level, levels, renamed):
                        raise _Differ(f"{what} differs: {self._shown(*pair, depth)}")
                case (Tag.PROJECTION, str(name), index, int(inner)), (
                    _,
                    str(other_name),
                    other_index,
                    int(other_inner),
                ):
                    if index != other_index:
                        raise _Differ(f"{what} differs: {self._shown(*pair, depth)}")
                    yield sides.pair(name, other_name)
                    waiting.append((inner, other_inner, depth))
                case (Tag.BOUND | Tag.LITERAL, *_), _:
                    if first != second:
                        raise _Differ(f"{what} differs: {self._shown(*pair, depth)}")
                case (Tag.APPLY, int(function), int(argument)), (_, int(other_function), int(other_argument)):
                    waiting.append((function, other_function, depth))
                    if not (self._proof(sides.home, argument) or self._proof(sides.owner, other_argument)):
                        waiting.append((argument, other_argument, depth))
                case _:
                    # `fun`, `∀` and `let`: their last part is below one variable more.
                    last = len(first) - 2
                    waiting += [
                        (a, b, depth + (place == last))
                        for place, (a, b) in enumerate(zip(first[1:], second[1:], strict=True))
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
        """True if two levels are equal once the parameters of the first are renamed.

        Lean sorts the arguments of `max` by name, so renamed ones may have another order.
        """
        if not renamed or (one == other and not self.terms.parametric(one)):
            return one == other
        return self._level(one, names) == self._level(other, {})

    def _level(self, level: int, names: dict[str, str]) -> int:
        """The number of a level with renamed parameters, which is the same for any order of the arguments of `max`."""
        made: dict[int, int] = {}
        arguments: dict[int, frozenset[int]] = {}
        waiting = [level]
        while waiting:
            shape = self.terms.shape(waiting[-1])
            parts = [each for each in shape[2:] if isinstance(each, int)]
            if missing := [each for each in parts if each not in made]:
                waiting += missing
                continue
            below = [made[each] for each in parts]
            form: tuple[object, ...] = (shape[1], *below)
            if shape[1] == LevelTag.MAX:
                inside = frozenset(each for part in below for each in arguments.get(part, (part,)))
                form = (shape[1], inside)
            elif shape[1] == LevelTag.PARAMETER:
                form = (shape[1], names.get(str(shape[2]), shape[2]))
            number = self._levels.setdefault(form, len(self._levels))
            if shape[1] == LevelTag.MAX:
                arguments[number] = inside
            made[waiting.pop()] = number
        return made[level]

    # --- universe parameters ----------------------------------------------------------------------------------------

    def _applied(self, pair: _Pair, number: int) -> tuple[int, ...]:
        """For each level that a constant of the reference is applied to: its index in the submission's application."""
        order = self._order(pair)
        return order if len(order) == number else tuple(range(number))

    def _order(self, pair: _Pair, depth: int = 0) -> tuple[int, ...]:
        """For each universe parameter of a constant of the reference: its index in the submission's constant.

        This only chooses the bijection. `_terms_alike` then checks types, values and all applications with it, so a
        wrong choice can only make constants differ. The order is the same in all comparisons, because it is kept.
        """
        if pair in self._orders:
            return self._orders[pair]
        constants = self._both(pair)
        if constants is None:  # of the library
            return ()
        one, other = constants
        number = len(one.level_parameters)
        plain = tuple(range(number))
        if number < 2 or number != len(other.level_parameters):
            return plain
        if pair in self._ordering or depth >= _DEPTH:
            return ()
        self._ordering.add(pair)
        matching = _Matching(self, self._references[pair[0].module], self._submissions[pair[1].module], depth + 1)
        # 1. The types of an inductive type's family have the same parameters, and so have their constructors.
        for first, second in self._family(pair):
            matching.walk(first.type, second.type)
        # 2. A parameter may occur in the value only.
        if one.value is not None and other.value is not None:
            matching.walk(one.value, other.value)
        # 3. Parameters that do not occur at all.
        matched = matching.completed(one.level_parameters, other.level_parameters)
        self._ordering.discard(pair)
        self._orders[pair] = tuple(other.level_parameters.index(matched[name]) for name in one.level_parameters)
        return self._orders[pair]

    def _family(self, pair: _Pair) -> Iterator[tuple[Constant, Constant]]:
        """The constants whose types determine the order: the constant itself, or its inductive types and constructors.

        A recursor may have a parameter of its own, so its own type follows.
        """
        home, owner = self._references[pair[0].module], self._submissions[pair[1].module]
        one, other = home.constants[pair[0].name], owner.constants[pair[1].name]
        name, other_name = one.inductive or one.name, other.inductive or other.name
        types = home.constants.get(name), owner.constants.get(other_name)
        if types[0] is not None and types[1] is not None and Kind.INDUCTIVE is types[0].kind is types[1].kind:
            names = [(name, other_name), *zip(types[0].mutual, types[1].mutual, strict=False)]
            names += [
                each
                for first, second in list(names)
                if first in home.constants and second in owner.constants
                for each in zip(home.constants[first].constructors, owner.constants[second].constructors, strict=False)
            ]
            for first, second in names:
                if first in home.constants and second in owner.constants:
                    yield home.constants[first], owner.constants[second]
        yield one, other

    def _both(self, pair: _Pair) -> tuple[Constant, Constant] | None:
        """The constants of a pair; None if one of them is not of the user's files."""
        home, owner = self._references.get(pair[0].module), self._submissions.get(pair[1].module)
        if home is None or owner is None:
            return None
        return home.constants[pair[0].name], owner.constants[pair[1].name]

    def _shown(self, expected: int, submitted: int, depth: int) -> str:
        """How two terms differ. `depth`: the number of variables around them."""
        shown, reference = (show(self.terms, term, _SHOWN, depth) for term in (submitted, expected))
        names = " (x, y, z, ... are the variables in their order)" if depth else ""
        return f"`{shown}` stands where the reference has `{reference}`{names}"


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


@dataclass
class _Matching:
    """Finds which universe parameters of two constants correspond, by walking their terms together.

    It stops wherever the terms differ: it reports no difference, and matches as many parameters as it can.
    """

    comparison: Comparison
    home: LocalModule
    owner: LocalModule
    depth: int
    """Number of constants whose parameters are being matched because of each other."""
    matched: dict[str, str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _unordered: list[tuple[int, int]] = field(default_factory=list)
    """Levels that begin with `max`: the order of its arguments says less than other levels do."""

    def walk(self, expected: int, submitted: int) -> None:
        """Match the parameters in two terms, from left to right."""
        terms = self.comparison.terms
        waiting = [(expected, submitted)]
        while waiting:
            pair = waiting.pop()
            if pair in self._seen or not (terms.parametric(pair[0]) and terms.parametric(pair[1])):
                continue
            self._seen.add(pair)
            first, second = (terms.shape(term) for term in pair)
            if first[0] != second[0] or len(first) != len(second):
                continue
            match first, second:
                case (Tag.CONSTANT, str(name), tuple(ones)), (_, str(other_name), tuple(others)):
                    below = _place(self.home, name), _place(self.owner, other_name)
                    order = self.comparison._order(below, self.depth) or tuple(range(len(ones)))
                    if len(ones) == len(others) == len(order):
                        for level, at in zip(ones, order, strict=True):
                            self._levels(level, others[at])
                case (Tag.SORT, int(level)), (_, int(other_level)):
                    self._levels(level, other_level)
                case _:
                    # The last part comes off the list first. The index of a projection is no term.
                    inside = zip(first[1:], second[1:], strict=True)
                    parts = [(a, b) for a, b in inside if isinstance(a, int) and isinstance(b, int)]
                    waiting += parts[-1:] if first[0] == Tag.PROJECTION else reversed(parts)

    def completed(self, ones: tuple[str, ...], others: tuple[str, ...]) -> dict[str, str]:
        """The whole bijection: parameters that occur nowhere are matched by name, the remaining ones in their order."""
        for pair in self._unordered:
            self._levels(*pair, in_order=True)
        matched = {one: other for one, other in self.matched.items() if one in ones and other in others}
        for one in ones:
            if one not in matched and one in others and one not in matched.values():
                matched[one] = one
        free = [other for other in others if other not in set(matched.values())]
        return matched | dict(zip((one for one in ones if one not in matched), free, strict=True))

    def _levels(self, one: int, other: int, *, in_order: bool = False) -> None:
        terms = self.comparison.terms
        waiting = [(one, other)]
        while waiting:
            pair = waiting.pop()
            first, second = (terms.shape(level) for level in pair)
            if first[1] != second[1] or len(first) != len(second):
                continue
            if first[1] == LevelTag.MAX and not in_order:
                self._unordered.append(pair)
                continue
            for a, b in reversed([*zip(first[2:], second[2:], strict=True)]):
                if isinstance(a, int) and isinstance(b, int):
                    waiting.append((a, b))
                elif isinstance(a, str) and isinstance(b, str) and a not in self.matched and b not in self._taken:
                    self.matched[a] = b
                    self._taken.add(b)


def _is_example(module: LocalModule, name: str) -> bool:
    """True if a constant is an `example` of a file, under the name that it got for compilation."""
    return name.rpartition(".")[2] in module.text.examples


def _examples(module: LocalModule, wanted: int) -> list[str]:
    """The constants of a file's examples. Those whose type is the term `wanted` come first."""
    names = [name for name in module.constants if _is_example(module, name)]
    return sorted(names, key=lambda name: module.constants[name].type != wanted)


def _of_name(home: LocalModule, owner: LocalModule, name: str) -> list[str]:
    """The names of the constants of a file that may be the theorem that a file of the reference calls `name`."""
    if name in owner.constants:
        return [name]
    return [each for each in owner.constants if _same_but_for_privacy(home, name, owner, each)]


def _same_but_for_privacy(home: LocalModule, name: str, owner: LocalModule, other: str) -> bool:
    """True if two names are the same, except that one is private, in a file where all are that are not `public`."""
    private = name.startswith("_private.")
    if private is other.startswith("_private.") or shown_name(name) != shown_name(other):
        return False
    return is_module((home if private else owner).text.original)


def _place(module: LocalModule, name: str) -> _Place:
    """The constant that a name refers to in a file."""
    owner = module.owner(name)
    return _Place(owner.name if owner else "", name)


_KINDS = {
    Kind.OPAQUE: "an opaque constant",
    Kind.INDUCTIVE: "an inductive type",
    Kind.QUOTIENT: "a part of the quotient type",
}


def _kind(constant: Constant) -> str:
    """The kind of a constant, with its article."""
    name = constant.kind.name.lower()
    return _KINDS.get(constant.kind, f"{'an' if name[0] in 'aeiou' else 'a'} {name}")
