"""Inductive types: the checks of a declaration, and the recursors that it gets.

Nothing in the exported recursors is believed: they are generated here, and the exported ones must be equal to them.

A nested occurrence, such as `List (Tree α)` in a constructor of `Tree`, becomes a type of its own: the group is
translated to a mutual group without nesting, checked, and what is generated for it is translated back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from node.lean.check.second.checker import Checker
from node.lean.check.second.declarations import Constant, Constructor, Inductive, Recursor, Refused, Rule
from node.lean.check.second.parse import ParsedGroup, ParsedRecursor
from node.lean.check.second.terms import (
    APP,
    BINDERS,
    CONST,
    LAM,
    LET,
    PI,
    PROJ,
    SORT,
    ZERO,
    Expr,
    Exprs,
    Level,
    Levels,
    mentions,
    spine,
)

MOST_NESTED = 200


@dataclass
class _Type:
    """One type of a mutual group without nesting."""

    name: str
    type: Expr
    constructors: list[tuple[str, Expr]]
    stands_for: Expr | None = None
    """For a nested occurrence: the term that the type stands for, over the free parameters."""
    indices: Exprs = ()
    made: list[_Constructor] = field(default_factory=list)


@dataclass
class _Constructor:
    """One constructor, with its fields as free variables."""

    name: str
    fields: Exprs
    recursive: list[tuple[Expr, Exprs, int, list[Expr]]]
    """The fields that hold terms of the group: the field, its arguments, the place of the type, the indices."""
    indices: list[Expr]
    """Of the result."""


class Group:
    """Checks one declaration. Call `declare`."""

    def __init__(self, checker: Checker, parsed: ParsedGroup, trusted: bool) -> None:
        """`trusted`: the types and constructors are well typed, the positivity and universes right."""
        self._checker = checker
        self._store = checker.store
        self._parsed = parsed
        self._trusted = trusted
        self._names = frozenset(each.name for each in parsed.types)
        self._count = 0
        """The next index of a free variable: larger than all in use."""

    # --- from the declaration to constants --------------------------------------------------------------------------

    def declare(self) -> list[Constant]:
        """Check the group; its types, constructors and recursors. Raises Refused and NotChecked.

        The types are in the checker's environment after it; the caller removes them if this raises.
        """
        # 1. The form of the declaration.
        first = self._shape()
        self._parameters = first.parameters
        self._levels: Levels = tuple(self._store.param(each) for each in first.parameters)
        # 2. The types, which the constructors then mention.
        types = self._types()
        self._register(types)
        original = dict.fromkeys(self._names)
        for type_ in types:
            for name, constructor in type_.constructors:
                self._declared_type(name, constructor)
        # 3. Nested occurrences become types of the group.
        types = self._without_nesting(types)
        self._group = frozenset(each.name for each in types)
        self._register([each for each in types if each.name not in original])
        # 4. The constructors: universes, positivity, results.
        for place, type_ in enumerate(types):
            type_.made = [self._constructor(name, constructor, place) for name, constructor in type_.constructors]
        # 5. What the group gets.
        made = self._constants(types)
        self._compare(made)
        return made

    def _shape(self) -> Constant:
        """What can be told without types. Raises Refused."""
        parsed = self._parsed
        if not parsed.types:
            raise Refused("an inductive declaration without types")
        first = parsed.types[0]
        for each in parsed.types:
            if each.parameters != first.parameters or each.arguments != first.arguments:
                raise Refused("mutual types with different universe parameters or numbers of parameters")
        by_name = {each.name: each for each in parsed.constructors}
        listed = [name for each in parsed.types for name in each.constructors]
        if len(by_name) != len(parsed.constructors) or listed != list(by_name):
            raise Refused("the constructors do not match those that the types list")
        for type_ in parsed.types:
            for place, name in enumerate(type_.constructors):
                made = by_name[name]
                if (made.inductive, made.place, made.arguments) != (type_.name, place, type_.arguments):
                    raise Refused(f"{name} is not constructor {place} of {type_.name}")
                if made.parameters != first.parameters:
                    raise Refused(f"{name} has other universe parameters than its type")
        return Constant(first.name, first.parameters, first.type)

    def _declared_type(self, name: str, type_: Expr) -> None:
        if not self._trusted:
            self._checker.sort_of(type_, True)

    def _variable(self, type_: Expr) -> Expr:
        self._count += 1
        return self._store.fvar(self._count - 1, type_)

    def _opened(self, type_: Expr) -> tuple[Exprs, Expr]:
        """The arguments of a function type as free variables, and its result."""
        variables: Exprs = ()
        while type_.tag == PI:
            variables = (*variables, self._variable(self._store.instantiate(type_.a, variables)))
            type_ = type_.b
        return variables, self._store.instantiate(type_, variables)

    def _types(self) -> list[_Type]:
        """The types as declared. Raises Refused."""
        store, checker, parsed = self._store, self._checker, self._parsed
        makers = {each.name: each.type for each in parsed.constructors}
        # 1. The parameters, as free variables that all types and constructors share.
        types = []
        self._arguments: Exprs = ()
        """The parameters as free variables, the same in all types and constructors."""
        count = parsed.types[0].arguments
        for at, each in enumerate(parsed.types):
            self._declared_type(each.name, each.type)
            type_ = each.type
            if not at:
                for _ in range(count):
                    if type_.tag != PI:
                        raise Refused(f"{each.name} has fewer than {count} parameters")
                    self._arguments = (
                        *self._arguments,
                        self._variable(store.instantiate(type_.a, self._arguments)),
                    )
                    type_ = type_.b
                type_ = store.instantiate(type_, self._arguments)
            else:
                type_ = self._applied(each.name, type_)
            # 2. The indices and the universe.
            indices, sort = self._opened(type_)
            sort = checker.whnf(sort)
            if sort.tag != SORT:
                raise Refused(f"{each.name} is not a type")
            if not at:
                self._level: Level = sort.a
            elif not store.same_level(self._level, sort.a):
                raise Refused("mutual types in different universes")
            types.append(
                _Type(each.name, each.type, [(name, makers[name]) for name in each.constructors], None, indices)
            )
        return types

    def _applied(self, name: str, type_: Expr) -> Expr:
        """The type of a type or constructor for the group's parameters, which must be its own. Raises Refused."""
        for variable in self._arguments:
            if type_.tag != PI or not self._checker.equal(type_.a, variable.b):
                raise Refused(f"{name} has other parameters than the first type")
            type_ = self._store.instantiate(type_.b, (variable,))
        return type_

    def _register(self, types: list[_Type]) -> None:
        """Put types into the environment, still without constructors: nothing can be computed with them."""
        for each in types:
            self._checker.constants[each.name] = Inductive(
                each.name,
                self._parameters,
                each.type,
                len(self._arguments),
                len(each.indices),
                (),
                True,
                (each.name,),
            )

    # --- nested occurrences -----------------------------------------------------------------------------------------

    def _without_nesting(self, types: list[_Type]) -> list[_Type]:
        """The group with a type for each nested occurrence. Raises Refused."""
        types = list(types)
        self._nested: dict[Expr, Expr] = {}
        """By nested occurrence, such as `List (Tree α)`: the type that stands for it, applied to the parameters."""
        self._nested_makers: dict[Expr, Expr] = {}
        """By constructor of such a type, applied to the parameters: the constructor that it stands for."""
        at = 0
        while at < len(types):
            each = types[at]
            for place, (name, type_) in enumerate(each.constructors):
                opened = self._applied(name, type_)
                replaced = self._unnested(opened, types, {})
                if replaced is not opened:
                    each.constructors[place] = (name, self._store.closed_over(PI, self._arguments, replaced))
            at += 1
        return types

    def _unnested(self, expr: Expr, types: list[_Type], seen: dict[Expr, Expr]) -> Expr:
        """Replace nested occurrences, outermost first."""
        known = seen.get(expr)
        if known is not None:
            return known
        store = self._store
        result = expr
        if expr.tag == APP:
            occurrence = self._occurrence(expr, types)
            if occurrence is not None:
                result = occurrence
            else:
                result = store.app(self._unnested(expr.a, types, seen), self._unnested(expr.b, types, seen))
        elif expr.tag in BINDERS:
            result = store.binder(expr.tag, self._unnested(expr.a, types, seen), self._unnested(expr.b, types, seen))
        elif expr.tag == LET:
            result = store.let(*(self._unnested(part, types, seen) for part in (expr.a, expr.b, expr.c)))
        elif expr.tag == PROJ:
            result = store.proj(expr.a, expr.b, self._unnested(expr.c, types, seen))
        seen[expr] = result
        return result

    def _occurrence(self, expr: Expr, types: list[_Type]) -> Expr | None:
        """What stands for `J ds is`, where a type of the group is in the parameters ds of another type J."""
        # 1. Is it one?
        function, arguments = spine(expr)
        outer = self._checker.constants.get(function.a) if function.tag == CONST else None
        if type(outer) is not Inductive or outer.name in {each.name for each in types}:
            return None
        if len(arguments) < outer.arguments:
            return None
        inner, rest = arguments[: outer.arguments], arguments[outer.arguments :]
        names = frozenset(each.name for each in types)
        if not any(mentions(each, names) for each in inner):
            return None
        if any(each.loose for each in inner):
            raise Refused(f"a nested occurrence in {outer.name} whose parameters depend on a constructor's fields")
        # 2. Make types for all types that are mutual with J.
        store = self._store
        occurrence = store.apps(function, inner)
        if occurrence not in self._nested:
            if len(types) + len(outer.group) > MOST_NESTED:
                raise Refused(f"more than {MOST_NESTED} types in a group")
            for name in outer.group:
                self._add_nested(name, function.b, inner, types)
        return store.apps(self._nested[occurrence], rest)

    def _add_nested(self, name: str, levels: Levels, inner: list[Expr], types: list[_Type]) -> None:
        store, checker = self._store, self._checker
        inductive = checker.constants[name]
        assert type(inductive) is Inductive
        # A name that no file can contain: parts with a dot are «quoted».
        new = f"«nested».{len(types)}..{self._parsed.types[0].name}"
        for_parameters = store.apps(store.const(name, levels), inner)
        new_applied = store.apps(store.const(new, self._levels), self._arguments)
        self._nested[for_parameters] = new_applied
        makers = []
        for each in inductive.constructors:
            made = checker.constants[each]
            type_ = self._for_parameters(made, levels, inner)
            makers.append((f"{new}..{each}", store.closed_over(PI, self._arguments, type_)))
            own = store.apps(store.const(makers[-1][0], self._levels), self._arguments)
            self._nested_makers[own] = store.apps(store.const(each, levels), inner)
        type_ = self._for_parameters(inductive, levels, inner)
        indices, sort = self._opened(type_)
        sort = checker.whnf(sort)
        if sort.tag != SORT or not store.same_level(sort.a, self._level):
            raise Refused(f"a nested occurrence in {name}, which is in another universe")
        closed = store.closed_over(PI, self._arguments, type_)
        types.append(_Type(new, closed, makers, for_parameters, indices))

    def _for_parameters(self, constant: Constant, levels: Levels, inner: list[Expr]) -> Expr:
        type_ = self._store.with_levels(constant.type, constant.parameters, levels)
        for each in inner:
            type_ = type_ if type_.tag == PI else self._checker.whnf(type_)
            if type_.tag != PI:
                raise Refused(f"{constant.name} with too many parameters")
            type_ = self._store.instantiate(type_.b, (each,))
        return type_

    # --- constructors -----------------------------------------------------------------------------------------------

    def _constructor(self, name: str, type_: Expr, place: int) -> _Constructor:
        """Check one constructor. Raises Refused."""
        store, checker = self._store, self._checker
        type_ = self._applied(name, type_)
        fields: Exprs = ()
        recursive = []
        # 1. The fields: universe and positivity of each.
        while type_.tag == PI:
            domain = store.instantiate(type_.a, fields)
            if not self._trusted:
                level = checker.sort_of(domain, True)
                if self._level.tag != ZERO and not store.leq(level, self._level):
                    raise Refused(f"a field of {name} is in a larger universe than the type")
            variable = self._variable(domain)
            fields = (*fields, variable)
            type_ = type_.b
            inner = self._positive(name, domain)
            if inner is not None:
                recursive.append((variable, *inner))
        # 2. The result.
        result = self._own(store.instantiate(type_, fields))
        if result is None or result[0] != place:
            raise Refused(f"{name} does not construct a term of its type")
        return _Constructor(name, fields, recursive, result[1])

    def _own(self, type_: Expr) -> tuple[int, list[Expr]] | None:
        """The place of the type and the indices, if the term is a type of the group for the group's parameters."""
        function, arguments = spine(type_)
        if function.tag != CONST or function.a not in self._group or function.b != self._levels:
            return None
        inductive = self._checker.constants[function.a]
        assert type(inductive) is Inductive
        count = len(self._arguments)
        if len(arguments) != count + inductive.indices:
            return None
        equal = self._checker.equal
        if not all(equal(a, b) for a, b in zip(arguments[:count], self._arguments, strict=True)):
            return None
        if any(mentions(each, self._group) for each in arguments[count:]):
            return None
        return self._places[function.a], arguments[count:]

    @property
    def _places(self) -> dict[str, int]:
        names = [each.name for each in self._parsed.types]
        names += [_name(each) for each in self._nested.values()]
        return {name: at for at, name in enumerate(names)}

    def _positive(self, name: str, domain: Expr) -> tuple[Exprs, int, list[Expr]] | None:
        """For a field that holds terms of the group: arguments, place of the type, indices. Raises Refused."""
        if not mentions(domain, self._group):
            return None
        # The occurrence may vanish by reduction.
        type_ = self._checker.whnf(domain)
        arguments: Exprs = ()
        while mentions(type_, self._group) and type_.tag == PI:
            if mentions(type_.a, self._group):
                raise Refused(f"{name} has a negative occurrence of its type")
            arguments = (*arguments, self._variable(type_.a))
            type_ = self._checker.whnf(self._store.instantiate(type_.b, arguments[-1:]))
        if not mentions(type_, self._group):
            return None
        own = self._own(type_)
        if own is None:
            raise Refused(f"{name} has an occurrence of its type that is not the type itself")
        return arguments, *own

    # --- recursors --------------------------------------------------------------------------------------------------

    def _large(self, types: list[_Type]) -> bool:
        """True if the recursors eliminate into every universe."""
        store, checker = self._store, self._checker
        if self._level.never_zero:
            return True
        # A type that may be a proposition, whose proofs are all equal: nothing may depend on which proof it is.
        if len(types) > 1 or len(types[0].made) > 1:
            return False
        for made in types[0].made:
            for variable in made.fields:
                level = checker.sort_of(variable.b, False)
                if not store.same_level(level, store.zero) and variable not in made.indices:
                    return False
        return True

    def _constants(self, types: list[_Type]) -> list[Constant]:
        """The constants of the group, as they come into the environment."""
        count = len(self._arguments)
        own = len(self._parsed.types)
        group = tuple(each.name for each in self._parsed.types)
        recursive = any(
            mentions(domain, self._group)
            for each in types[:own]
            for _, constructor in each.constructors
            for domain in _domains(constructor)
        )
        constants: list[Constant] = []
        for each, parsed in zip(types[:own], self._parsed.types, strict=True):
            names = parsed.constructors
            indices = len(each.indices)
            constants.append(Inductive(each.name, self._parameters, each.type, count, indices, names, recursive, group))
        makers = {each.name: each for each in self._parsed.constructors}
        for each in types[:own]:
            for place, made in enumerate(each.made):
                type_ = makers[made.name].type
                constants.append(
                    Constructor(made.name, self._parameters, type_, each.name, place, count, len(made.fields))
                )
        return constants + self._recursors(types)

    def _recursors(self, types: list[_Type]) -> list[Constant]:
        """The recursors: of the types, then of the nested occurrences."""
        store = self._store
        # 1. The universe of the motives.
        parameters = self._parameters
        level = store.zero
        if self._large(types):
            name = "u"
            while name in parameters:
                name += "'"
            parameters, level = (name, *parameters), store.param(name)
        # 2. Motives and minor premises.
        motives: Exprs = ()
        for each in types:
            major = self._variable(self._type_applied(each, each.indices))
            motives = (
                *motives,
                self._variable(store.closed_over(PI, (*each.indices, major), store.sort(level))),
            )
        minors: Exprs = ()
        for place, each in enumerate(types):
            for made in each.made:
                minors = (*minors, self._variable(self._minor(made, each, motives, place)))
        # 3. A recursor for each type. All are named after the first type or their own.
        own = len(self._parsed.types)
        first = self._parsed.types[0].name
        names = [f"{each.name}.rec" for each in types[:own]]
        names += [f"{first}.rec_{at + 1}" for at in range(len(types) - own)]
        levels = tuple(store.param(each) for each in parameters)
        shared = (*self._arguments, *motives, *minors)
        heads = [store.apps(store.const(name, levels), shared) for name in names]
        k = len(types) == 1 and self._level.tag == ZERO and len(types[0].made) == 1 and not types[0].made[0].fields
        constants: list[Constant] = []
        at = 0
        for place, (name, each) in enumerate(zip(names, types, strict=True)):
            major = self._variable(self._type_applied(each, each.indices))
            result = store.apps(motives[place], (*each.indices, major))
            type_ = self._back((*motives, *minors, *each.indices, major), PI, result)
            rules = []
            for made in each.made:
                right = self._right(made, minors[at], heads)
                closed = self._back((*motives, *minors, *made.fields), LAM, right)
                rules.append(Rule(self._real_name(made.name), len(made.fields), closed))
                at += 1
            counts = (len(self._arguments), len(motives), len(minors), len(each.indices))
            inductive = each.name if each.stands_for is None else _name(each.stands_for)
            made_bodies = {
                rule.constructor: (rule.fields, _body(rule.right, len(shared) + rule.fields)) for rule in rules
            }
            constants.append(Recursor(name, parameters, type_, *counts, tuple(rules), k, inductive, made_bodies))
        return constants

    def _type_applied(self, type_: _Type, indices: Exprs) -> Expr:
        function = self._store.const(type_.name, self._levels)
        return self._store.apps(function, (*self._arguments, *indices))

    def _minor(self, made: _Constructor, type_: _Type, motives: Exprs, place: int) -> Expr:
        """The type of the minor premise of a constructor."""
        store = self._store
        term = store.apps(store.const(made.name, self._levels), (*self._arguments, *made.fields))
        result = store.apps(motives[place], (*made.indices, term))
        hypotheses: Exprs = ()
        for variable, arguments, inner, indices in made.recursive:
            holds = store.apps(motives[inner], (*indices, store.apps(variable, arguments)))
            hypotheses = (*hypotheses, self._variable(store.closed_over(PI, arguments, holds)))
        return store.closed_over(PI, (*made.fields, *hypotheses), result)

    def _right(self, made: _Constructor, minor: Expr, heads: list[Expr]) -> Expr:
        """The right-hand side of a rule: the minor premise, for the fields and the recursive calls on them."""
        store = self._store
        calls = []
        for variable, arguments, inner, indices in made.recursive:
            call = store.apps(heads[inner], (*indices, store.apps(variable, arguments)))
            calls.append(store.closed_over(LAM, arguments, call))
        return store.apps(minor, (*made.fields, *calls))

    def _back(self, variables: Exprs, tag: int, body: Expr) -> Expr:
        """Close a term, with the nested occurrences in place of the types that stand for them."""
        store = self._store
        closed = store.closed_over(tag, variables, body)
        if self._nested:
            places = {stand_in: real for real, stand_in in self._nested.items()} | self._nested_makers
            closed = store.replaced(closed, places, {})
        return store.closed_over(tag, self._arguments, closed)

    def _real_name(self, name: str) -> str:
        for own, real in self._nested_makers.items():
            if _name(own) == name:
                return _name(real)
        return name

    # --- comparison with the file -----------------------------------------------------------------------------------

    def _compare(self, made: list[Constant]) -> None:
        """What the file says about the group must be what was generated. Raises Refused."""
        constants = {each.name: each for each in made}
        for type_ in self._parsed.types:
            own = constants[type_.name]
            assert type(own) is Inductive
            said = (type_.indices, type_.recursive, type_.nested)
            if said != (own.indices, own.recursive, len(self._nested)):
                raise Refused(f"{type_.name} says something else about its indices, recursion or nesting than is true")
        for maker in self._parsed.constructors:
            constructor = constants[maker.name]
            assert type(constructor) is Constructor
            if maker.fields != constructor.fields:
                raise Refused(f"{maker.name} has {constructor.fields} fields, not {maker.fields}")
        recursors = {name: each for name, each in constants.items() if type(each) is Recursor}
        exported = {each.name: each for each in self._parsed.recursors}
        if set(recursors) != set(exported) or len(exported) != len(self._parsed.recursors):
            raise Refused("the recursors have other names than those of its types")
        # The recursors' types and rules are compared when the group is in the environment: they mention it.
        for constant in made:
            self._checker.constants[constant.name] = constant
        self._checker.forget_differences()
        for name, recursor in recursors.items():
            self._compare_recursor(recursor, exported[name])

    def _compare_recursor(self, own: Recursor, exported: ParsedRecursor) -> None:
        checker = self._checker
        wrong = f"{own.name} is not the recursor of its type"
        if len(own.parameters) != len(exported.parameters) or len(set(exported.parameters)) != len(own.parameters):
            raise Refused(f"{wrong}: it has other universe parameters")
        if exported.numbers != (own.arguments, own.indices, own.motives, own.minors):
            raise Refused(f"{wrong}: it has other numbers of arguments")
        if exported.k != own.k:
            raise Refused(f"{wrong}: it says otherwise whether it computes on every proof (K)")
        if not self._same(own, exported, exported.type, own.type):
            raise Refused(f"{wrong}: its type differs")
        if [rule[:2] for rule in exported.rules] != [(rule.constructor, rule.fields) for rule in own.rules]:
            raise Refused(f"{wrong}: it has rules for other constructors")
        for (_, _, right), rule in zip(exported.rules, own.rules, strict=True):
            if not self._same(own, exported, right, rule.right):
                raise Refused(f"{wrong}: the rule for {rule.constructor} differs")
        if not self._trusted:
            checker.sort_of(own.type, True)

    def _same(self, own: Recursor, exported: ParsedRecursor, said: Expr, generated: Expr) -> bool:
        """Compare a term of the file with ours. Names of universe parameters do not matter."""
        levels = tuple(self._store.param(each) for each in own.parameters)
        said = self._store.with_levels(said, exported.parameters, levels)
        if said is generated:
            return True
        self._checker.check(said)  # only well-typed terms may be compared
        return self._checker.equal(said, generated)


def _name(applied: Expr) -> str:
    """The constant at the head of a term."""
    function, _ = spine(applied)
    name: str = function.a
    return name


def _domains(type_: Expr) -> list[Expr]:
    """The argument types of a function type."""
    domains = []
    while type_.tag == PI:
        domains.append(type_.a)
        type_ = type_.b
    return domains


def _body(function: Expr, count: int) -> Expr:
    """A function's body below a number of binders."""
    for _ in range(count):
        function = function.b
    return function
