"""Hash-consed names, universe levels and expressions: two terms are equal exactly when their numbers are equal.

One `Terms` holds the terms of several files. Statements of two files are then compared by comparing two numbers. The
names and binder kinds of bound variables, and notes of the elaborator (`mdata`), are left out: they have no meaning.

Each expression and level carries a summary: its loose bound variables, and whether it has universe parameters. Lean's
kernel trusts the summary and skips work because of it. A file could contain a wrong summary, so it is computed again
here and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum

from node.lean.olean.region import BadOlean, Node, Region

ANONYMOUS = ""

MOST_NODES = 5_000_000
"""Most terms of all files together. A statement has about ten to a few thousand terms."""


class Tag(IntEnum):
    """Constructors of `Lean.Expr`, in Lean's order."""

    BOUND = 0
    FREE = 1
    META = 2
    SORT = 3
    CONSTANT = 4
    APPLY = 5
    LAMBDA = 6
    FORALL = 7
    LET = 8
    LITERAL = 9
    NOTE = 10
    PROJECTION = 11


class LevelTag(IntEnum):
    """Constructors of `Lean.Level`, in Lean's order."""

    ZERO = 0
    SUCCESSOR = 1
    MAX = 2
    IMAX = 3
    PARAMETER = 4
    META = 5


Shape = tuple[int | str | tuple[int, ...], ...]
"""A term's tag and its fields. A field is the number of a term, a name or a numeral."""

_HAS_FREE, _HAS_META, _HAS_LEVEL_META, _HAS_LEVEL_PARAMETER = (1 << bit for bit in (40, 41, 42, 43))
_LOOSE_BITS = 44
_LEVEL_HAS_META, _LEVEL_HAS_PARAMETER = 1 << 32, 1 << 33


class Terms:
    """The terms of one comparison."""

    def __init__(self) -> None:
        self._numbers: dict[Shape, int] = {}
        self._shapes: list[Shape] = []
        self._loose: list[int] = []
        """By term number: the largest index of a loose bound variable plus one; 0 for a closed expression."""
        self._parametric: list[bool] = []
        """By term number: whether a universe parameter occurs in the term."""

    @property
    def count(self) -> int:
        """The number of terms."""
        return len(self._shapes)

    def shape(self, term: int) -> Shape:
        """The tag and fields of a term."""
        return self._shapes[term]

    def constants(self, *terms: int) -> set[str]:
        """Names of the constants that occur in terms, types of projections included."""
        return {name for shape in self._below(terms) for name in _names(shape)}

    def everything_below(self, terms: Iterable[int]) -> set[int]:
        """The numbers of terms and of all terms inside them, universe levels included."""
        seen = set(terms)
        waiting = list(seen)
        while waiting:
            shape = self._shapes[waiting.pop()]
            for child in (*children(shape), *_levels(shape)):
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
        return seen

    def _below(self, terms: tuple[int, ...]) -> Iterator[Shape]:
        """The shapes of expressions and of all expressions inside them, each shape once."""
        seen = set(terms)
        waiting = list(seen)
        while waiting:
            shape = self._shapes[waiting.pop()]
            yield shape
            for child in children(shape):
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)

    def add(self, shape: Shape, loose: int, parametric: bool) -> int:
        """The number of a term, which is added if it is new. Raises BadOlean after MOST_NODES terms."""
        number = self._numbers.get(shape)
        if number is None:
            number = len(self._shapes)
            if number >= MOST_NODES:
                raise BadOlean(f"more than {MOST_NODES} terms")
            self._numbers[shape] = number
            self._shapes.append(shape)
            self._loose.append(loose)
            self._parametric.append(parametric)
        return number

    def level_parameter(self, name: str) -> int:
        """The number of a universe parameter as a level."""
        return self.add(("level", LevelTag.PARAMETER, name), 0, True)

    def level_parameters(self, term: int) -> tuple[str, ...]:
        """The universe parameters in a term, in the order in which they first occur."""
        found: dict[str, None] = {}
        waiting, seen = [term], {term}
        while waiting:
            shape = self._shapes[waiting.pop()]
            match shape:
                case ("level", LevelTag.PARAMETER, str(name)):
                    found[name] = None
            for child in reversed((*_levels(shape), *children(shape))):
                if child not in seen and self._parametric[child]:
                    seen.add(child)
                    waiting.append(child)
        return tuple(found)

    def loose(self, term: int) -> int:
        """The largest index of a loose bound variable of an expression plus one; 0 if it is closed."""
        return self._loose[term]

    def loose_indices(self, term: int) -> set[int]:
        """The indices of the loose bound variables of an expression."""
        found, waiting, seen = set(), [(term, 0)], {(term, 0)}
        while waiting:
            at, depth = waiting.pop()
            if self._loose[at] <= depth:
                continue
            match self._shapes[at]:
                case (Tag.BOUND, int(index)):
                    found.add(index - depth)
                case (Tag.LAMBDA | Tag.FORALL, int(kind), int(body)):
                    below = [(kind, depth), (body, depth + 1)]
                case (Tag.LET, int(kind), int(value), int(body)):
                    below = [(kind, depth), (value, depth), (body, depth + 1)]
                case shape:
                    below = [(child, depth) for child in children(shape)]
            for each in () if self._shapes[at][0] == Tag.BOUND else below:
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return found

    def parametric(self, term: int) -> bool:
        """True when a universe parameter occurs in the term."""
        return self._parametric[term]


