"""Pocket Lean's own library: its declarations from compiled modules, and its axioms as `#print axioms` has them."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from node.lean.check.olean.declarations import groups, uses
from node.lean.check.olean.module import Constant, Kind, Module
from node.lean.check.olean.terms import LevelTag, Shape, Tag, Terms
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.toolchain.judge.conftest import Judge
from tests.node.lean.toolchain.judge.declarations import Data, Parts

pytestmark = pytest.mark.lean


def parts(written: str) -> Parts:
    """A name from text: parts between « and » are as they are, other parts of digits are numbers."""
    found = re.findall(r"«([^»]*)»|([^.]+)", written)
    return tuple(quoted or (int(plain) if plain.isdigit() else plain) for quoted, plain in found)


class Copier:
    """Copies terms of the reader into data."""

    def __init__(self, data: Data, terms: Terms) -> None:
        self.data, self.terms = data, terms
        self._levels: dict[int, int] = {}
        self._copied: dict[int, int] = {}

    def level(self, term: int) -> int:
        if term not in self._levels:
            _, tag, *fields = self.terms.shape(term)
            match tag:
                case LevelTag.ZERO:
                    self._levels[term] = 0
                case LevelTag.PARAMETER:
                    self._levels[term] = self.data.level(b"p %d" % self.data.n(parts(str(fields[0]))))
                case _:
                    letter = {LevelTag.SUCCESSOR: b"s", LevelTag.MAX: b"m", LevelTag.IMAX: b"i"}[
                        LevelTag(int(str(tag)))
                    ]
                    below = [b"%d" % self.level(int(str(field))) for field in fields]
                    self._levels[term] = self.data.level(b" ".join([letter, *below]))
        return self._levels[term]

    def term(self, wanted: int) -> int:
        waiting = [wanted]
        while waiting:
            shape = self.terms.shape(waiting[-1])
            missing = [child for child in children(shape) if child not in self._copied]
            if missing:
                waiting += missing
            else:
                self._copied[waiting[-1]] = self._made(shape)
                waiting.pop()
        return self._copied[wanted]

    def _made(self, shape: Shape) -> int:
        data = self.data
        below = [self._copied[child] for child in children(shape)]
        match shape:
            case (Tag.BOUND, int(index)):
                return data.var(index)
            case (Tag.SORT, int(level)):
                return data.sort(self.level(level))
            case (Tag.CONSTANT, str(name), tuple(levels)):
                return data.const(parts(name), *map(self.level, levels))
            case (Tag.LITERAL, int(number)):
                return data.nat(number)
            case (Tag.LITERAL, str(content)):
                return data.string(content)
            case (Tag.PROJECTION, str(name), int(index), _):
                return data.add(b"j %d %d %d" % (data.n(parts(name)), index, *below))
        make: dict[Tag, Callable[..., int]] = {
            Tag.APPLY: data.app,
            Tag.LAMBDA: data.lam,
            Tag.FORALL: data.pi,
            Tag.LET: data.let,
        }
        return make[Tag(int(str(shape[0])))](*below)

    def declare(self, group: list[Constant], module: Module) -> None:
        first = group[0]
        name, params, data = parts(first.name), first.level_parameters, self.data
        kind, value = self.term(first.type), None if first.value is None else self.term(first.value)
        match first.kind:
            case Kind.AXIOM:
                data.axiom(name, kind, params)
            case Kind.DEFINITION if value is not None:
                data.definition(name, kind, value, params)
            case Kind.THEOREM if value is not None:
                data.theorem(name, kind, value, params)
            case Kind.OPAQUE if value is not None:
                data.opaque(name, kind, value, params)
            case Kind.INDUCTIVE:
                types = [
                    (
                        parts(each.name),
                        self.term(each.type),
                        [(parts(made), self.term(module.constants[made].type)) for made in each.constructors],
                    )
                    for each in group
                    if each.kind is Kind.INDUCTIVE
                ]
                data.inductive(types, first.parameters, params)


def children(shape: Shape) -> list[int]:
    match shape:
        case (Tag.APPLY | Tag.LAMBDA | Tag.FORALL | Tag.LET, *below):
            return [int(str(child)) for child in below]
        case (Tag.PROJECTION, _, _, int(inner)):
            return [inner]
    return []


def check_module(judged: Judge, file: Path) -> int:
    """Declare a module of the library again, after its imports. Returns the number of steps."""
    terms = Terms()
    module = Module(file, terms)
    data = Data(imports=module.imports)
    copier = Copier(data, terms)
    declared = [group for group in groups(module, uses(module, terms)) if group[0].kind is not Kind.QUOTIENT]
    for group in declared:
        copier.declare(group, module)
    module.close()
    data.ask(*(parts(group[0].name) for group in declared))
    answer = judged(data)
    refused = {group[0].name: why for group, why in zip(declared, answer.steps, strict=True) if why}
    # What the library may declare and a user may not, and what needs it.
    others = {name: why for name, why in refused.items() if "only the library" not in why and "not declared" not in why}
    assert not others and (not refused or any("only the library" in why for why in refused.values())), refused
    axioms = {("propext",), ("Quot", "sound"), ("Classical", "choice"), ("sorryAx",)}
    assert all(each is None or each <= axioms for each in answer.axioms)
    return len(declared) - len(refused)


def library() -> list[Path]:
    return sorted(Path(LeanToolchain.pocket().environment["LEAN_PATH"]).rglob("*.olean"))


def test_a_module_of_the_library_is_accepted_again(judged: Judge) -> None:
    assert check_module(judged, next(file for file in library() if file.stem == "Take")) > 30


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_modules_of_the_library_are_accepted_again(judged: Judge) -> None:
    assert sum(check_module(judged, file) for file in library() if file.stem not in ("Prelude", "Syntax")) > 3000


@pytest.mark.parametrize("number", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_axioms_are_those_that_lean_prints(judged: Judge, number: int) -> None:
    names: set[str] = set()
    files = random.Random(3).sample(library(), number)
    for file in files:
        module = Module(file, Terms())
        names |= {
            name for name, constant in module.constants.items() if constant.safe and re.fullmatch(r"[\w.]+", name)
        }
        module.close()
    chosen = [name for name in sorted(names) if "_" not in name.split(".")[-1][:1] and not re.search(r"\.\d|\._", name)]
    data = Data()
    data.ask(*chosen)
    answer = judged(data)
    toolchain = LeanToolchain.pocket()
    text = "".join(f"#print axioms {name}\n" for name in chosen)
    command = [*toolchain.command, "--stdin"]
    printed = subprocess.run(
        command, env=dict(toolchain.environment), input=text, capture_output=True, text=True, timeout=120
    ).stdout
    compared = 0
    for name, axioms in zip(chosen, answer.axioms, strict=True):
        if f"'{name}' does not depend on any axioms" in printed:
            assert axioms == set(), name
        elif found := re.search(rf"'{re.escape(name)}' depends on axioms: \[([^\]]*)\]", printed):
            assert axioms == {parts(each.strip()) for each in found[1].split(",")}, name
        else:
            continue  # a private name, for example
        compared += 1
    assert compared > 40
