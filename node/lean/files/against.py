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
    _same: dict[tuple[str, str], str] = field(default_factory=dict)

    def verdicts(self) -> Iterator[DeclarationVerdict]:
        """One verdict for each theorem of the reference, in its order."""
        permitted = AXIOMS | {
            name
            for module in self.reference
            for name, constant in module.constants.items()
            if constant.kind is Kind.AXIOM and not self.difference(name, name)
        }
        for module in self.reference:
            for constant, command in module.written():
                if constant.kind is Kind.THEOREM or (constant.kind is Kind.DEFINITION and _open(module, constant)):
                    yield self._verdict(module, constant, command.keyword, permitted)

    def _verdict(
        self, module: LocalModule, wanted: Constant, keyword: str, permitted: set[str] | frozenset[str]
    ) -> DeclarationVerdict:
        name = wanted.name
        owner, given = self._find(self.submission, name)
        axioms: tuple[str, ...] = ()
        line = module.lines[name]
        if owner is None or given is None:
            reason = "missing: the reference states it, and the submission does not"
        else:
            axioms = tuple(sorted(owner.axioms.get(name, ())))
            line = owner.lines.get(name, line)
            reason = self._reason(owner, wanted, given, axioms, permitted)
        return DeclarationVerdict(shown_name(name), keyword, line, reason, axioms)

    def _reason(
        self,
        owner: LocalModule,
        wanted: Constant,
        given: Constant,
        axioms: tuple[str, ...],
        permitted: set[str] | frozenset[str],
    ) -> str:
        if reason := self.difference(wanted.name, wanted.name):
            return reason
        if not given.safe:
            return "it is unsafe or partial: the kernel does not check it"
        if owner.whole_problem():
            return owner.whole_problem()
        if given.name in owner.rejected:
            return f"the kernel rejects it: {owner.rejected[given.name]}"
        if broken := owner.rests_on_rejected(given.name):
            return f"it rests on {shown_name(broken)}, which the kernel rejects"
        foreign = unsupported(permitted, axioms)
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