def children(shape: Shape) -> tuple[int, ...]:
    """The direct subexpressions of an expression."""
    match shape:
        case (Tag.APPLY | Tag.LAMBDA | Tag.FORALL, int(first), int(second)):
            return first, second
        case (Tag.LET, int(first), int(second), int(third)):
            return first, second, third
        case (Tag.PROJECTION, _, _, int(inner)):
            return (inner,)
    return ()


def _levels(shape: Shape) -> tuple[int, ...]:
    """The universe levels that an expression applies, or the direct parts of a level."""
    match shape:
        case ("level", LevelTag.SUCCESSOR | LevelTag.MAX | LevelTag.IMAX, *below):
            return tuple(below)  # type: ignore[arg-type]
        case (Tag.SORT, int(level)):
            return (level,)
        case (Tag.CONSTANT, _, tuple(levels)):
            return levels
    return ()


def _names(shape: Shape) -> tuple[str, ...]:
    """The constants that an expression names, without those of its subexpressions."""
    match shape:
        case (Tag.CONSTANT | Tag.PROJECTION, str(name), *_):
            return (name,)
        case (Tag.LITERAL, int()):
            return ("Nat",)
        case (Tag.LITERAL, str()):
            return ("String",)
    return ()


class TermReader:
    """Reads the terms of one file into a `Terms`."""

    def __init__(self, region: Region, terms: Terms) -> None:
        self._region = region
        self._words = region.words
        self.terms = terms
        self._name_of: dict[int, tuple[str, int]] = {}
        self._level_of: dict[int, int] = {}
        self._term_of: dict[int, int] = {}

    def name(self, pointer: int, before: int | None = None) -> str:
        """A name; parts that contain a dot are «quoted». Raises BadOlean."""
        return self._name(pointer, before)[0]

    def _name(self, pointer: int, before: int | None) -> tuple[str, int]:
        """A name and its hash. Raises BadOlean."""
        # Walk up to a cached prefix or the anonymous name, then build the name from there, without recursion.
        unread: list[tuple[int, Node]] = []
        name = (ANONYMOUS, _ANONYMOUS_HASH)
        while not pointer & 1:
            if pointer in self._name_of:
                name = self._name_of[pointer]
                break
            node = self._region.node(pointer, before)
            if node.objects != 2 or node.words != 3 or node.tag not in (1, 2):
                raise BadOlean("a name is expected, but this is another object")
            unread.append((pointer, node))
            before, pointer = pointer, self._words[node.at]
        for at, node in reversed(unread):
            field = self._words[node.at + 1]
            if node.tag == 1:
                text = self._region.string(field, at)
                part, hashed = quoted(text), string_hash(text)
            else:
                number = self._region.natural(field, at)
                part, hashed = f"{number}", number if number < 1 << 64 else _LARGE_NUMBER_HASH
            name = (f"{name[0]}.{part}" if name[0] else part, mixed_hash(name[1], hashed))
            # To the kernel, names with different hashes are different names.
            if self._words[node.at + 2] != name[1]:
                raise BadOlean(f"the name {name[0]} has a wrong hash")
            self._name_of[at] = name
        return name

    def names(self, pointer: int, before: int | None = None) -> tuple[str, ...]:
        """A linked list of names. Raises BadOlean."""
        return tuple(self.name(item, before) for item in self._region.list_(pointer, before))

    # --- universe levels --------------------------------------------------------------------------------------------

    def level(self, pointer: int, before: int | None = None) -> int:
        """The number of a universe level. Raises BadOlean."""
        # An explicit stack, because a hostile file can nest deeper than Python's recursion limit.
        waiting = [(pointer, before)]
        while waiting:
            at, holder = waiting[-1]
            if at in self._level_of:
                waiting.pop()
                continue
            if at == _LEVEL_ZERO:
                self._level_of[at] = self.terms.add(("level", LevelTag.ZERO), 0, False)
                waiting.pop()
                continue
            node = self._region.node(at, holder)
            if node.objects != _LEVEL_PARTS.get(node.tag, 0):
                raise BadOlean("a universe level with a wrong number of fields")
            below = [self._words[node.at + k] for k in range(_LEVELS_BELOW.get(node.tag, 0))]
            missing = [(child, at) for child in below if child not in self._level_of]
            if missing:
                waiting += missing
                continue
            self._level_of[at] = self._made_level(node, at, [self._level_of[child] for child in below])
            waiting.pop()
        return self._level_of[pointer]

    def _made_level(self, node: Node, at: int, below: list[int]) -> int:
        parametric = any(self.terms.parametric(child) for child in below)
        shape: Shape
        match node.tag:
            case LevelTag.SUCCESSOR | LevelTag.MAX | LevelTag.IMAX:
                shape = ("level", node.tag, *below)
            case LevelTag.PARAMETER:
                shape, parametric = ("level", node.tag, self.name(self._words[node.at], at)), True
            case _:
                raise BadOlean("a universe level that is a metavariable or malformed")
        self._check_summary(node, _LEVEL_HAS_PARAMETER if parametric else 0, _LEVEL_HAS_META | _LEVEL_HAS_PARAMETER)
        return self.terms.add(shape, 0, parametric)

    # --- expressions ------------------------------------------------------------------------------------------------

    def expression(self, pointer: int, before: int | None = None) -> int:
        """The number of an expression. Raises BadOlean."""
        terms, words, term_of = self.terms, self._words, self._term_of
        waiting = [(pointer, before)]
        while waiting:
            at, holder = waiting[-1]
            if at in term_of:
                waiting.pop()
                continue
            node = self._region.node(at, holder)
            first, count = _BELOW.get(node.tag, (0, 0))
            if node.objects != _PARTS.get(node.tag, 0):
                raise BadOlean("an expression with a wrong number of fields")
            below = words[node.at + first : node.at + first + count].tolist()
            missing = [(child, at) for child in below if child not in term_of]
            if missing:
                waiting += missing
                continue
            shape, loose, parametric = self._shape(node, at, [term_of[child] for child in below])
            summary = loose << _LOOSE_BITS | (_HAS_LEVEL_PARAMETER if parametric else 0)
            self._check_summary(node, summary, ~((1 << 40) - 1))
            # A note (`mdata`) is skipped: the expression inside takes its place.
            term_of[at] = int(shape[1]) if shape[0] == Tag.NOTE else terms.add(shape, loose, parametric)  # type: ignore[arg-type]
            waiting.pop()
        return term_of[pointer]

    def _shape(self, node: Node, at: int, below: list[int]) -> tuple[Shape, int, bool]:
        """An expression's shape, its loose bound variables, and whether it has universe parameters."""
        terms, words = self.terms, self._words
        parametric = any(terms.parametric(child) for child in below)
        match node.tag:
            # A term has the loose variables of its parts; each binder that it adds binds one of those of its body.
            case Tag.APPLY:
                function, argument = below
                return (
                    (Tag.APPLY, function, argument),
                    max(terms.loose(function), terms.loose(argument)),
                    parametric,
                )
            case Tag.LAMBDA | Tag.FORALL:
                self.name(words[node.at], at)
                kind, body = below
                return (node.tag, kind, body), max(terms.loose(kind), terms.loose(body) - 1), parametric
            case Tag.LET:
                self.name(words[node.at], at)
                kind, value, body = below
                loose = max(terms.loose(kind), terms.loose(value), terms.loose(body) - 1)
                return (Tag.LET, kind, value, body), loose, parametric
            case Tag.BOUND:
                index = self._region.natural(words[node.at], at)
                return (Tag.BOUND, index), index + 1, False
            case Tag.SORT:
                level = self.level(words[node.at], at)
                return (Tag.SORT, level), 0, terms.parametric(level)
            case Tag.CONSTANT:
                name = self.name(words[node.at], at)
                levels = tuple(self.level(item, at) for item in self._region.list_(words[node.at + 1], at))
                return (Tag.CONSTANT, name, levels), 0, any(terms.parametric(level) for level in levels)
            case Tag.LITERAL:
                return (Tag.LITERAL, self._literal(words[node.at], at)), 0, False
            case Tag.NOTE:
                return (Tag.NOTE, below[0]), terms.loose(below[0]), parametric
            case Tag.PROJECTION:
                structure = self.name(words[node.at], at)
                index = self._region.natural(words[node.at + 1], at)
                return (Tag.PROJECTION, structure, index, below[0]), terms.loose(below[0]), parametric
        raise BadOlean("an expression that is a free variable, a metavariable or malformed")

    def _literal(self, pointer: int, before: int) -> int | str:
        node = self._region.node(pointer, before)
        if node.objects != 1 or node.tag > 1:
            raise BadOlean("a literal is expected, but this is another object")
        field = self._words[node.at]
        return self._region.string(field, pointer) if node.tag == 1 else self._region.natural(field, pointer)

    def _check_summary(self, node: Node, expected: int, mask: int) -> None:
        """Raises BadOlean if the summary after the fields is missing or wrong."""
        if node.words <= node.objects:
            raise BadOlean("an expression or level without its summary")
        if (self._words[node.at + node.objects] ^ expected) & mask & ((1 << 64) - 1):
            raise BadOlean("an expression or level with a wrong summary")


