"""Exports written by hand: declarations as readable text, which becomes lines of lean4export's format.

Terms: `∀ x : A, B`, `λ x : A, b`, `let x : A := v, b`, application by juxtaposition, `Prop`, `Type`, `Sort l`,
`c.{l, l}`, numerals, "texts", `#0` (a bound variable by index), `proj S 0 x`. Levels: numbers, names, `l + 1`,
`max l l`, `imax l l`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from node.lean.check.second.__main__ import Task, with_large_stack

_TOKEN = re.compile(r'\s*("[^"]*"|:=|\.\{|#\d+|[∀λ,:(){}+]|[\w\'.«»]*[\w\'«»])')


class Export:
    """Lines of an export. Each method adds one declaration and returns the export."""

    def __init__(self) -> None:
        self.lines: list[Any] = [
            {
                "meta": {
                    "exporter": {"name": "test", "version": "0"},
                    "lean": {"githash": "", "version": "4.35.0"},
                    "format": {"version": "3.1.0"},
                }
            }
        ]
        self._names: dict[str, int] = {"": 0}
        self._levels: dict[str, int] = {"0": 0}
        self._terms: dict[str, int] = {}

    # --- terms ------------------------------------------------------------------------------------------------------

    def _kept(self, kept: dict[str, int], key: str, content: dict[str, Any]) -> int:
        text = json.dumps(content, sort_keys=True)
        if text not in kept:
            kept[text] = len(kept)
            self.lines.append({**content, key: kept[text]})
        return kept[text]

    def name(self, name: str) -> int:
        if name in self._names:
            return self._names[name]
        before, _, last = name.rpartition(".")
        pre = self.name(before)
        content = {"num": {"pre": pre, "i": int(last)}} if last.isdigit() else {"str": {"pre": pre, "str": last}}
        self._names[name] = len(self._names)
        self.lines.append({**content, "in": self._names[name]})
        return self._names[name]

    def level(self, content: dict[str, Any]) -> int:
        return self._kept(self._levels, "il", content)

    def term(self, content: dict[str, Any]) -> int:
        return self._kept(self._terms, "ie", content)

    def read(self, text: str) -> int:
        return _Parser(self, text).whole()

    # --- declarations -----------------------------------------------------------------------------------------------

    def _common(self, name: str, levels: str, type_: str) -> dict[str, Any]:
        names = [self.name(each) for each in levels.split()]
        return {"name": self.name(name), "levelParams": names, "type": self.read(type_)}

    def axiom(self, name: str, type_: str, levels: str = "") -> Export:
        self.lines.append({"axiom": {**self._common(name, levels, type_), "isUnsafe": False}})
        return self

    def value(self, kind: str, name: str, type_: str, value: str, levels: str = "") -> Export:
        fields = {**self._common(name, levels, type_), "value": self.read(value), "all": [self.name(name)]}
        if kind == "def":
            fields |= {"hints": {"regular": 1}, "safety": "safe"}
        if kind == "opaque":
            fields["isUnsafe"] = False
        self.lines.append({kind: fields})
        return self

    def theorem(self, name: str, type_: str, value: str, levels: str = "") -> Export:
        return self.value("thm", name, type_, value, levels)

    def definition(self, name: str, type_: str, value: str, levels: str = "") -> Export:
        return self.value("def", name, type_, value, levels)

    def quotient(self, kind: str, name: str, type_: str, levels: str = "u") -> Export:
        self.lines.append({"quot": {**self._common(name, levels, type_), "kind": kind}})
        return self

    def inductive(
        self,
        name: str,
        type_: str,
        constructors: Sequence[tuple[str, str]],
        recursor: tuple[str, str, Sequence[tuple[int, str]]],
        *,
        levels: str = "",
        parameters: int = 0,
        indices: int = 0,
        recursive: bool = False,
        k: bool = False,
        fields: Sequence[int] | None = None,
        recursors: Iterable[Any] = (),
    ) -> Export:
        """`recursor`: its universe parameters, type, and for each constructor the number of fields and the rule."""
        # 1. The constructors.
        made = [
            {
                **self._common(each, levels, text),
                "induct": self.name(name),
                "cidx": at,
                "numParams": parameters,
                "numFields": (fields or [rule[0] for rule in recursor[2]])[at],
                "isUnsafe": False,
            }
            for at, (each, text) in enumerate(constructors)
        ]
        # 2. The recursor.
        rules = [
            {"ctor": self.name(each), "nfields": count, "rhs": self.read(rule)}
            for (each, _), (count, rule) in zip(constructors, recursor[2], strict=True)
        ]
        rec = {
            **self._common(f"{name}.rec", recursor[0], recursor[1]),
            "all": [self.name(name)],
            "numParams": parameters,
            "numIndices": indices,
            "numMotives": 1,
            "numMinors": len(constructors),
            "rules": rules,
            "k": k,
            "isUnsafe": False,
        }
        # 3. The type.
        own = {
            **self._common(name, levels, type_),
            "numParams": parameters,
            "numIndices": indices,
            "numNested": 0,
            "all": [self.name(name)],
            "ctors": [self.name(each) for each, _ in constructors],
            "isRec": recursive,
            "isUnsafe": False,
            "isReflexive": False,
        }
        self.lines.append({"inductive": {"types": [own], "ctors": made, "recs": [rec]}})
        return self

    # --- checking ---------------------------------------------------------------------------------------------------

    def text(self) -> str:
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines)

    def check(self, folder: Path, **options: Any) -> dict[str, Any]:
        file = folder / "export.ndjson"
        file.write_text(self.text(), encoding="utf-8")
        return with_large_stack(Task(file, **options))


class _Parser:
    def __init__(self, export: Export, text: str) -> None:
        self._export = export
        self._words = [match.group(1) for match in _TOKEN.finditer(text)]
        assert "".join(self._words) == re.sub(r"\s", "", text), text
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
            parts = {"name": self._export.name("x"), "type": self._term()}
            if word == "let":
                self._expect(":=")
                parts["value"] = self._term()
            self._expect(",")
            self._bound.append(name)
            parts["body"] = self._term()
            self._bound.pop()
            if word == "let":
                return self._export.term({"letE": {**parts, "nondep": False}})
            return self._export.term({"lam" if word == "λ" else "forallE": {**parts, "binderInfo": "default"}})
        result = self._atom()
        while self._words and self._words[0] not in (")", ",", ":="):
            result = self._export.term({"app": {"fn": result, "arg": self._atom()}})
        return result

    def _atom(self) -> int:
        # 1. Terms that begin with a sign or a word of the notation.
        term, word = self._export.term, self._words.pop(0)
        if word == "(":
            inner = self._term()
            self._expect(")")
            return inner
        if word == "proj":
            structure, index = self._words.pop(0), int(self._words.pop(0))
            return term({"proj": {"typeName": self._export.name(structure), "idx": index, "struct": self._atom()}})
        if word in ("Prop", "Type", "Sort"):
            level = {"Prop": lambda: 0, "Type": lambda: self._plus(0, 1), "Sort": self._level_atom}[word]()
            return term({"sort": level})
        if word.startswith('"'):
            return term({"strVal": word[1:-1]})
        if word.startswith("#"):
            return term({"bvar": int(word[1:])})
        if word.isdigit():
            return term({"natVal": word})
        # 2. A bound variable, or a constant.
        if word in self._bound:
            return term({"bvar": self._bound[::-1].index(word)})
        levels = []
        if self._words and self._words[0] == ".{":
            self._words.pop(0)
            while self._words[0] != "}":
                levels.append(self._level())
                if self._words[0] == ",":
                    self._words.pop(0)
            self._words.pop(0)
        return term({"const": {"name": self._export.name(word), "us": levels}})

    def _level(self) -> int:
        level = self._level_atom()
        while self._words and self._words[0] == "+":
            self._words.pop(0)
            level = self._plus(level, int(self._words.pop(0)))
        return level

    def _plus(self, level: int, count: int) -> int:
        for _ in range(count):
            level = self._export.level({"succ": level})
        return level

    def _level_atom(self) -> int:
        word = self._words.pop(0)
        if word == "(":
            level = self._level()
            self._expect(")")
            return level
        if word in ("max", "imax"):
            first = self._level_atom()
            return self._export.level({word: [first, self._level_atom()]})
        return self._plus(0, int(word)) if word.isdigit() else self._export.level({"param": self._export.name(word)})


# --- usual declarations -----------------------------------------------------------------------------------------------


def with_nat(export: Export) -> Export:
    minors = "∀ z : m Nat.zero, ∀ s : (∀ n : Nat, ∀ h : m n, m (Nat.succ n))"
    head = "λ m : (∀ t : Nat, Sort u), λ z : m Nat.zero, λ s : (∀ n : Nat, ∀ h : m n, m (Nat.succ n))"
    return export.inductive(
        "Nat",
        "Type",
        [("Nat.zero", "Nat"), ("Nat.succ", "∀ n : Nat, Nat")],
        (
            "u",
            f"∀ m : (∀ t : Nat, Sort u), {minors}, ∀ t : Nat, m t",
            [(0, f"{head}, z"), (1, f"{head}, λ n : Nat, s n (Nat.rec.{{u}} m z s n)")],
        ),
        recursive=True,
    )


def with_eq(export: Export) -> Export:
    binders = (
        "α : Sort u_1, {0} a : α, {0} m : (∀ b : α, ∀ t : Eq.{{u_1}} α a b, Sort u), {0} r : m a (Eq.refl.{{u_1}} α a)"
    )
    return export.inductive(
        "Eq",
        "∀ α : Sort u_1, ∀ a : α, ∀ b : α, Prop",
        [("Eq.refl", "∀ α : Sort u_1, ∀ a : α, Eq.{u_1} α a a")],
        (
            "u u_1",
            f"∀ {binders.format('∀')}, ∀ b : α, ∀ t : Eq.{{u_1}} α a b, m b t",
            [(0, f"λ {binders.format('λ')}, r")],
        ),
        levels="u_1",
        parameters=2,
        indices=1,
        k=True,
    )


def with_bool(export: Export, first: str = "Bool.false", second: str = "Bool.true") -> Export:
    head = f"m : (∀ t : Bool, Sort u), {{0}} f : m {first}, {{0}} t : m {second}"
    return export.inductive(
        "Bool",
        "Type",
        [(first, "Bool"), (second, "Bool")],
        (
            "u",
            f"∀ {head.format('∀')}, ∀ b : Bool, m b",
            [(0, f"λ {head.format('λ')}, f"), (0, f"λ {head.format('λ')}, t")],
        ),
    )


QUOTIENT = {
    "Quot": ("type", "∀ α : Sort u, ∀ r : (∀ a : α, ∀ b : α, Prop), Sort u", "u"),
    "Quot.mk": ("ctor", "∀ α : Sort u, ∀ r : (∀ a : α, ∀ b : α, Prop), ∀ a : α, Quot.{u} α r", "u"),
    "Quot.lift": (
        "lift",
        "∀ α : Sort u, ∀ r : (∀ a : α, ∀ b : α, Prop), ∀ β : Sort v, ∀ f : (∀ a : α, β), "
        "∀ h : (∀ a : α, ∀ b : α, ∀ h : r a b, Eq.{v} β (f a) (f b)), ∀ q : Quot.{u} α r, β",
        "u v",
    ),
    "Quot.ind": (
        "ind",
        "∀ α : Sort u, ∀ r : (∀ a : α, ∀ b : α, Prop), ∀ β : (∀ q : Quot.{u} α r, Prop), "
        "∀ h : (∀ a : α, β (Quot.mk.{u} α r a)), ∀ q : Quot.{u} α r, β q",
        "u",
    ),
}


def with_quotient(export: Export, **changed: str) -> Export:
    """`changed`: other types, by kind."""
    for name, (kind, type_, levels) in QUOTIENT.items():
        export.quotient(kind, name, changed.get(kind, type_), levels)
    return export
