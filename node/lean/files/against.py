"""Does a submission prove what a reference states? Compares what was compiled: names, types, definitions. Pure.

For each theorem of the reference the submission must have a theorem of the same name and the same type. Every constant
of the user's own files behind that type must be the same in both: its kind, its type, and the value of definitions.
A definition that the reference leaves open (its value is `sorry`) may be filled. The axioms that are permitted are
Lean's own, and those that the reference declares, too. The promise is that of Comparator and SafeVerify.
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
from node.lean.verify.verdicts import AXIOMS

_MADE_UP = re.compile(r"(?:^|\.)(?:_\w+|match_\d+(?:_\d+)*|proof_\d+(?:_\d+)*|eq_\d+)$")
"""Names that Lean numbers: another declaration before them may shift the number."""

_SHOWN = 160


@dataclass
class Comparison:
    """Compares the files of a submission with those of a reference. All of them were read into one `Terms`."""

    terms: Terms
    reference: list[LocalModule]
    submission: list[LocalModule]
    filled: dict[str, str] = field(default_factory=dict)
    """Definitions that the reference leaves open, with what the submission says."""

    def verdicts(self) -> Iterator[DeclarationVerdict]:
        """One verdict for each theorem of the reference, in its order."""
        pairs: dict[tuple[str, str], _Pair] = {}
        for home in self.reference:
            for wanted, command in home.written():
                if wanted.kind is not Kind.THEOREM and not (wanted.kind is Kind.DEFINITION and _open(home, wanted)):
                    continue
                owner = self._owner(home, wanted.name)
                if owner is None:
                    reason = "missing: the reference states it, and the submission does not"
                    yield DeclarationVerdict(shown_name(wanted.name), command.keyword, home.lines[wanted.name], reason)
                    continue
                pair = pairs.setdefault((home.name, owner.name), _Pair(self.terms, home, owner, self.filled))
                yield pair.verdict(wanted, command.keyword)

    def _owner(self, home: LocalModule, name: str) -> LocalModule | None:
        """The file of the submission that declares a constant: the one that is named as the reference's, if it does."""
        owners = [module for module in self.submission if name in module.constants]
        return next((module for module in owners if module.name == home.name), owners[0] if owners else None)