_LEVEL_ZERO = 1
"""A constructor without fields is not an object: the pointer is its boxed number."""

_LEVELS_BELOW: dict[int, int] = {LevelTag.SUCCESSOR: 1, LevelTag.MAX: 2, LevelTag.IMAX: 2}

_LEVEL_PARTS: dict[int, int] = {**_LEVELS_BELOW, LevelTag.PARAMETER: 1, LevelTag.META: 1}
"""The number of fields that are objects, by constructor."""

_PARTS: dict[int, int] = {
    **dict.fromkeys((Tag.BOUND, Tag.FREE, Tag.META, Tag.SORT, Tag.LITERAL), 1),
    **dict.fromkeys((Tag.CONSTANT, Tag.APPLY, Tag.NOTE), 2),
    **dict.fromkeys((Tag.LAMBDA, Tag.FORALL, Tag.PROJECTION), 3),
    Tag.LET: 4,
}
"""The number of fields that are objects, by constructor."""

_BELOW: dict[int, tuple[int, int]] = {
    Tag.APPLY: (0, 2),
    Tag.LAMBDA: (1, 2),
    Tag.FORALL: (1, 2),
    Tag.LET: (1, 3),
    Tag.NOTE: (1, 1),
    Tag.PROJECTION: (2, 1),
}
"""The index of the first field that is an expression, and the number of such fields, by constructor."""


