"""Writes declarations as data for the judge, and reads its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from node.lean.olean.declarations import parts_of, read_answer
from tests.node.lean.terms import read

Parts = tuple[str | int, ...]
"""A name, part by part."""
Term = str | int
"""An expression as text (`terms.py`), or the number of one that was made before."""


def name(text: str) -> Parts:
    return tuple(text.split(".")) if text else ()


def text(content: str | bytes) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return b"%d:%s" % (len(raw), raw)


@dataclass
class Data:
    """A file of declarations. `imports`: library modules."""

    imports: Sequence[str] = ("Init",)
    _names: dict[Parts, int] = field(default_factory=lambda: {(): 0})
    _levels: list[bytes] = field(default_factory=list)
    _expressions: list[bytes] = field(default_factory=list)
    _shared: dict[bytes, int] = field(default_factory=dict)
    steps: list[bytes] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)
    _name_entries: list[bytes] = field(default_factory=list)

    def n(self, of: str | Parts) -> int:
        """The number of a name."""
        parts = name(of) if isinstance(of, str) else of
        if parts not in self._names:
            parent, last = self.n(parts[:-1]), parts[-1]
            entry = b"n %d %d" % (parent, last) if isinstance(last, int) else b"s %d %s" % (parent, text(last))
            self._name_entries.append(entry)
            self._names[parts] = len(self._name_entries)
        return self._names[parts]

    def level(self, entry: bytes) -> int:
        self._levels.append(entry)
        return len(self._levels)

    def param(self, of: str) -> int:
        return self.level(b"p %d" % self.n(of))

    def succ(self, level: int) -> int:
        return self.level(b"s %d" % level)

    def add(self, entry: bytes) -> int:
        """The number of an expression. Equal expressions are written once."""
        if entry not in self._shared:
            self._shared[entry] = len(self._expressions)
            self._expressions.append(entry)
        return self._shared[entry]

    def var(self, index: int) -> int:
        return self.add(b"b %d" % index)

    def sort(self, level: int = 0) -> int:
        return self.add(b"s %d" % level)

    def const(self, of: str | Parts, *levels: int) -> int:
        return self.add(b" ".join([b"c %d %d" % (self.n(of), len(levels)), *(b"%d" % level for level in levels)]))

    def app(self, function: int, *arguments: int) -> int:
        for argument in arguments:
            function = self.add(b"a %d %d" % (function, argument))
        return function

    def lam(self, kind: int, body: int) -> int:
        return self.add(b"l %d %d" % (kind, body))

    def pi(self, kind: int, body: int) -> int:
        return self.add(b"p %d %d" % (kind, body))

    def let(self, kind: int, value: int, body: int) -> int:
        return self.add(b"t %d %d %d" % (kind, value, body))

    def nat(self, number: int) -> int:
        return self.add(b"n %x" % number)

    def string(self, content: str) -> int:
        return self.add(b"q " + text(content))

    def proj(self, struct: str, index: int, of: int) -> int:
        return self.add(b"j %d %d %d" % (self.n(struct), index, of))

    def read(self, term: Term) -> int:
        """The number of an expression that is written as text."""
        return read(self, term) if isinstance(term, str) else term

    def _params(self, params: Sequence[str]) -> bytes:
        return b" ".join([b"%d" % len(params), *(b"%d" % self.n(param) for param in params)])

    def axiom(self, of: str | Parts, kind: Term, params: Sequence[str] = ()) -> None:
        self.steps.append(b"a %d %s %d" % (self.n(of), self._params(params), self.read(kind)))

    def theorem(self, of: str | Parts, kind: Term, value: Term, params: Sequence[str] = ()) -> None:
        self._valued(b"t", of, kind, value, params)

    def opaque(self, of: str | Parts, kind: Term, value: Term, params: Sequence[str] = ()) -> None:
        self._valued(b"o", of, kind, value, params)

    def definition(self, of: str | Parts, kind: Term, value: Term, params: Sequence[str] = (), hint: int = 3) -> None:
        self._valued(b"d", of, kind, value, params)
        self.steps[-1] += b" %d" % hint

    def _valued(self, step: bytes, of: str | Parts, kind: Term, value: Term, params: Sequence[str]) -> None:
        words = (step, self.n(of), self._params(params), self.read(kind), self.read(value))
        self.steps.append(b"%s %d %s %d %d" % words)

    def inductive(
        self,
        types: Sequence[tuple[str | Parts, Term, Sequence[tuple[str | Parts, Term]]]],
        parameters: int = 0,
        params: Sequence[str] = (),
    ) -> None:
        words = [b"i", self._params(params), b"%d %d" % (parameters, len(types))]
        for of, kind, constructors in types:
            words.append(b"%d %d %d" % (self.n(of), self.read(kind), len(constructors)))
            words += [b"%d %d" % (self.n(each), self.read(its)) for each, its in constructors]
        self.steps.append(b" ".join(words))

    def fresh(self) -> None:
        self.steps.append(b"e")

    def ask(self, *names: str | Parts) -> None:
        self.queries += [self.n(each) for each in names]

    def written(self) -> bytes:
        modules = [b"%d" % self.n(module) for module in self.imports]
        sections = [
            (b"names", self._name_entries),
            (b"levels", self._levels),
            (b"expressions", self._expressions),
            (b"imports", modules),
            (b"steps", self.steps),
            (b"queries", [b"%d" % query for query in self.queries]),
        ]
        lines = [b"proofmesh-declarations 1"]
        for heading, entries in sections:
            lines += [b"%s %d" % (heading, len(entries)), *entries]
        return b"\n".join([*lines, b"end\n"])


@dataclass(frozen=True)
class Answer:
    """What the judge printed. A refused step has its reason, an accepted one an empty text."""

    steps: list[str]
    axioms: list[set[Parts] | None]
    """None: there is no such constant."""

    @property
    def accepted(self) -> list[bool]:
        return [not reason for reason in self.steps]


def answer(output: bytes, steps: int, queries: int) -> Answer:
    """Raises BadAnswer."""
    read = read_answer(output, steps, queries)
    axioms = [None if each is None else {tuple(parts_of(name)) for name in each} for each in read.axioms]
    return Answer(list(read.reasons), axioms)
