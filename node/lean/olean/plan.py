"""The order in which a kernel can be given the declarations of a compiled module. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from node.lean.olean.module import Constant, Kind, Module
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import Terms

Uses = Mapping[str, set[str]]
"""By name of a constant, the constants in its type and value."""

Step = dict[str, object]
"""One step of the plan that `toolchain/pocket/kernel.py` describes."""


def uses(module: Module, terms: Terms) -> Uses:
    """What each constant of a module uses directly."""
    return {
        name: terms.constants(constant.type, *([] if constant.value is None else [constant.value]))
        for name, constant in module.constants.items()
    }


def steps(path: str, module: Module, used: Uses) -> list[Step]:
    """The steps for a module. Raises BadOlean.

    Unsafe and partial constants are left out: the kernel lets no safe constant use them.
    """
    return [{"file": path}, *(_step(module, group) for group in groups(module, used))]


def groups(module: Module, used: Uses) -> Iterator[list[Constant]]:
    """The safe constants of a module in groups that are declared together, each group behind those that it uses.

    Raises BadOlean.
    """
    placed: set[str] = set()
    for first in module.constants.values():
        waiting = [(first, False)]
        while waiting:
            constant, expanded = waiting.pop()
            if constant.name in placed or not constant.safe:
                continue
            if constant.kind in (Kind.CONSTRUCTOR, Kind.RECURSOR):
                owner = _constant(module, constant.inductive)
                if owner.kind is not Kind.INDUCTIVE or not owner.safe:
                    raise BadOlean(f"{constant.name} does not belong to an inductive type")
                waiting.append((owner, False))
                continue
            group = _group(module, constant)
            own = {each.name for each in group}
            if expanded:
                placed |= own
                yield group
                continue
            waiting.append((constant, True))
            waiting += [
                (module.constants[name], False)
                for each in group
                for name in used[each.name]
                if name in module.constants and name not in placed and name not in own
            ]


def _group(module: Module, constant: Constant) -> list[Constant]:
    """The constants that are declared in one step: mutual inductive types with their constructors, or one constant."""
    if constant.kind is not Kind.INDUCTIVE:
        return [constant]
    types = [_constant(module, name) for name in constant.mutual]
    members = [*types, *(_constant(module, name) for each in types for name in each.constructors)]
    if constant not in types or not all(each.safe for each in members):
        raise BadOlean(f"{constant.name} is declared together with what it does not belong to")
    return members


def _constant(module: Module, name: str) -> Constant:
    found = module.constants.get(name)
    if found is None:
        raise BadOlean(f"{name} is named, but not declared")
    return found


def _step(module: Module, group: Sequence[Constant]) -> Step:
    constant = group[0]
    if constant.kind is Kind.QUOTIENT:
        raise BadOlean(f"{constant.name} is declared as a part of quotients, which only Lean's own library may")
    if constant.kind is not Kind.INDUCTIVE:
        return {"name": constant.name, "declare": constant.kind.name.lower(), "at": constant.pointer}
    types = []
    for each in group:
        if each.kind is not Kind.INDUCTIVE:
            continue
        name, _, type_ = module.signature(each)
        constructors = [module.signature(_constant(module, item)) for item in each.constructors]
        types.append({"name": name, "type": type_, "constructors": [[item[0], item[2]] for item in constructors]})
    own = {each.name for each in group}
    generated = [
        [module.signature(each)[0], each.pointer]
        for each in module.constants.values()
        if each.name in own or (each.inductive in own and each.safe)
    ]
    _, levels, _ = module.signature(constant)
    return {
        "name": constant.name,
        "inductive": {
            "levels": levels,
            "parameters": constant.parameters,
            "types": types,
            "generated": generated,
        },
    }