class _Pair:
    """Compares one file of a submission with one of a reference, each with what it imports, and with nothing else.

    Another file of the submission may declare the same names otherwise: what it says is not what is proved here.
    """

    def __init__(self, terms: Terms, home: LocalModule, owner: LocalModule, filled: dict[str, str]) -> None:
        self.terms = terms
        self.home, self.owner = home, owner
        self.reference, self.submission = [home, *home.others], [owner, *owner.others]
        self.filled = filled
        self._same: dict[tuple[str, str], str] = {}
        self._permitted = AXIOMS | {
            name
            for module in self.reference
            for name, constant in module.constants.items()
            if constant.kind is Kind.AXIOM and not self.difference(name, name)
        }

    def verdict(self, wanted: Constant, keyword: str) -> DeclarationVerdict:
        """Whether the submission proves a theorem of the reference."""
        owner, name = self.owner, wanted.name
        axioms = tuple(sorted(owner.axioms.get(name, ())))
        line = owner.lines.get(name, self.home.lines[name])
        return DeclarationVerdict(shown_name(name), keyword, line, self._reason(wanted, axioms), axioms)

    def _reason(self, wanted: Constant, axioms: tuple[str, ...]) -> str:
        owner, name = self.owner, wanted.name
        if reason := self.difference(name, name) or owner.whole_problem():
            return reason
        if name not in owner.axioms:
            return "it is unsafe or partial: the kernel does not check it"
        if name in owner.rejected:
            return f"the kernel rejects it: {owner.rejected[name]}"
        if broken := owner.rests_on_rejected(name):
            return f"it rests on {shown_name(broken)}, which the kernel rejects"
        foreign = unsupported(self._permitted, axioms)
        if "sorryAx" in foreign:
            return "the proof is not finished: it uses sorry"
        if foreign:
            return f"it rests on axioms that neither Lean nor the reference has: {', '.join(foreign)}"
        return ""

    # --- are two constants the same? --------------------------------------------------------------------------------

    def difference(self, wanted: str, given: str) -> str:
        """How a constant of the submission differs from one of the reference; empty when it does not."""
        key = (wanted, given)
        if key not in self._same:
            self._same[key] = ""  # what is asked again on the way (recursive types) differs elsewhere or nowhere
            self._same[key] = self._difference(wanted, given)
        return self._same[key]

    def _difference(self, wanted: str, given: str) -> str:
        home, one = self._find(self.reference, wanted)
        owner, other = self._find(self.submission, given)
        shown = shown_name(wanted)
        if home is None or owner is None or one is None or other is None:
            if one is None and other is None:
                return "" if wanted == given else f"{shown} is not {shown_name(given)}"
            if one is None:
                return f"{shown} is the library's in the reference, and the submission declares its own"
            return f"{shown} is declared by the reference, and not by the submission"
        if one.kind is not other.kind:
            return f"{shown} is a {_kind(one)} in the reference, and a {_kind(other)} in the submission"
        if one.safe != other.safe:
            return f"{shown} is unsafe or partial in one of the two"
        if len(one.level_parameters) != len(other.level_parameters):
            return f"{shown} has another number of universe parameters"
        if reason := self._terms_differ(one, other, one.type, other.type):
            return f"the type of {shown} differs: {reason}"
        return self._contents_differ(home, one, other)

    def _contents_differ(self, home: LocalModule, one: Constant, other: Constant) -> str:
        """How two constants of the same kind and type differ in what they are made of."""
        shown = shown_name(one.name)
        if one.kind is Kind.THEOREM or one.kind is Kind.AXIOM:
            return ""
        if one.kind is Kind.INDUCTIVE:
            if (one.parameters, len(one.constructors), len(one.mutual)) != (
                other.parameters,
                len(other.constructors),
                len(other.mutual),
            ):
                return f"{shown} is another inductive type: parameters or constructors differ"
            pairs = zip((*one.constructors, *one.mutual), (*other.constructors, *other.mutual), strict=True)
            return next((reason for pair in pairs if (reason := self._named_alike(*pair))), "")
        if one.kind in (Kind.CONSTRUCTOR, Kind.RECURSOR):
            return self._named_alike(one.inductive, other.inductive)
        assert one.value is not None and other.value is not None
        if _open(home, one):
            self.filled[shown] = show(self.terms, other.value, _SHOWN)
            return ""
        reason = self._terms_differ(one, other, one.value, other.value)
        return f"the definition of {shown} differs: {reason}" if reason else ""

    def _named_alike(self, wanted: str, given: str) -> str:
        if wanted != given and not (_MADE_UP.search(wanted) and _MADE_UP.search(given)):
            return f"{shown_name(given)} stands where the reference has {shown_name(wanted)}"
        return self.difference(wanted, given)

    def _terms_differ(self, one: Constant, other: Constant, wanted: int, given: int) -> str:
        """Where two terms differ, or a constant in them; empty when they do not."""
        levels = dict(zip(one.level_parameters, other.level_parameters, strict=True))
        renamed = any(first != second for first, second in levels.items())
        waiting, seen = [(wanted, given)], set()
        while waiting:
            pair = waiting.pop()
            if pair in seen:
                continue
            seen.add(pair)
            first, second = (self.terms.shape(term) for term in pair)
            if first[0] != second[0] or len(first) != len(second):
                return self._shown(*pair)
            match first, second:
                case (Tag.CONSTANT, str(name), tuple(ones)), (_, str(other_name), tuple(others)):
                    if reason := self._named_alike(name, other_name):
                        return reason
                    if len(ones) != len(others) or not all(
                        self._levels_alike(*each, levels, renamed) for each in zip(ones, others, strict=True)
                    ):
                        return self._shown(*pair)
                case (Tag.SORT, int(level)), (_, int(other_level)):
                    if not self._levels_alike(level, other_level, levels, renamed):
                        return self._shown(*pair)
                case (Tag.PROJECTION, str(name), index, int(inner)), (
                    _,
                    str(other_name),
                    other_index,
                    int(other_inner),
                ):
                    if index != other_index:
                        return self._shown(*pair)
                    if reason := self._named_alike(name, other_name):
                        return reason
                    waiting.append((inner, other_inner))
                case (Tag.BOUND | Tag.LITERAL, *_), _:
                    if first != second:
                        return self._shown(*pair)
                case _:
                    waiting += [
                        (a, b)
                        for a, b in zip(first[1:], second[1:], strict=True)
                        if isinstance(a, int) and isinstance(b, int)
                    ]
        return ""

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

    def _shown(self, wanted: int, given: int) -> str:
        return (
            f"`{show(self.terms, given, _SHOWN)}` stands where the reference has `{show(self.terms, wanted, _SHOWN)}`"
        )

    @staticmethod
    def _find(modules: list[LocalModule], name: str) -> tuple[LocalModule | None, Constant | None]:
        for module in modules:
            if name in module.constants:
                return module, module.constants[name]
        return None, None


def _open(module: LocalModule, constant: Constant) -> bool:
    """Whether a definition is left open: its own value is `sorry`."""
    return constant.value is not None and "sorryAx" in module.terms.constants(constant.value)


def _kind(constant: Constant) -> str:
    return constant.kind.name.lower()
