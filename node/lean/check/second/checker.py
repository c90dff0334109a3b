"""The type checker: reduction, types of terms, definitional equality.

The rules are those of Carneiro's thesis ("The Type Theory of Lean") and of Bailey's "Type Checking in Lean 4". All
terms here are closed except for free variables, which carry their types (see `terms`): a cached answer holds anywhere.
Recursion is Python's own; `limits.py` gives it a large stack, and counts the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from node.lean.check.second.declarations import (
    Constant,
    Constructor,
    Definition,
    Inductive,
    NotChecked,
    Quotient,
    Recursor,
    Refused,
)
from node.lean.check.second.terms import (
    APP,
    BINDERS,
    CONST,
    FVAR,
    LAM,
    LET,
    NAT,
    PI,
    PROJ,
    SORT,
    STR,
    Expr,
    Exprs,
    Level,
    Levels,
    Store,
    head,
    spine,
)

_VALUES = frozenset({SORT, PI, LAM, NAT, STR, FVAR})
"""Terms that do not reduce."""

_REDUCIBLE = frozenset({LET, PROJ})
"""Functions that may reduce without unfolding."""

_DATA = frozenset({SORT, PI, NAT, STR})
"""Terms that are no proofs."""

NAT_NAME, NAT_ZERO, NAT_SUCC = "Nat", "Nat.zero", "Nat.succ"


class Checker:
    """The environment of checked constants, and the judgements over it."""

    def __init__(self, store: Store, tick: Callable[[], None]) -> None:
        """`tick` is called for each step, and raises NotChecked when there are too many."""
        self.store = store
        self.tick = tick
        self.constants: dict[str, Constant] = {}
        self.unchecked: set[str] = set()
        """Names that were declared, but not checked."""
        self.computed: dict[str, Callable[[int, int], int | bool | None]] = {}
        """Functions on `Nat` that are computed on numerals: their definitions were compared (`naturals`)."""
        self.computed_one: dict[str, Callable[[int], int]] = {}
        """The same with one argument."""
        self.literals = False
        """True when `Nat` is the inductive type that numerals stand for."""
        self.texts = False
        """True when all constants that a string stands for have the right types."""
        self.forget()

    @property
    def known_functions(self) -> set[str]:
        """The functions that are computed on numerals."""
        return {*self.computed, *self.computed_one}

    def forget(self) -> None:
        """Empty all caches."""
        self._core: dict[Expr, Expr] = {}
        self._whnf: dict[Expr, Expr] = {}
        self._inferred: dict[Expr, Expr] = {}
        self._checked: dict[Expr, Expr] = {}
        self._equal: set[tuple[Expr, Expr]] = set()
        self._different: set[tuple[Expr, Expr]] = set()
        self._is_proof: dict[Expr, Expr | None] = {}

    def forget_differences(self) -> None:
        """For a new constant: what could not be reduced or was not equal before may be now."""
        self._different.clear()
        self._core.clear()
        self._whnf.clear()

    def size(self) -> int:
        """The number of cached answers."""
        return len(self._core) + len(self._whnf) + len(self._inferred) + len(self._checked) + len(self._equal)

    def constant(self, name: str) -> Constant:
        """A constant that was checked. Raises Refused and NotChecked."""
        constant = self.constants.get(name)
        if constant is None:
            if name in self.unchecked:
                raise NotChecked(f"it uses {name}, which is not checked")
            raise Refused(f"{name} is not declared before")
        return constant

    # --- weak head normal form --------------------------------------------------------------------------------------

    def whnf(self, expr: Expr) -> Expr:
        """Reduce until the head is known: no definition left to unfold there."""
        tag = expr.tag
        if tag in _VALUES:
            return expr
        result = self._whnf.get(expr)
        if result is not None:
            return result
        result = expr
        while True:
            self.tick()
            result = self.core(result)
            next_ = self.computed_number(result) or self._unfolded(result)
            if next_ is None:
                break
            result = next_
        self._whnf[expr] = result
        return result

    def core(self, expr: Expr) -> Expr:
        """Reduce at the head without unfolding definitions there."""
        tag = expr.tag
        if tag != APP and tag != PROJ and tag != LET:
            return expr
        result = self._core.get(expr)
        if result is not None:
            return result
        result = expr
        while True:
            next_ = self._core_step(result)
            if next_ is None:
                break
            self.tick()
            result = next_
        self._core[expr] = result
        return result

    def _core_step(self, expr: Expr) -> Expr | None:
        """One step of beta, zeta, projection, iota or quotient reduction; None if there is none."""
        tag = expr.tag
        if tag == APP:
            function, arguments = spine(expr)
            head_tag = function.tag
            if head_tag == CONST:
                constant = self.constants.get(function.a)
                kind = type(constant)
                if kind is Recursor:
                    return self._iota(constant, function, arguments)  # type: ignore[arg-type]
                if kind is Quotient:
                    return self._quotient_step(constant, arguments)  # type: ignore[arg-type]
                return None
            if head_tag == LAM:
                return self.beta(function, arguments)
            if head_tag in _REDUCIBLE:
                reduced = self.core(function)
                return None if reduced is function else self.store.apps(reduced, arguments)
            return None
        if tag == LET:
            return self.store.instantiate(expr.c, (expr.b,))
        if tag == PROJ:
            return self._projected(expr.b, self.whnf(expr.c))
        return None

    def beta(self, function: Expr, arguments: list[Expr] | Exprs) -> Expr:
        """Apply a function term, as many arguments as it has binders at once."""
        count = 0
        while function.tag == LAM and count < len(arguments):
            function = function.b
            count += 1
        result = self.store.instantiate(function, tuple(arguments[:count]))
        return self.store.apps(result, arguments[count:]) if count < len(arguments) else result

    def _projected(self, index: int, inner: Expr) -> Expr | None:
        """A field of a constructor application, or None."""
        if inner.tag == STR:
            inner = self.whnf(self.text_constructor(inner))
        function, arguments = spine(inner)
        if function.tag != CONST:
            return None
        constant = self.constants.get(function.a)
        if type(constant) is not Constructor:
            return None
        at = constant.arguments + index
        return arguments[at] if at < len(arguments) else None

    def _iota(self, recursor: Recursor, function: Expr, arguments: list[Expr]) -> Expr | None:
        """Compute a recursor on a constructor."""
        store = self.store
        # 1. The major premise in constructor form.
        place = recursor.major
        if place >= len(arguments):
            return None
        major = arguments[place]
        if recursor.k:
            major = self._k_constructor(recursor, major) or major
        major = self.whnf(major)
        if major.tag == NAT:
            major = self.numeral_constructor(major)
        elif major.tag == STR:
            major = self.whnf(self.text_constructor(major))
        made, fields = spine(major)
        constant = self.constants.get(made.a) if made.tag == CONST else None
        if type(constant) is not Constructor:
            expanded = self._eta_expanded(recursor.inductive, major)
            if expanded is None:
                return None
            made, fields = spine(expanded)
            constant = self.constants[made.a]
        assert type(constant) is Constructor
        # 2. The rule for this constructor.
        body = recursor.bodies.get(constant.name)
        if body is None or len(fields) != constant.arguments + body[0]:
            return None
        right = store.with_levels(body[1], recursor.parameters, function.b)
        first = recursor.arguments + recursor.motives + recursor.minors
        values = (*arguments[:first], *fields[constant.arguments :])
        return store.apps(store.instantiate(right, values), arguments[place + 1 :])

    def _k_constructor(self, recursor: Recursor, major: Expr) -> Expr | None:
        """The only constructor of a proposition without content, if it has the type of this proof."""
        type_ = self.whnf(self.infer(major))
        function, arguments = spine(type_)
        if function.tag != CONST or function.a != recursor.inductive:
            return None
        inductive = self.constants[function.a]
        assert type(inductive) is Inductive
        made = self.store.apps(
            self.store.const(inductive.constructors[0], function.b), arguments[: inductive.arguments]
        )
        return made if self.equal(type_, self.infer(made)) else None

    def _eta_expanded(self, name: str, expr: Expr) -> Expr | None:
        """A term of a structure type as its constructor applied to the projections of the term; None for a proof."""
        inductive = self.constants.get(name)
        if type(inductive) is not Inductive or not inductive.structure:
            return None
        type_ = self.whnf(self.infer(expr))
        function, arguments = spine(type_)
        if function.tag != CONST or function.a != name or self.is_proposition(type_):
            return None
        constructor = self.constants[inductive.constructors[0]]
        assert type(constructor) is Constructor
        fields = [self.store.proj(name, at, expr) for at in range(constructor.fields)]
        made = self.store.apps(self.store.const(constructor.name, function.b), arguments[: inductive.arguments])
        return self.store.apps(made, fields)

    def _quotient_step(self, quotient: Quotient, arguments: list[Expr]) -> Expr | None:
        """`Quot.lift f h (Quot.mk r a)` is `f a`; the same for `Quot.ind`."""
        place, function = {"lift": (5, 3), "ind": (4, 3)}.get(quotient.kind, (0, 0))
        if not place or len(arguments) <= place:
            return None
        made, inner = spine(self.whnf(arguments[place]))
        if made.tag != CONST or len(inner) != 3:
            return None
        constant = self.constants.get(made.a)
        if type(constant) is not Quotient or constant.kind != "ctor":
            return None
        return self.store.apps(self.store.app(arguments[function], inner[2]), arguments[place + 1 :])

    def _definition(self, expr: Expr) -> Definition | None:
        """The definition at the head of a term."""
        function = head(expr)
        if function.tag != CONST:
            return None
        constant = self.constants.get(function.a)
        return constant if isinstance(constant, Definition) else None

    def _unfolded(self, expr: Expr) -> Expr | None:
        """Unfold the definition at the head; None if there is none."""
        definition = self._definition(expr)
        return None if definition is None else self._delta(definition, expr)

    def _delta(self, definition: Definition, expr: Expr) -> Expr:
        function, arguments = spine(expr)
        value = self.store.with_levels(definition.value, definition.parameters, function.b)
        return self.beta(value, arguments) if arguments else value

    # --- literals ---------------------------------------------------------------------------------------------------

    def numeral_constructor(self, numeral: Expr) -> Expr:
        """`Nat.zero` or `Nat.succ n`."""
        store = self.store
        if not numeral.a:
            return store.const(NAT_ZERO)
        return store.app(store.const(NAT_SUCC), store.nat(numeral.a - 1))

    def text_constructor(self, text: Expr) -> Expr:
        """`String.ofList` of the list of characters, each `Char.ofNat` of its code point."""
        store = self.store
        char = store.const("Char")
        of_nat = store.const("Char.ofNat")
        chars = store.app(store.const("List.nil", (store.zero,)), char)
        cons = store.app(store.const("List.cons", (store.zero,)), char)
        for letter in reversed(text.a):
            chars = store.app(store.app(cons, store.app(of_nat, store.nat(ord(letter)))), chars)
        return store.app(store.const("String.ofList"), chars)

    def computed_number(self, expr: Expr) -> Expr | None:
        """The value of `Nat.add 2 3` and the like; None if it is not computed."""
        if expr.tag != APP or expr.fv:
            return None
        function = expr.a
        if function.tag == CONST:
            if function.a == NAT_SUCC and self.literals:
                number = self._numeral(expr.b)
                return None if number is None else self.store.nat(number + 1)
            one = self.computed_one.get(function.a)
            number = None if one is None else self._numeral(expr.b)
            return None if one is None or number is None else self.store.nat(one(number))
        if function.tag != APP or function.a.tag != CONST:
            return None
        compute = self.computed.get(function.a.a)
        if compute is None:
            return None
        left = self._numeral(function.b)
        right = None if left is None else self._numeral(expr.b)
        if left is None or right is None:
            return None
        result = compute(left, right)
        if isinstance(result, bool):
            return self.store.const("Bool.true" if result else "Bool.false")
        return None if result is None else self.store.nat(result)

    def _numeral(self, expr: Expr) -> int | None:
        """The number that a term reduces to, or None."""
        result = self.whnf(expr)
        if result.tag == NAT:
            return int(result.a)
        return 0 if result.tag == CONST and result.a == NAT_ZERO else None

    # --- types ------------------------------------------------------------------------------------------------------

    def infer(self, expr: Expr) -> Expr:
        """The type of a term that is known to be well typed."""
        return self._type_of(expr, False)

    def check(self, expr: Expr) -> Expr:
        """The type of a term, every part of which is checked. Raises Refused."""
        return self._type_of(expr, True)

    def sort_of(self, type_: Expr, check: bool) -> Level:
        """The universe of a type. Raises Refused if it is not a type."""
        sort = self._type_of(type_, check)
        if sort.tag != SORT:
            sort = self.whnf(sort)
            if sort.tag != SORT:
                raise Refused("a type is expected, but this term is not one")
        level: Level = sort.a
        return level

    def is_proposition(self, type_: Expr) -> bool:
        """True for a type in `Prop`."""
        sort = self.whnf(self.infer(type_))
        return sort.tag == SORT and self.store.same_level(sort.a, self.store.zero)

    def _type_of(self, expr: Expr, check: bool) -> Expr:
        # 1. What is known already.
        tag = expr.tag
        if tag == FVAR:
            type_: Expr = expr.b
            return type_
        result = self._checked.get(expr)
        if result is None and not check:
            result = self._inferred.get(expr)
        if result is not None:
            return result
        self.tick()
        store = self.store
        # 2. By kind of term.
        if tag == SORT:
            result = store.sort(store.succ(expr.a))
        elif tag == CONST:
            constant = self.constant(expr.a)
            if len(constant.parameters) != len(expr.b):
                raise Refused(f"{expr.a} with {len(expr.b)} universe levels instead of {len(constant.parameters)}")
            result = store.with_levels(constant.type, constant.parameters, expr.b)
        elif tag == APP:
            result = self._type_of_application(expr, check)
        elif tag == LAM:
            result = self._type_of_function(expr, check)
        elif tag == PI:
            result = self._type_of_arrow(expr, check)
        elif tag == LET:
            if check:
                self.sort_of(expr.a, True)
                self._expect(expr.b, expr.a, "the value of a `let`")
            result = self._type_of(store.instantiate(expr.c, (expr.b,)), check)
        elif tag == PROJ:
            result = self._type_of_projection(expr, check)
        elif tag == NAT:
            if not self.literals:
                raise Refused("a numeral before `Nat` is declared as usual")
            result = store.const(NAT_NAME)
        elif tag == STR:
            if not self.texts:
                raise Refused(
                    "a string before `String`, `List`, `Char.ofNat` and `String.ofList` are declared as usual"
                )
            result = store.const("String")
        else:
            raise Refused("a bound variable without binder")
        (self._checked if check else self._inferred)[expr] = result
        return result

    def _expect(self, expr: Expr, type_: Expr, what: str) -> None:
        """Check a term against its type. Raises Refused."""
        if not self.equal(self._type_of(expr, True), type_):
            raise Refused(f"{what} has another type than expected")

    def _type_of_application(self, expr: Expr, check: bool) -> Expr:
        store = self.store
        function, arguments = spine(expr)
        type_ = self._type_of(function, check)
        first = 0  # arguments from here on are not put into `type_` yet
        for at, argument in enumerate(arguments):
            if type_.tag != PI:
                type_ = self.whnf(store.instantiate(type_, tuple(arguments[first:at])))
                first = at
                if type_.tag != PI:
                    raise Refused("an argument for a term that is not a function")
            if check:
                self._expect(argument, store.instantiate(type_.a, tuple(arguments[first:at])), "an argument")
            type_ = type_.b
        return store.instantiate(type_, tuple(arguments[first:]))

    def _type_of_function(self, expr: Expr, check: bool) -> Expr:
        store = self.store
        base = expr.fv
        variables: Exprs = ()
        types = []
        while expr.tag == LAM:
            types.append(expr.a)
            type_ = store.instantiate(expr.a, variables)
            if check:
                self.sort_of(type_, True)
            variables = (*variables, store.fvar(base + len(variables), type_))
            expr = expr.b
        result = store.abstract(self._type_of(store.instantiate(expr, variables), check), variables)
        for type_ in reversed(types):
            result = store.pi(type_, result)
        return result

    def _type_of_arrow(self, expr: Expr, check: bool) -> Expr:
        store = self.store
        base = expr.fv
        variables: Exprs = ()
        levels = []
        while expr.tag == PI:
            type_ = store.instantiate(expr.a, variables)
            levels.append(self.sort_of(type_, check))
            variables = (*variables, store.fvar(base + len(variables), type_))
            expr = expr.b
        level = self.sort_of(store.instantiate(expr, variables), check)
        for each in reversed(levels):
            level = store.imax(each, level)
        return store.sort(level)

    def _type_of_projection(self, expr: Expr, check: bool) -> Expr:
        store = self.store
        # 1. The structure, and the type of its constructor for these parameters.
        name, index, inner = expr.a, expr.b, expr.c
        type_ = self.whnf(self._type_of(inner, check))
        function, arguments = spine(type_)
        inductive = self.constant(name)
        if type(inductive) is not Inductive or len(inductive.constructors) != 1 or inductive.indices:
            raise Refused(f"a projection of {name}, which is not a structure")
        if function.tag != CONST or function.a != name or len(arguments) != inductive.arguments:
            raise Refused(f"a projection of {name} from a term of another type")
        constructor = self.constants[inductive.constructors[0]]
        result = store.with_levels(constructor.type, constructor.parameters, function.b)
        result = self._applied(result, arguments)
        # 2. The field's type. A proof of a proposition only has fields that are proofs: no data comes out of it.
        proof = self.is_proposition(type_)
        for at in range(index + 1):
            result = result if result.tag == PI else self.whnf(result)
            if result.tag != PI:
                raise Refused(f"a projection of {name} to a field that it does not have")
            if proof and (at == index or result.b.loose) and not self.is_proposition(result.a):
                raise Refused(f"a projection from a proof of {name} to data")
            if at < index:
                result = store.instantiate(result.b, (store.proj(name, at, inner),))
        field: Expr = result.a
        return field

    def _applied(self, type_: Expr, arguments: list[Expr]) -> Expr:
        """A function type for given arguments."""
        for argument in arguments:
            type_ = type_ if type_.tag == PI else self.whnf(type_)
            if type_.tag != PI:
                raise Refused("an argument for a term that is not a function")
            type_ = self.store.instantiate(type_.b, (argument,))
        return type_

    # --- definitional equality --------------------------------------------------------------------------------------

    def equal(self, one: Expr, other: Expr) -> bool:
        """True if two terms are definitionally equal. Both are known to be well typed."""
        if one is other:
            return True
        quick = self._quick(one, other)
        if quick is not None:
            return quick
        if (one, other) in self._equal or (other, one) in self._equal:
            return True
        self.tick()
        result = self._equal_slow(one, other)
        if result:
            self._equal.add((one, other))
        return result

    def _quick(self, one: Expr, other: Expr) -> bool | None:
        """Cases that the form of both terms decides; None for all others."""
        tag = one.tag
        if tag != other.tag:
            return None
        if tag == SORT:
            return self.store.same_level(one.a, other.a)
        if tag in BINDERS:
            return self._same_binders(tag, one, other)
        if tag == NAT:
            return bool(one.a == other.a)
        return bool(one.a == other.a) if tag == STR else None

    def _same_binders(self, tag: int, one: Expr, other: Expr) -> bool:
        if (one, other) in self._equal:
            return True
        pair = (one, other)
        base = max(one.fv, other.fv)
        store = self.store
        variables: Exprs = ()
        while one.tag == tag and other.tag == tag:
            type_ = store.instantiate(one.a, variables)
            if one.a is not other.a and not self.equal(type_, store.instantiate(other.a, variables)):
                return False
            variables = (*variables, store.fvar(base + len(variables), type_))
            one, other = one.b, other.b
        if not self.equal(store.instantiate(one, variables), store.instantiate(other, variables)):
            return False
        self._equal.add(pair)
        return True

    def _equal_slow(self, one: Expr, other: Expr) -> bool:
        # 1. A proof by computation: `decide p` is `true`. The closed side is computed at once.
        if other.tag == CONST and other.a == "Bool.true" and not one.fv:
            reduced = self.whnf(one)
            if reduced is other:
                return True
        # 2. Reduction without unfolding.
        left, right = self.core(one), self.core(other)
        if left is right:
            return True
        if left is not one or right is not other:
            quick = self._quick(left, right)
            if quick is not None:
                return quick
        # 3. Two proofs of one proposition are equal.
        proofs = self._same_proofs(left, right)
        if proofs is not None:
            return proofs
        # 4. Unfolding, one step at a time, on the side that is defined later.
        decided, left, right = self._unfold_both(left, right)
        if decided is not None:
            return decided
        # 5. Neither side can be unfolded: compare the parts, then eta.
        return self._same_parts(left, right) or self._same_by_eta(left, right)

    def _same_proofs(self, one: Expr, other: Expr) -> bool | None:
        """None if the terms are not proofs."""
        type_ = self._proposition_of(one)
        if type_ is None:
            return None
        return self.equal(type_, self.infer(other))

    def _proposition_of(self, expr: Expr) -> Expr | None:
        """The proposition that a term proves; None for data and types."""
        tag = expr.tag
        if tag in _DATA:
            return None
        if tag == LAM:
            type_ = self.infer(expr)
            return type_ if self.is_proposition(type_) else None
        if expr in self._is_proof:
            return self._is_proof[expr]
        type_ = self.infer(expr)
        result = type_ if self.is_proposition(type_) else None
        self._is_proof[expr] = result
        return result

    def _unfold_both(self, left: Expr, right: Expr) -> tuple[bool | None, Expr, Expr]:
        """Unfold definitions until the terms are equal or different (True, False), or no definition is left (None)."""
        while True:
            self.tick()
            # 1. Numbers: `succ x` against a numeral, and functions that are computed.
            numbers = self._same_numbers(left, right)
            if numbers is not None:
                return numbers, left, right
            if not left.fv or not right.fv:
                number = self.computed_number(left)
                if number is not None:
                    return self.equal(number, right), left, right
                number = self.computed_number(right)
                if number is not None:
                    return self.equal(left, number), left, right
            # 2. Which side to unfold.
            one, other = self._definition(left), self._definition(right)
            if one is None and other is None:
                return None, left, right
            if other is None or (one is not None and one.height > other.height):
                assert one is not None
                left = self.core(self._delta(one, left))
            elif one is None or one.height < other.height:
                right = self.core(self._delta(other, right))
            else:
                if one is other and left.tag == APP and right.tag == APP and self._same_arguments(left, right):
                    return True, left, right
                left, right = self.core(self._delta(one, left)), self.core(self._delta(other, right))
            # 3. What the new terms decide.
            if left is right:
                return True, left, right
            quick = self._quick(left, right)
            if quick is not None:
                return quick, left, right
            if (left, right) in self._equal:
                return True, left, right

    def _same_arguments(self, left: Expr, right: Expr) -> bool:
        """Two applications of one definition: equal arguments are enough. False decides nothing."""
        pair = (left, right)
        if pair in self._different:
            return False
        one, ones = spine(left)
        other, others = spine(right)
        if self._same_levels(one.b, other.b) and self._all_equal(ones, others):
            return True
        self._different.add(pair)
        return False

    def _same_levels(self, ones: Levels, others: Levels) -> bool:
        same = self.store.same_level
        if len(ones) != len(others):
            return False
        return all(same(a, b) for a, b in zip(ones, others, strict=True))

    def _all_equal(self, ones: Sequence[Expr], others: Sequence[Expr]) -> bool:
        # Not `all(...)`: a generator inside a C function would take the C stack, which is smaller than Python's.
        if len(ones) != len(others):
            return False
        at = 0
        while at < len(ones) and self.equal(ones[at], others[at]):
            at += 1
        return at == len(ones)

    def _before(self, expr: Expr) -> Expr | None:
        """The n of `succ n` and of the numeral n + 1."""
        if expr.tag == NAT:
            return self.store.nat(expr.a - 1) if expr.a else None
        if expr.tag == APP and expr.a.tag == CONST and expr.a.a == NAT_SUCC:
            before: Expr = expr.b
            return before
        return None

    def _same_numbers(self, left: Expr, right: Expr) -> bool | None:
        """Compare numerals and successors; None for other terms."""
        if not self.literals:
            return None
        while True:
            zero = [
                (each.tag == CONST and each.a == NAT_ZERO) or (each.tag == NAT and not each.a) for each in (left, right)
            ]
            if all(zero):
                return True
            one, other = self._before(left), self._before(right)
            if one is None or other is None:
                # A successor is not zero.
                return False if (zero[0] and other is not None) or (zero[1] and one is not None) else None
            if one.tag == NAT and other.tag == NAT:
                return bool(one.a == other.a)
            if self._before(one) is None or self._before(other) is None:
                return self.equal(one, other)
            left, right = one, other

    def _same_parts(self, left: Expr, right: Expr) -> bool:
        tag = left.tag
        if tag != right.tag:
            return False
        if tag == CONST:
            return bool(left.a == right.a) and self._same_levels(left.b, right.b)
        if tag == PROJ:
            return bool(left.b == right.b and left.a == right.a) and self.equal(left.c, right.c)
        if tag != APP:
            return False
        one, ones = spine(left)
        other, others = spine(right)
        if len(ones) != len(others) or not self.equal(one, other):
            return False
        return self._all_equal(ones, others)

    def _same_by_eta(self, left: Expr, right: Expr) -> bool:
        # 1. A function f is `fun x => f x`.
        for one, other in ((left, right), (right, left)):
            if one.tag == LAM and other.tag != LAM:
                type_ = self.whnf(self.infer(other))
                if type_.tag == PI:
                    expanded = self.store.lam(type_.a, self.store.app(other, self.store.bvar(0)))
                    return self.equal(one, expanded)
        # 2. A term of a structure type is the constructor applied to its fields.
        for one, other in ((left, right), (right, left)):
            if self._same_structure(one, other):
                return True
        # 3. A string literal is a list of characters.
        for one, other in ((left, right), (right, left)):
            if one.tag == STR and head(other).tag == CONST and head(other).a == "String.ofList":
                return self.equal(self.text_constructor(one), other)
        # 4. Two terms of a structure type without fields are equal.
        return self._same_units(left, right)

    def _same_structure(self, expr: Expr, made: Expr) -> bool:
        """True if `made` is a constructor applied to the fields of `expr`."""
        function, arguments = spine(made)
        if function.tag != CONST:
            return False
        constructor = self.constants.get(function.a)
        if type(constructor) is not Constructor or len(arguments) != constructor.arguments + constructor.fields:
            return False
        inductive = self.constants[constructor.inductive]
        if type(inductive) is not Inductive or not inductive.structure:
            return False
        if not self.equal(self.infer(expr), self.infer(made)):
            return False
        fields = [self.store.proj(inductive.name, at, expr) for at in range(constructor.fields)]
        return self._all_equal(fields, arguments[constructor.arguments :])

    def _same_units(self, left: Expr, right: Expr) -> bool:
        type_ = self.whnf(self.infer(left))
        function = head(type_)
        if function.tag != CONST:
            return False
        inductive = self.constants.get(function.a)
        if type(inductive) is not Inductive or not inductive.structure:
            return False
        constructor = self.constants[inductive.constructors[0]]
        if type(constructor) is not Constructor or constructor.fields:
            return False
        return self.equal(type_, self.infer(right))