def quoted(part: str) -> str:
    """A part of a name; «quoted» if the plain part would read as another name."""
    plain = part and "." not in part and "«" not in part and "»" not in part and not part.isdigit()
    return part if plain else f"«{part.replace('»', '»»')}»"


# --- hashes of names: `lean_string_hash` (MurmurHash64A) and `lean_uint64_mix_hash` in Lean's runtime ----------------

_ANONYMOUS_HASH = 1723
_LARGE_NUMBER_HASH = 17
_STRING_SEED = 11
_MULTIPLIER, _SHIFT, _WORD = 0xC6A4A7935BD1E995, 47, (1 << 64) - 1


def string_hash(text: str) -> int:
    """The hash of a string, 64 bits."""
    data = text.encode()
    whole = len(data) & ~7
    hashed = _STRING_SEED ^ (len(data) * _MULTIPLIER & _WORD)
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at : at + 8], "little") * _MULTIPLIER & _WORD
        word = (word ^ word >> _SHIFT) * _MULTIPLIER & _WORD
        hashed = (hashed ^ word) * _MULTIPLIER & _WORD
    if tail := data[whole:]:
        hashed = (hashed ^ int.from_bytes(tail, "little")) * _MULTIPLIER & _WORD
    hashed = (hashed ^ hashed >> _SHIFT) * _MULTIPLIER & _WORD
    return hashed ^ hashed >> _SHIFT


