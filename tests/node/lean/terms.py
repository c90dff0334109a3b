"""Terms of Lean's kernel as readable text.

Terms: `∀ x : A, B`, `λ x : A, b`, `let x : A := v, b`, application by juxtaposition, `Prop`, `Type`, `Sort l`,
`c.{l, l}`, numerals, "texts", `#0` (a bound variable by index), `proj S 0 x`. Levels: numbers, names, `l + 1`,
`max l l`, `imax l l`.
"""

import re
from typing import Any

_TOKEN = re.compile(r'\s*("[^"]*"|:=|\.\{|#\d+|[∀λ,:(){}+]|[\w\'.«»]*[\w\'«»])')


def read(maker: Any, text: str) -> int:
    """A term. `maker` makes levels and terms: `Export` of the second kernel's tests and `Data` of the judge's give each
    a number, `Maker` of compiled files an object."""
    return _Parser(maker, text).whole()


class _Parser:
    def __init__(self, maker: Any, text: str) -> None:
        self._make = maker
        self._words = [match.group(1) for match in _TOKEN.finditer(text)]
        assert re.sub(r"\s", "", "".join(self._words)) == re.sub(r"\s", "", text), text
        self._bound: list[str] = []

    def whole(self) -> int:
        term = self._term()
        assert not self._words, self._words
        return term

    def _expect(self, word: str) -> None:
        assert self._words.pop(0) == word, (word, self._words)

    def _term(self) -> int:
        word = self._words[0]
        if word in ("∀", "λ", "let"):
            self._words.pop(0)
            name = self._words.pop(0)
            self._expect(":")
            parts = [self._term()]
            if word == "let":
                self._expect(":=")
                parts.append(self._term())
            self._expect(",")
            self._bound.append(name)
            parts.append(self._term())
            self._bound.pop()
            made: int = getattr(self._make, {"∀": "pi", "λ": "lam"}.get(word, word))(*parts)
            return made
        result = self._atom()
        while self._words and self._words[0] not in (")", ",", ":="):
            result = self._make.app(result, self._atom())
        return result

    def _atom(self) -> int:
        # 1. Terms that begin with a sign or a word of the notation.
        make, word = self._make, self._words.pop(0)
        made: int
        if word == "(":
            made = self._term()
            self._expect(")")
        elif word == "proj":
            made = make.proj(self._words.pop(0), int(self._words.pop(0)), self._atom())
        elif word in ("Prop", "Type", "Sort"):
            level = {"Prop": lambda: 0, "Type": lambda: self._plus(0, 1), "Sort": self._level_atom}[word]()
            made = make.sort(level)
        elif word.startswith('"'):
            made = make.string(word[1:-1])
        elif word.startswith("#"):
            made = make.var(int(word[1:]))
        elif word.isdigit():
            made = make.nat(int(word))
        # 2. A bound variable, or a constant.
        elif word in self._bound:
            made = make.var(self._bound[::-1].index(word))
        else:
            made = make.const(word, *self._levels())
        return made

    def _levels(self) -> list[int]:
        levels = []
        if self._words and self._words[0] == ".{":
            while self._words.pop(0) != "}":
                levels.append(self._level())
        return levels

    def _level(self) -> int:
        level = self._level_atom()
        while self._words and self._words[0] == "+":
            self._words.pop(0)
            level = self._plus(level, int(self._words.pop(0)))
        return level

    def _plus(self, level: int, count: int) -> int:
        for _ in range(count):
            level = self._make.succ(level)
        return level

    def _level_atom(self) -> int:
        word = self._words.pop(0)
        if word == "(":
            level = self._level()
            self._expect(")")
            return level
        if word in ("max", "imax"):
            first = self._level_atom()
            made: int = self._make.larger(word, first, self._level_atom())
            return made
        if word.isdigit():
            return self._plus(0, int(word))
        named: int = self._make.param(word)
        return named
