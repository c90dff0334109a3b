"""The order in which a kernel can be given the declarations of compiled modules, each after those that it uses. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from node.lean.olean.module import Constant, Kind, Module
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import Terms

Step = dict[str, object]
"""One step of the plan that `toolchain/pocket/kernel.py` describes."""


def steps(modules: Sequence[tuple[str, Module]], terms: Terms) -> list[Step]:
    """The steps for modules (path, module), of which each stands behind those that it imports. Raises BadOlean.

    Unsafe and partial constants are left out: the kernel lets no safe constant use them.
    """
    return [step for path, module in modules for step in ({"file": path}, *_of_module(module, terms))]


def _of_module(module: Module, terms: Terms) -> Iterator[Step]:
    placed: set[str] = set()
    for first in module.constants.values():
        waiting = [(first, False)]
        while waiting:
            constant, expanded = waiting.pop()
            group = _group(module, constant)
            if expanded:
                if constant.name not in placed:
                    placed.update(each.name for each in group)
                    yield _step(module, constant, group)
                continue
            if constant.name in placed or not constant.safe:
                continue
            if constant.kind in (Kind.CONSTRUCTOR, Kind.RECURSOR):
                waiting.append((_constant(module, constant.inductive), False))
                continue
            waiting.append((constant, True))
            own = {each.name for each in group}
            waiting += [
                (module.constants[name], False)
                for name in _used(module, group, terms)
                if name in module.constants and name not in placed and name not in own
            ]


def _group(module: Module, constant: Constant) -> list[Constant]:
    """The constants that are declared in one step: mutual inductive types with their constructors, or one constant."""
    if constant.kind is not Kind.INDUCTIVE:
        return [constant]
    types = [_constant(module, name) for name in constant.mutual]
    return [*types, *(_constant(module, name) for each in types for name in each.constructors)]


def _used(module: Module, group: Sequence[Constant], terms: Terms) -> set[str]:
    values = [each.value for each in group if each.value is not None]
    return terms.constants(*(each.type for each in group), *values)


def _constant(module: Module, name: str) -> Constant:
    found = module.constants.get(name)
    if found is None:
        raise BadOlean(f"{name} is named, but not declared")
    return found


def _step(module: Module, constant: Constant, group: Sequence[Constant]) -> Step:
    if constant.kind is not Kind.INDUCTIVE:
        return {"name": constant.name, "declare": constant.kind.name.lower(), "at": constant.pointer}
    types = []
    for each in group:
        if each.kind is not Kind.INDUCTIVE:
            continue
        name, _, type_ = module.signature(each)
        constructors = [module.signature(_constant(module, item)) for item in each.constructors]
        types.append({"name": name, "type": type_, "constructors": [[item[0], item[2]] for item in constructors]})
    _, levels, _ = module.signature(constant)
    return {
        "name": constant.name,
        "inductive": {"levels": levels, "parameters": constant.parameters, "types": types},
    }
