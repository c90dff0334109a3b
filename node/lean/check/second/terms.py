"""Universe levels and expressions, hash-consed: equal terms are one object, so `is` compares them and caches are dicts.

Bound variables are de Bruijn indices. A free variable carries its type and an index, and its index is larger than those
of the free variables in its type. Whoever opens a binder takes an index that no term at hand contains. The type of a
term therefore depends on the term alone, not on a context, and every cache is valid everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

# Kinds of levels.
ZERO, SUCC, MAX, IMAX, PARAM = range(5)

# Kinds of expressions.
BVAR, FVAR, SORT, CONST, APP, LAM, PI, LET, PROJ, NAT, STR = range(11)


BINDERS = frozenset({LAM, PI})


class Level:
    """A universe level. `a`, `b`: the levels below, or the name of a parameter."""

    __slots__ = ("a", "b", "never_zero", "parametric", "tag")

    def __init__(self, tag: int, a: Any, b: Any, parametric: bool, never_zero: bool) -> None:
        self.tag = tag
        self.a = a
        self.b = b
        self.parametric = parametric
        self.never_zero = never_zero
        """True when it is at least 1 whatever its parameters are."""


class Expr:
    """An expression. The meaning of `a`, `b` and `c` depends on the tag; the methods of `Store` show it."""

    __slots__ = ("a", "b", "c", "fv", "loose", "parametric", "tag")

    def __init__(self, tag: int, a: Any, b: Any, c: Any, loose: int, fv: int, parametric: bool) -> None:
        self.tag = tag
        self.a = a
        self.b = b
        self.c = c
        self.loose = loose
        """The largest index of a loose bound variable plus one; 0 for a closed expression."""
        self.fv = fv
        """The largest index of a free variable in it plus one; 0 without free variables."""
        self.parametric = parametric
        """True when a universe parameter occurs in it."""


Levels = tuple[Level, ...]
Exprs = tuple[Expr, ...]


class Store:
    """Makes levels and expressions, each once."""

    def __init__(self) -> None:
        self.tick: Callable[[], None] = lambda: None
        """Called for each comparison of levels that is made; raises when there are too many."""
        self._levels: dict[tuple[Any, ...], Level] = {}
        self.zero = Level(ZERO, None, None, False, False)
        self.one = self.succ(self.zero)
        self._leq: dict[tuple[Level, Level], bool] = {}
        self._bvars: dict[int, Expr] = {}
        self._naturals: dict[int, Expr] = {}
        self._strings: dict[str, Expr] = {}
        self._sorts: dict[Level, Expr] = {}
        self._apps: dict[tuple[Expr, Expr], Expr] = {}
        self._others: dict[tuple[Any, ...], Expr] = {}
        self._instances: dict[tuple[Expr, Exprs], Expr] = {}
        self._level_instances: dict[tuple[Expr, tuple[str, ...], Levels], Expr] = {}
        self.prop = self.sort(self.zero)

    def size(self) -> int:
        """The number of expressions and cached instances, about proportional to the memory in use."""
        return len(self._apps) + len(self._others) + len(self._instances) + len(self._level_instances)

    def forget(self) -> None:
        """Drop the caches of instances. Terms stay one object each."""
        self._instances.clear()
        self._level_instances.clear()

    # --- levels -----------------------------------------------------------------------------------------------------

    def _level(self, tag: int, a: Any, b: Any, parametric: bool, never_zero: bool) -> Level:
        key = (tag, a, b)
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = Level(tag, a, b, parametric, never_zero)
        return level

    def succ(self, a: Level) -> Level:
        return self._level(SUCC, a, None, a.parametric, True)

    def param(self, name: str) -> Level:
        return self._level(PARAM, name, None, True, False)

    def max(self, a: Level, b: Level) -> Level:
        if a is b or b.tag == ZERO:
            return a
        if a.tag == ZERO:
            return b
        return self._level(MAX, a, b, a.parametric or b.parametric, a.never_zero or b.never_zero)

    def imax(self, a: Level, b: Level) -> Level:
        """0 if `b` is 0, else the maximum."""
        if b.tag == ZERO or a is b or a.tag == ZERO:
            return b
        if b.never_zero:
            return self.max(a, b)
        return self._level(IMAX, a, b, a.parametric or b.parametric, b.never_zero)

    def level_instance(self, level: Level, values: dict[str, Level]) -> Level:
        """A level with parameters replaced. A parameter without value stays."""
        if not level.parametric:
            return level
        match level.tag:
            case 4:
                return values.get(level.a, level)
            case 1:
                return self.succ(self.level_instance(level.a, values))
            case 2:
                return self.max(self.level_instance(level.a, values), self.level_instance(level.b, values))
        return self.imax(self.level_instance(level.a, values), self.level_instance(level.b, values))

    def leq(self, a: Level, b: Level) -> bool:
        """True if `a` is at most `b` whatever the parameters are."""
        if a is b or a.tag == ZERO:
            return True
        key = (a, b)
        known = self._leq.get(key)
        if known is None:
            known = self._leq[key] = self._leq_split(a, b)
        return known

    def same_level(self, a: Level, b: Level) -> bool:
        return a is b or (self.leq(a, b) and self.leq(b, a))

    def _leq_split(self, a: Level, b: Level) -> bool:
        self.tick()
        # `imax x p` is 0 for p = 0 and `max x p` for p ≥ 1. Both cases are tried, until no `imax` is left.
        name = _deciding(a) or _deciding(b)
        if name is not None:
            next_ = self.succ(self.param(name))
            return all(
                self.leq(self.level_instance(a, {name: value}), self.level_instance(b, {name: value}))
                for value in (self.zero, next_)
            )
        above = _summands(b)
        # A summand p + k can be any number from k on, so it needs p + l with l ≥ k on the other side; a number needs
        # a number or p + l that is large enough already for p = 0.
        return all(
            any(k <= other_k and (name is None or name == other) for other, other_k in above)
            for name, k in _summands(a)
        )

    # --- expressions ------------------------------------------------------------------------------------------------

    def _other(self, key: tuple[Any, ...], loose: int, fv: int, parametric: bool) -> Expr:
        expr = self._others.get(key)
        if expr is None:
            tag, a, b, c = (*key, None, None)[:4]
            expr = self._others[key] = Expr(tag, a, b, c, loose, fv, parametric)
        return expr

    def bvar(self, index: int) -> Expr:
        expr = self._bvars.get(index)
        if expr is None:
            expr = self._bvars[index] = Expr(BVAR, index, None, None, index + 1, 0, False)
        return expr

    def fvar(self, index: int, type_: Expr) -> Expr:
        assert type_.fv <= index and not type_.loose
        return self._other((FVAR, index, type_), 0, index + 1, type_.parametric)

    def sort(self, level: Level) -> Expr:
        expr = self._sorts.get(level)
        if expr is None:
            expr = self._sorts[level] = Expr(SORT, level, None, None, 0, 0, level.parametric)
        return expr

    def const(self, name: str, levels: Levels = ()) -> Expr:
        return self._other((CONST, name, levels), 0, 0, any(level.parametric for level in levels))

    def app(self, function: Expr, argument: Expr) -> Expr:
        key = (function, argument)
        expr = self._apps.get(key)
        if expr is None:
            loose = function.loose if function.loose > argument.loose else argument.loose
            fv = function.fv if function.fv > argument.fv else argument.fv
            parametric = function.parametric or argument.parametric
            expr = self._apps[key] = Expr(APP, function, argument, None, loose, fv, parametric)
        return expr

    def apps(self, function: Expr, arguments: Sequence[Expr]) -> Expr:
        for argument in arguments:
            function = self.app(function, argument)
        return function

    def binder(self, tag: int, type_: Expr, body: Expr) -> Expr:
        """A function (LAM) or a function type (PI)."""
        key = (tag, type_, body)
        expr = self._others.get(key)
        if expr is None:
            loose, fv = max(type_.loose, body.loose - 1), max(type_.fv, body.fv)
            expr = self._others[key] = Expr(tag, type_, body, None, loose, fv, type_.parametric or body.parametric)
        return expr

    def lam(self, type_: Expr, body: Expr) -> Expr:
        return self.binder(LAM, type_, body)

    def pi(self, type_: Expr, body: Expr) -> Expr:
        return self.binder(PI, type_, body)

    def let(self, type_: Expr, value: Expr, body: Expr) -> Expr:
        return self._other(
            (LET, type_, value, body),
            max(type_.loose, value.loose, body.loose - 1),
            max(type_.fv, value.fv, body.fv),
            type_.parametric or value.parametric or body.parametric,
        )

    def proj(self, structure: str, index: int, inner: Expr) -> Expr:
        return self._other((PROJ, structure, index, inner), inner.loose, inner.fv, inner.parametric)

    def nat(self, value: int) -> Expr:
        expr = self._naturals.get(value)
        if expr is None:
            expr = self._naturals[value] = Expr(NAT, value, None, None, 0, 0, False)
        return expr

    def string(self, text: str) -> Expr:
        expr = self._strings.get(text)
        if expr is None:
            expr = self._strings[text] = Expr(STR, text, None, None, 0, 0, False)
        return expr

    # --- replacing variables ----------------------------------------------------------------------------------------

    def instantiate(self, expr: Expr, values: Exprs) -> Expr:
        """Replace the outermost loose bound variables by closed values. The last value is for index 0."""
        if not expr.loose or not values:
            return expr
        key = (expr, values)
        result = self._instances.get(key)
        if result is None:
            result = self._instances[key] = self._instantiated(expr, 0, values, len(values), {})
        return result

    def _instantiated(
        self, expr: Expr, depth: int, values: Exprs, count: int, seen: dict[tuple[Expr, int], Expr]
    ) -> Expr:
        # 1. Terms without the variables, and the variables.
        if expr.loose <= depth:
            return expr
        tag = expr.tag
        if tag == BVAR:
            at = expr.a - depth
            return values[count - 1 - at] if at < count else self.bvar(expr.a - count)
        # 2. All others, each once per depth.
        key = (expr, depth)
        result = seen.get(key)
        if result is not None:
            return result
        if tag == APP:
            function = self._instantiated(expr.a, depth, values, count, seen)
            result = self.app(function, self._instantiated(expr.b, depth, values, count, seen))
        elif tag in BINDERS:
            type_ = self._instantiated(expr.a, depth, values, count, seen)
            result = self.binder(tag, type_, self._instantiated(expr.b, depth + 1, values, count, seen))
        elif tag == LET:
            result = self.let(
                self._instantiated(expr.a, depth, values, count, seen),
                self._instantiated(expr.b, depth, values, count, seen),
                self._instantiated(expr.c, depth + 1, values, count, seen),
            )
        else:  # PROJ: no other expression has loose bound variables
            result = self.proj(expr.a, expr.b, self._instantiated(expr.c, depth, values, count, seen))
        seen[key] = result
        return result

    def abstract(self, expr: Expr, variables: Exprs) -> Expr:
        """Replace free variables by loose bound variables. The last variable gets index 0. Inverse of `instantiate`."""
        if not variables or not expr.fv:
            return expr
        lowest = min(variable.a for variable in variables)
        places = {variable: len(variables) - 1 - at for at, variable in enumerate(variables)}
        return self._abstracted(expr, 0, places, lowest, {})

    def _abstracted(
        self, expr: Expr, depth: int, places: dict[Expr, int], lowest: int, seen: dict[tuple[Expr, int], Expr]
    ) -> Expr:
        # 1. Terms without the variables, and the variables.
        if expr.fv <= lowest:
            return expr
        tag = expr.tag
        if tag == FVAR:
            place = places.get(expr)
            return expr if place is None else self.bvar(depth + place)
        # 2. All others, each once per depth.
        key = (expr, depth)
        result = seen.get(key)
        if result is not None:
            return result
        if tag == APP:
            function = self._abstracted(expr.a, depth, places, lowest, seen)
            result = self.app(function, self._abstracted(expr.b, depth, places, lowest, seen))
        elif tag in BINDERS:
            type_ = self._abstracted(expr.a, depth, places, lowest, seen)
            result = self.binder(tag, type_, self._abstracted(expr.b, depth + 1, places, lowest, seen))
        elif tag == LET:
            result = self.let(
                self._abstracted(expr.a, depth, places, lowest, seen),
                self._abstracted(expr.b, depth, places, lowest, seen),
                self._abstracted(expr.c, depth + 1, places, lowest, seen),
            )
        else:
            result = self.proj(expr.a, expr.b, self._abstracted(expr.c, depth, places, lowest, seen))
        seen[key] = result
        return result

    def closed_over(self, tag: int, variables: Exprs, body: Expr) -> Expr:
        """A function or function type over free variables, with the types that they carry."""
        result = self.abstract(body, variables)
        for at in range(len(variables) - 1, -1, -1):
            result = self.binder(tag, self.abstract(variables[at].b, variables[:at]), result)
        return result

    def with_levels(self, expr: Expr, names: tuple[str, ...], levels: Levels) -> Expr:
        """Replace universe parameters."""
        if not expr.parametric or not names:
            return expr
        key = (expr, names, levels)
        result = self._level_instances.get(key)
        if result is None:
            values = dict(zip(names, levels, strict=True))
            result = self._level_instances[key] = self._leveled(expr, values, {})
        return result

    def _leveled(self, expr: Expr, values: dict[str, Level], seen: dict[Expr, Expr]) -> Expr:
        if not expr.parametric:
            return expr
        result = seen.get(expr)
        if result is not None:
            return result
        tag = expr.tag
        if tag == APP:
            result = self.app(self._leveled(expr.a, values, seen), self._leveled(expr.b, values, seen))
        elif tag == CONST:
            result = self.const(expr.a, tuple(self.level_instance(level, values) for level in expr.b))
        elif tag == SORT:
            result = self.sort(self.level_instance(expr.a, values))
        elif tag in BINDERS:
            result = self.binder(tag, self._leveled(expr.a, values, seen), self._leveled(expr.b, values, seen))
        elif tag == LET:
            parts = [self._leveled(part, values, seen) for part in (expr.a, expr.b, expr.c)]
            result = self.let(*parts)
        elif tag == PROJ:
            result = self.proj(expr.a, expr.b, self._leveled(expr.c, values, seen))
        else:  # FVAR: constants are closed, so this is a variable of somebody who replaces levels in an open term
            result = self.fvar(expr.a, self._leveled(expr.b, values, seen))
        seen[expr] = result
        return result

    def replaced(self, expr: Expr, places: dict[Expr, Expr], seen: dict[Expr, Expr]) -> Expr:
        """Replace whole closed subterms. `seen`: an empty dict, which becomes a cache."""
        result = places.get(expr) or seen.get(expr)
        if result is not None:
            return result
        tag = expr.tag
        if tag == APP:
            result = self.app(self.replaced(expr.a, places, seen), self.replaced(expr.b, places, seen))
        elif tag in BINDERS:
            result = self.binder(tag, self.replaced(expr.a, places, seen), self.replaced(expr.b, places, seen))
        elif tag == LET:
            parts = [self.replaced(part, places, seen) for part in (expr.a, expr.b, expr.c)]
            result = self.let(*parts)
        elif tag == PROJ:
            result = self.proj(expr.a, expr.b, self.replaced(expr.c, places, seen))
        elif tag == FVAR:
            result = self.fvar(expr.a, self.replaced(expr.b, places, seen))
        else:
            result = expr
        seen[expr] = result
        return result


def spine(expr: Expr) -> tuple[Expr, list[Expr]]:
    """The function and the arguments of an application."""
    arguments = []
    while expr.tag == APP:
        arguments.append(expr.b)
        expr = expr.a
    arguments.reverse()
    return expr, arguments


def head(expr: Expr) -> Expr:
    """The function of an application."""
    while expr.tag == APP:
        expr = expr.a
    return expr


def below(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, types of free variables left out."""
    match expr.tag:
        case 4 | 5 | 6:
            return expr.a, expr.b
        case 7:
            return expr.a, expr.b, expr.c
        case 8:
            return (expr.c,)
    return ()


