"""Plans in which order Lean's kernel gets the declarations of a compiled module. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from node.lean.check.olean.module import Constant, Kind, Module
from node.lean.check.olean.region import BadOlean
from node.lean.check.olean.terms import Terms

Uses = Mapping[str, set[str]]
"""The names of the constants in a constant's type and value, by its name."""


def uses(module: Module, terms: Terms) -> Uses:
    """The constants that each constant of a module uses directly."""
    return {
        name: terms.constants(constant.type, *([] if constant.value is None else [constant.value]))
        for name, constant in module.constants.items()
    }


def groups(module: Module, used: Uses) -> Iterator[list[Constant]]:
    """The safe constants of a module, in groups that are declared together.

    A group comes after the groups that it uses. Raises BadOlean, also for constants that use each other.
    """
    placed: set[str] = set()
    begun: set[str] = set()
    for first in module.constants.values():
        # Depth first with an explicit stack, because chains of definitions can be deeper than Python's recursion limit.
        # The flag says whether the constants that the group uses are on the stack already.
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
            group_names = {each.name for each in group}
            if expanded:
                placed |= group_names
                yield group
                continue
            if not begun.isdisjoint(group_names):
                raise BadOlean(f"{constant.name} uses itself, through what it uses")
            begun |= group_names
            waiting.append((constant, True))
            waiting += [
                (module.constants[name], False)
                for each in group
                for name in used[each.name]
                if name in module.constants and name not in placed and name not in group_names
            ]


def _group(module: Module, constant: Constant) -> list[Constant]:
    """The constants that one step declares: mutual inductive types with their constructors, or a single constant."""
    if constant.kind is Kind.QUOTIENT:
        raise BadOlean(f"{constant.name} is declared as part of `Quot`, which only Lean's own library may declare")
    if constant.kind is not Kind.INDUCTIVE:
        return [constant]
    types = [_constant(module, name) for name in constant.mutual]
    members = [*types, *(_constant(module, name) for each in types for name in each.constructors)]
    if constant not in types or not all(each.safe for each in members):
        raise BadOlean(f"{constant.name} is in a mutual group that does not contain it, or that has unsafe members")
    owners = [(name, each.name) for each in types for name in each.constructors]
    if any(each.level_parameters != constant.level_parameters for each in members) or any(
        module.constants[name].kind is not Kind.CONSTRUCTOR or module.constants[name].inductive != owner
        for name, owner in owners
    ):
        raise BadOlean(f"{constant.name} has constructors or universe parameters that are not its own")
    if any(each.parameters != constant.parameters for each in members):
        raise BadOlean(f"{constant.name} is declared together with types or constructors of other parameters")
    return members


def _constant(module: Module, name: str) -> Constant:
    constant = module.constants.get(name)
    if constant is None:
        raise BadOlean(f"{name} is used, but not declared")
    return constant
