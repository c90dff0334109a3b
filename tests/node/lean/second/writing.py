"""Exports written by hand: declarations as readable text (`terms.py`), which becomes lines of lean4export's format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from node.lean.check.second.__main__ import Task, with_large_stack
from tests.node.lean.terms import read


class Export:
    """Lines of an export. Each method adds one declaration and returns the export."""

    def __init__(self) -> None:
        versions = {"lean": {"githash": "", "version": "4.35.0"}, "format": {"version": "3.1.0"}}
        self.lines: list[Any] = [{"meta": {"exporter": {"name": "test", "version": "0"}, **versions}}]
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

    def _level(self, **content: Any) -> int:
        return self._kept(self._levels, "il", content)

    def term(self, **content: Any) -> int:
        return self._kept(self._terms, "ie", content)

    def succ(self, level: int) -> int:
        return self._level(succ=level)

    def param(self, name: str) -> int:
        return self._level(param=self.name(name))

    def larger(self, word: str, one: int, other: int) -> int:
        return self._level(**{word: [one, other]})

    def var(self, index: int) -> int:
        return self.term(bvar=index)

    def sort(self, level: int) -> int:
        return self.term(sort=level)

    def const(self, name: str, *levels: int) -> int:
        return self.term(const={"name": self.name(name), "us": [*levels]})

    def app(self, function: int, argument: int) -> int:
        return self.term(app={"fn": function, "arg": argument})

    def lam(self, type_: int, body: int) -> int:
        return self.term(lam={"name": self.name("x"), "type": type_, "body": body, "binderInfo": "default"})

    def pi(self, type_: int, body: int) -> int:
        return self.term(forallE={"name": self.name("x"), "type": type_, "body": body, "binderInfo": "default"})

    def let(self, type_: int, value: int, body: int) -> int:
        return self.term(letE={"name": self.name("x"), "type": type_, "value": value, "body": body, "nondep": False})

    def nat(self, number: int) -> int:
        return self.term(natVal=str(number))

    def string(self, content: str) -> int:
        return self.term(strVal=content)

    def proj(self, struct: str, index: int, of: int) -> int:
        return self.term(proj={"typeName": self.name(struct), "idx": index, "struct": of})

    def read(self, text: str) -> int:
        return read(self, text)

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
    ) -> Export:
        """`recursor`: its universe parameters, type, and for each constructor the number of fields and the rule."""
        safe, numbers = {"isUnsafe": False}, {"numParams": parameters, "numIndices": indices}
        # 1. The constructors.
        made = []
        for at, ((each, text), (count, _)) in enumerate(zip(constructors, recursor[2], strict=True)):
            own = {"induct": self.name(name), "cidx": at, "numParams": parameters, "numFields": count}
            made.append({**self._common(each, levels, text), **own, **safe})
        # 2. The recursor.
        rules = [
            {"ctor": self.name(each), "nfields": count, "rhs": self.read(rule)}
            for (each, _), (count, rule) in zip(constructors, recursor[2], strict=True)
        ]
        counts = {"all": [self.name(name)], **numbers, "numMotives": 1, "numMinors": len(constructors)}
        rec = {**self._common(f"{name}.rec", recursor[0], recursor[1]), **counts, "rules": rules, "k": k, **safe}
        # 3. The type.
        names = {"all": [self.name(name)], "ctors": [self.name(each) for each, _ in constructors]}
        flags = {"isRec": recursive, "isReflexive": False, **safe}
        whole = {**self._common(name, levels, type_), **numbers, "numNested": 0, **names, **flags}
        self.lines.append({"inductive": {"types": [whole], "ctors": made, "recs": [rec]}})
        return self

    # --- checking ---------------------------------------------------------------------------------------------------

    def text(self) -> str:
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines)

    def check(self, folder: Path, **options: Any) -> dict[str, Any]:
        file = folder / "export.ndjson"
        file.write_text(self.text(), encoding="utf-8")
        return with_large_stack(Task(file, **options))


# --- usual declarations -----------------------------------------------------------------------------------------------


def with_nat(export: Export) -> Export:
    minors = "∀ z : m Nat.zero, ∀ s : (∀ n : Nat, ∀ h : m n, m (Nat.succ n))"
    head = "λ m : (∀ t : Nat, Sort u), λ z : m Nat.zero, λ s : (∀ n : Nat, ∀ h : m n, m (Nat.succ n))"
    rules = [(0, f"{head}, z"), (1, f"{head}, λ n : Nat, s n (Nat.rec.{{u}} m z s n)")]
    recursor = ("u", f"∀ m : (∀ t : Nat, Sort u), {minors}, ∀ t : Nat, m t", rules)
    constructors = [("Nat.zero", "Nat"), ("Nat.succ", "∀ n : Nat, Nat")]
    return export.inductive("Nat", "Type", constructors, recursor, recursive=True)


EQ = "∀ α : Sort u_1, ∀ a : α, ∀ b : α, Prop"


def with_eq(export: Export) -> Export:
    binders = (
        "α : Sort u_1, {0} a : α, {0} m : (∀ b : α, ∀ t : Eq.{{u_1}} α a b, Sort u), {0} r : m a (Eq.refl.{{u_1}} α a)"
    )
    recursor = f"∀ {binders.format('∀')}, ∀ b : α, ∀ t : Eq.{{u_1}} α a b, m b t"
    made = ("u u_1", recursor, [(0, f"λ {binders.format('λ')}, r")])
    constructors = [("Eq.refl", "∀ α : Sort u_1, ∀ a : α, Eq.{u_1} α a a")]
    return export.inductive("Eq", EQ, constructors, made, levels="u_1", parameters=2, indices=1, k=True)


def with_bool(export: Export, first: str = "Bool.false", second: str = "Bool.true") -> Export:
    head = f"m : (∀ t : Bool, Sort u), {{0}} f : m {first}, {{0}} t : m {second}"
    rules = [(0, f"λ {head.format('λ')}, f"), (0, f"λ {head.format('λ')}, t")]
    recursor = ("u", f"∀ {head.format('∀')}, ∀ b : Bool, m b", rules)
    return export.inductive("Bool", "Type", [(first, "Bool"), (second, "Bool")], recursor)


_OF = "∀ α : Sort u, ∀ r : (∀ a : α, ∀ b : α, Prop)"
_LIFT = "∀ f : (∀ a : α, β), ∀ h : (∀ a : α, ∀ b : α, ∀ h : r a b, Eq.{v} β (f a) (f b))"
_IND = "∀ β : (∀ q : Quot.{u} α r, Prop), ∀ h : (∀ a : α, β (Quot.mk.{u} α r a))"
QUOTIENT = {
    "Quot": ("type", f"{_OF}, Sort u", "u"),
    "Quot.mk": ("ctor", f"{_OF}, ∀ a : α, Quot.{{u}} α r", "u"),
    "Quot.lift": ("lift", f"{_OF}, ∀ β : Sort v, {_LIFT}, ∀ q : Quot.{{u}} α r, β", "u v"),
    "Quot.ind": ("ind", f"{_OF}, {_IND}, ∀ q : Quot.{{u}} α r, β q", "u"),
}
"""The constants of quotients: kind, type, universe parameters."""


def with_quotient(export: Export, **changed: str) -> Export:
    """`changed`: other types, by kind."""
    for name, (kind, type_, levels) in QUOTIENT.items():
        export.quotient(kind, name, changed.get(kind, type_), levels)
    return export