def subterms(expr: Expr) -> Iterator[Expr]:
    """The expression and all that is in it, each once."""
    seen = {expr}
    waiting = [expr]
    while waiting:
        top = waiting.pop()
        yield top
        for child in below(top):
            if child not in seen:
                seen.add(child)
                waiting.append(child)


def mentions(expr: Expr, names: frozenset[str]) -> bool:
    """True if one of the constants occurs."""
    return any(each.tag == CONST and each.a in names for each in subterms(expr))


def level_parameters(level: Level) -> set[str]:
    """The parameters in a level."""
    if not level.parametric:
        return set()
    if level.tag == PARAM:
        return {level.a}
    return level_parameters(level.a) | (level_parameters(level.b) if level.tag in (MAX, IMAX) else set())


def _deciding(level: Level) -> str | None:
    """A parameter whose being zero decides what an `imax` is; None without `imax`."""
    if level.tag == SUCC:
        return _deciding(level.a)
    if level.tag == MAX:
        return _deciding(level.a) or _deciding(level.b)
    if level.tag == IMAX:
        return _zero_if(level.b)
    return None


def _zero_if(level: Level) -> str | None:
    """A parameter on which it depends whether a level is zero."""
    if level.tag == PARAM:
        return str(level.a)
    if level.tag == MAX:
        return _zero_if(level.a) or _zero_if(level.b)
    return _zero_if(level.b) if level.tag == IMAX else None


def _summands(level: Level) -> set[tuple[str | None, int]]:
    """A level without `imax` as the maximum of parameters plus numbers, and numbers (without parameter)."""
    found = set()
    waiting = [(level, 0)]
    while waiting:
        top, plus = waiting.pop()
        if top.tag == SUCC:
            waiting.append((top.a, plus + 1))
        elif top.tag == MAX:
            waiting += [(top.a, plus), (top.b, plus)]
        else:
            assert top.tag in (ZERO, PARAM), "an `imax` that no parameter decides"
            found.add((top.a if top.tag == PARAM else None, plus))
    return found