def mixed_hash(one: int, other: int) -> int:
    """The combined hash of two hashes, 64 bits."""
    other = other * _MULTIPLIER & _WORD
    other = (other ^ other >> _SHIFT) ^ _MULTIPLIER
    return (one ^ other) * _MULTIPLIER & _WORD


# --- Prints terms for messages, nearly as Lean does with `pp.notation` off. Pure -------------------------------------


_VARIABLES = "xyzabcpqrstuvw"


def show(terms: Terms, term: int, most: int = 200, depth: int = 0) -> str:
    """A term as text of at most about `most` characters.

    `depth`: the number of variables that are bound around it. They are called x, y, z, ... from the outside.
    """
    bound: tuple[str, ...] = ()
    for _ in range(depth):
        bound = (*bound, _name(bound))
    text = _show(terms, term, bound, most)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _show(terms: Terms, term: int, bound: tuple[str, ...], room: int) -> str:
    if room <= 0:
        return "..."
    room -= 1  # each level costs a character, which bounds the recursion
    shape = terms.shape(term)
    match shape:
        case (Tag.BOUND, int(index)):
            # De Bruijn: 0 is the innermost binder. A loose index belongs to a binder outside of the shown term.
            return bound[-1 - index] if index < len(bound) else "_"
        case (Tag.CONSTANT, str(name), _):
            return name
        case (Tag.SORT, int(level)):
            # Other universes would be more confusing than helpful in an error message.
            return {1: "Type", 0: "Prop"}.get(_numeral(terms, level), "Sort _")
        case (Tag.LITERAL, value):
            return f'"{value}"' if isinstance(value, str) else str(value)
        case (Tag.APPLY, int(function), int(argument)):
            # What the left side has used up is missing for the right: the room bounds the whole text.
            left = _show(terms, function, bound, room)
            return f"{left} {_atom(terms, argument, bound, room - len(left))}"
        case (Tag.LAMBDA | Tag.FORALL, int(kind), int(body)):
            name = _name(bound)
            sign = ("fun", "=>") if shape[0] == Tag.LAMBDA else ("∀", ",")
            # Every binder shows its type, also where Lean leaves it out: two terms that are compared may differ only
            # there.
            head = f"{sign[0]} ({name} : {_show(terms, kind, bound, room)}){' ' if sign[1] == '=>' else ''}{sign[1]} "
            return head + _show(terms, body, (*bound, name), room - len(head))
        case (Tag.LET, int(_), int(value), int(body)):
            name = _name(bound)
            head = f"let {name} := {_show(terms, value, bound, room)}; "
            return head + _show(terms, body, (*bound, name), room - len(head))
        case (Tag.PROJECTION, _, int(index), int(inner)):
            return f"{_atom(terms, inner, bound, room)}.{index + 1}"
    return "_"


def _atom(terms: Terms, term: int, bound: tuple[str, ...], room: int) -> str:
    text = _show(terms, term, bound, room)
    return f"({text})" if " " in text else text


def _name(bound: tuple[str, ...]) -> str:
    turn, at = divmod(len(bound), len(_VARIABLES))
    return _VARIABLES[at] + (str(turn) if turn else "")


def _numeral(terms: Terms, level: int) -> int:
    """The value of a universe level without parameters; -1 for a level with parameters."""
    match terms.shape(level):
        case ("level", 0):
            return 0
        case ("level", 1, int(below)):
            inner = _numeral(terms, below)
            return inner + 1 if inner >= 0 else -1
    return -1
