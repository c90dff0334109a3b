"""Gives declarations to Lean's kernel as data, in a process that has imported only the library.

    python -I -S kernel.py          # with PROOFMESH_LIBLEANSHARED and LEAN_PATH set (see toolchain.py)

Standard input has documents, each as a line `LENGTH NONCE` and so many bytes. Each gets an answer of the same form. All
documents of a process have the same imports, which it loads once.

A compiled module is a hostile document: code that ran during its elaboration can write any bytes into it. So this
process never opens one. It reads the declarations in the format of `node/lean/olean/declarations.py`, makes every
name, universe level and expression with Lean's own constructors (which compute hashes and loose variables), and has the
kernel check each declaration. Constructors, recursors and safety are those that the kernel makes. Then it follows what
the constants in question use, in the kernel's environment, down to axioms.

It prints the answer of that format. Environment extensions are not loaded, so no initializer runs.
"""

import ctypes
import os
import sys

LIBRARY_VARIABLE = "PROOFMESH_LIBLEANSHARED"

ARRAY_TAG, INTEGER_TAG = 246, 250

AXIOM, DEFINITION, THEOREM, OPAQUE = range(4)
"""Constructor numbers of `Lean.Declaration`, and of `Lean.ConstantInfo` for the same kinds."""
INDUCTIVE_DECLARATION = 6
"""Constructor number of an inductive `Lean.Declaration`."""
QUOTIENT_INFO, INDUCTIVE_INFO, CONSTRUCTOR_INFO, RECURSOR_INFO = 4, 5, 6, 7
"""Constructor numbers of `Lean.ConstantInfo`."""
SAFE = 1
"""Constructor number of `Lean.DefinitionSafety`."""

NO_TREE = 3
"""The empty `Lean.NameMap`: its second constructor, boxed."""

PRIVATE_LEVEL = 2
TRUST_LEVEL = 1024
NO_HEARTBEAT_LIMIT = 0
RECURSION_DEPTH = 10_000
BOXED_BITS = 63
"""Natural numbers with fewer bits are in the pointer itself."""

SPECIAL = frozenset(
    {
        *(("Lean", "reduceBool"), ("Lean", "reduceNat"), ("eagerReduce",)),
        *((root,) for root in ("Nat", "String", "Char", "List", "Bool", "Quot", "Eq")),
        *(("Nat", each) for each in ("zero", "succ", "rec", "add", "sub", "mul", "div", "mod", "gcd", "beq", "ble")),
        *(("Nat", each) for each in ("land", "lor", "xor", "shiftLeft", "shiftRight", "pow", "log2", "pred")),
        *(("Bool", each) for each in ("true", "false")),
        *(("List", each) for each in ("nil", "cons")),
        *(("String", "mk"), ("String", "ofList"), ("Char", "ofNat"), ("Char", "mk")),
        *(("Quot", each) for each in ("mk", "lift", "ind")),
    }
)
"""Names that the kernel knows, and whose applications it may evaluate by itself. A library that lacks one would let a
file give it another meaning, so a file may not declare them."""

REASONS = (
    "it uses a constant that is not declared",
    "its name is declared already",
    "its value does not have its stated type",
    "it contains metavariables",
    "it contains free variables",
    "it applies a term that is not a function",
    "it contains a term where a type is expected",
    "it contains a `let` whose value does not have its stated type",
    "it contains a term that does not have its stated type",
    "it contains an argument that does not have the type that the function takes",
    "it contains an invalid projection",
    "it is a theorem, but its type is not a proposition",
    "the kernel rejects it",
    "it takes too many steps",
    "it takes too much memory",
    "it nests too deeply",
    "it was interrupted",
)
"""The reasons for a rejection, by constructor number of `Lean.Kernel.Exception`."""

DECLARED = REASONS[1]
NOT_AS_GIVEN = "the kernel's environment does not have it as it was given"
RESERVED = "the kernel knows this name, and the library does not declare it: a file may not"

Parts = tuple[str | int, ...]
"""The parts of a name."""


class Kernel:
    """Lean's kernel with an environment. All objects made here are never freed."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.lean = library
        self.buffers: list[object] = []
        """Memory of the objects that are made here. Their reference count is 0: Lean's runtime does not free them."""
        # 1. Start Lean's runtime as its own `main` does.
        library.lean_initialize()
        library.lean_init_task_manager()
        self.call("lean_init_search_path")
        library.lean_io_mark_end_initialization()
        self.library_only = self.environment = 0
        """The kernel's environments: with the library alone, and with what is declared so far."""
        self._parts: dict[int, Parts] = {}
        self.mark = self.native("lean_mark_persistent", ctypes.c_void_p, result=None)
        # 2. Lean's constructors. Expressions are made with these alone, so that their cached data is Lean's own.
        pointer, byte = ctypes.c_void_p, ctypes.c_uint8
        self.name_text = self.native("l_Lean_Name_str___override", pointer, pointer)
        self.name_number = self.native("l_Lean_Name_num___override", pointer, pointer)
        self.text = self.native("lean_mk_string_from_bytes", ctypes.c_char_p, ctypes.c_size_t)
        self.succ = self.native("l_Lean_Level_succ___override", pointer)
        self.max = self.native("l_Lean_Level_max___override", pointer, pointer)
        self.imax = self.native("l_Lean_Level_imax___override", pointer, pointer)
        self.parameter = self.native("l_Lean_Level_param___override", pointer)
        self.bound = self.native("l_Lean_Expr_bvar___override", pointer)
        self.sort = self.native("l_Lean_Expr_sort___override", pointer)
        self.constant = self.native("l_Lean_Expr_const___override", pointer, pointer)
        self.apply = self.native("l_Lean_Expr_app___override", pointer, pointer)
        self.lambda_ = self.native("l_Lean_Expr_lam___override", pointer, pointer, pointer, byte)
        self.forall = self.native("l_Lean_Expr_forallE___override", pointer, pointer, pointer, byte)
        self.let = self.native("l_Lean_Expr_letE___override", pointer, pointer, pointer, pointer, byte)
        self.literal = self.native("l_Lean_Expr_lit___override", pointer)
        self.projection = self.native("l_Lean_Expr_proj___override", pointer, pointer, pointer)
        # 3. What is asked about the result.
        self.find_constant = self.native("lean_environment_find", pointer, pointer)
        self.equal = self.native("lean_expr_eqv", pointer, pointer, result=byte)
        self.used_constants = self.native("l_Lean_Expr_getUsedConstants", pointer)

    def native(self, function: str, *arguments: type, result: type | None = ctypes.c_void_p):  # type: ignore[no-untyped-def]
        """A native function with the types of its arguments and of its result."""
        found = self.lean[function]
        found.restype, found.argtypes = result, arguments
        return found

    def call(self, function: str, *arguments: object) -> int:
        """Call a native function that returns an object."""
        native = getattr(self.lean, function)
        native.restype = ctypes.c_void_p
        return int(native(*arguments) or 0)

    # --- objects ----------------------------------------------------------------------------------------------------

    def kept(self, pointer: int) -> int:
        """An object that is never freed from now on, so that it can be used any number of times."""
        if not pointer & 1:
            self.mark(pointer)
        return pointer

    def object(self, tag: int, *fields: int, scalars: bytes = b"") -> int:
        """A new constructor object."""
        padded = scalars + bytes(-len(scalars) % 8)
        size = 8 + 8 * len(fields) + len(padded)
        return self._place((tag << 56 | len(fields) << 48 | size << 32).to_bytes(8, "little") + _words(fields) + padded)

    def array(self, *items: int) -> int:
        """A new array."""
        count = len(items).to_bytes(8, "little")
        return self._place((ARRAY_TAG << 56 | 1 << 32).to_bytes(8, "little") + count + count + _words(items))

    def linked(self, items: list[int]) -> int:
        """A new linked list."""
        pointer = box(0)
        for item in reversed(items):
            pointer = self.object(1, item, pointer)
        return pointer

    def natural(self, number: int) -> int:
        """A natural number: in the pointer itself, or an object with its digits behind it."""
        if number >> BOXED_BITS == 0:
            return box(number)
        limbs = -(-number.bit_length() // 64)
        head = (INTEGER_TAG << 56 | 1 << 32).to_bytes(8, "little")
        at = self._place(head + bytes(16) + number.to_bytes(8 * limbs, "little"))
        ctypes.c_int32.from_address(at + 8).value = limbs  # mpz_t: allocated limbs, used limbs, their address
        ctypes.c_int32.from_address(at + 12).value = limbs
        ctypes.c_uint64.from_address(at + 16).value = at + 24
        return at

    def name(self, parts: Parts) -> int:
        """A new name."""
        pointer = box(0)
        for part in parts:
            pointer = self.name_under(pointer, part)
        return pointer

    def name_under(self, prefix: int, part: str | int) -> int:
        """A new name: a prefix and one more part."""
        if isinstance(part, int):
            return self.kept(self.name_number(prefix, self.natural(part)) or 0)
        return self.kept(self.name_text(prefix, self.string(part.encode())) or 0)

    def string(self, content: bytes) -> int:
        """A new string."""
        return self.kept(self.text(content, len(content)) or 0)

    def _place(self, content: bytes) -> int:
        """The address of a new buffer with this content."""
        buffer = ctypes.create_string_buffer(content, len(content) + 8)
        at = ctypes.addressof(buffer)
        if at % 8:
            raise SystemExit("kernel.py: the allocator returned an address that is not a multiple of 8")
        self.buffers.append(buffer)
        return at

    # --- the environment --------------------------------------------------------------------------------------------

    def import_library(self, modules: list[int]) -> None:
        """Start the environment with the constants of the modules of these names."""
        imports = self.array(*(self.object(0, module, scalars=b"\0\1\0") for module in modules))
        options = ctypes.c_void_p.in_dll(self.lean, "l_Lean_Options_empty").value
        outcome = self.call(
            "l_Lean_importModules",
            *map(ctypes.c_void_p, (imports, options)),
            ctypes.c_uint32(TRUST_LEVEL),
            ctypes.c_void_p(self.array()),
            *map(ctypes.c_uint8, (1, 0, PRIVATE_LEVEL)),
            ctypes.c_void_p(NO_TREE),
        )
        if tag(outcome) != 0:
            raise SystemExit("the library's modules cannot be imported together")
        elaborated = field(outcome, 0)
        self.environment = self.call("lean_elab_environment_to_kernel_env", ctypes.c_void_p(elaborated))
        self.library_only = self.environment

    def forget(self) -> None:
        """Go on from an environment with only the library."""
        self.environment = self.library_only

    def declare(self, declaration: int, accepted: bool = False) -> str:
        """Let the kernel check a declaration and add it. Returns the reason for a rejection, or an empty text.

        `accepted`: it is added without a check.
        """
        _hold(self.environment)  # the kernel consumes a reference, and the environment may be needed again
        if accepted:
            outcome = self.call(
                "lean_add_decl_without_checking", *map(ctypes.c_void_p, (self.environment, declaration))
            )
        else:
            outcome = self._check(declaration)
        if tag(outcome) == 0:
            error = field(outcome, 0)
            number = error >> 1 if error & 1 else tag(error)
            return REASONS[number] if number < len(REASONS) else "the kernel rejects it"
        self.environment = field(outcome, 0)
        return ""

    def _check(self, declaration: int) -> int:
        """The kernel's outcome for a declaration: an exception, or the environment with it."""
        return self.call(
            "lean_add_decl",
            ctypes.c_void_p(self.environment),
            ctypes.c_size_t(NO_HEARTBEAT_LIMIT),
            ctypes.c_size_t(RECURSION_DEPTH),
            ctypes.c_void_p(declaration),
            ctypes.c_void_p(box(0)),
        )

    def find(self, name: int) -> int:
        """The `ConstantInfo` of a name; 0 if the environment has none."""
        _hold(self.environment)
        option = self.find_constant(self.environment, name) or 0
        return 0 if option & 1 else field(option, 0)

    def has(self, name: int, kind: int, *terms: int) -> bool:
        """True if the environment has this constant, with equal terms as its type and value."""
        constant = self.find(name)
        if not constant or tag(constant) != kind:
            return False
        value = field(constant, 0)
        held = [field(field(value, 0), 2), *([field(value, 1)] if len(terms) > 1 else [])]
        # The kernel makes the types of nested inductive types anew; all others are the very objects that were given.
        return all(one == other or self.equal(one, other) for one, other in zip(held, terms, strict=True))

    # --- axioms -----------------------------------------------------------------------------------------------------

    def parts(self, name: int) -> Parts:
        """The parts of a name."""
        known = self._parts.get(name)
        if known is None:
            known = ()
            if not name & 1:
                part = field(name, 1)
                known = (*self.parts(field(name, 0)), _text(part) if tag(name) == 1 else _number(part))
            # Only an object that is never freed keeps its address.
            if name & 1 or not ctypes.c_int32.from_address(name).value:
                self._parts[name] = known
        return known

    def below(self, constant: int) -> list[int]:
        """The names that a constant uses: in its type and value; for a type, in its constructors, too."""
        value = field(constant, 0)
        expressions = [field(field(value, 0), 2)]
        names = []
        match tag(constant):
            case kind if kind in (DEFINITION, THEOREM, OPAQUE):
                expressions.append(field(value, 1))
            case kind if kind == INDUCTIVE_INFO:
                names += [*listed(field(value, 3)), *listed(field(value, 4))]
            case kind if kind == CONSTRUCTOR_INFO:
                names.append(field(value, 1))
            case kind if kind == RECURSOR_INFO:
                names += listed(field(value, 1))
        for expression in expressions:
            _hold(expression)
            array = self.used_constants(expression) or 0
            names += [field(array, 2 + index) for index in range(field(array, 0))]
        return names


def axioms_of(kernel: Kernel, names: list[int]) -> list[frozenset[Parts] | None]:
    """The axioms of constants, direct or through anything they use; None for a name that the environment lacks.

    Raises SystemExit if something that a constant uses is not in the environment.
    """
    # 1. Walk down from all of the constants, and note who uses whom.
    queries = [kernel.parts(name) if kernel.find(name) else None for name in names]
    users: dict[Parts, list[Parts]] = {each: [] for each in queries if each is not None}
    axioms = []
    waiting = [(parts, name) for parts, name in zip(queries, names, strict=True) if parts is not None]
    seen = set(users)
    while waiting:
        parts, name = waiting.pop()
        constant = kernel.find(name)
        if not constant:
            raise SystemExit("the environment lacks a constant that another one uses")
        if tag(constant) == AXIOM:
            axioms.append(parts)
        for child in kernel.below(constant):
            below = kernel.parts(child)
            users.setdefault(below, []).append(parts)
            if below not in seen:
                seen.add(below)
                waiting.append((below, child))
    # 2. Walk up from each axiom.
    found: dict[Parts, set[Parts]] = {}
    for axiom in axioms:
        above, rest = {axiom}, [axiom]
        while rest:
            for user in users.get(rest.pop(), ()):
                if user not in above:
                    above.add(user)
                    rest.append(user)
        for each in above:
            found.setdefault(each, set()).add(axiom)
    return [None if parts is None else frozenset(found.get(parts, ())) for parts in queries]


class Document:
    """Reads the declarations, and makes their names, levels and expressions."""

    def __init__(self, raw: bytes, kernel: Kernel) -> None:
        self._raw = raw
        self._at = 0
        self._kernel = kernel
        self.names = [box(0)]
        self.levels = [kernel.call("lean_level_mk_zero", ctypes.c_void_p(box(0)))]
        self.expressions: list[int] = []

    def line(self) -> list[bytes]:
        """The tokens of the next line."""
        end = self._raw.index(b"\n", self._at)
        tokens = self._raw[self._at : end].split(b" ")
        self._at = end + 1
        return tokens

    def head(self, title: bytes) -> int:
        """The number of entries of the section that begins here."""
        word, number = self.line()
        if word != title:
            raise ValueError(f"{title.decode()} is expected")
        return int(number)

    def with_text(self) -> tuple[list[bytes], bytes]:
        """The tokens before a text, and the text that ends the entry."""
        colon = self._raw.index(b":", self._at)
        *tokens, length = self._raw[self._at : colon].split(b" ")
        end = colon + 1 + int(length)
        if self._raw[end : end + 1] != b"\n":
            raise ValueError("a text of another length")
        text = self._raw[colon + 1 : end]
        self._at = end + 1
        return tokens, text

    def read_tables(self) -> None:
        """Make all names, levels and expressions."""
        if self.line() != [b"proofmesh-declarations", b"1"]:
            raise ValueError("another format")
        for _ in range(self.head(b"names")):
            self.names.append(self._name())
        for _ in range(self.head(b"levels")):
            self.levels.append(self._kernel.kept(self._level()))
        append, kept = self.expressions.append, self._kernel.kept
        for _ in range(self.head(b"expressions")):
            append(kept(self._expression()))

    def imports(self) -> list[int]:
        """The names of the library's modules to import."""
        return [self.names[int(self.line()[0])] for _ in range(self.head(b"imports"))]

    def answer(self) -> bytes:
        """Do all steps, and answer the queries."""
        reasons = [self.step() for _ in range(self.head(b"steps"))]
        queries = [self.names[int(self.line()[0])] for _ in range(self.head(b"queries"))]
        if self.line() != [b"end"]:
            raise ValueError("the end is expected")
        lines = [b"proofmesh-verdicts 1", b"steps %d" % len(reasons)]
        lines += [b"n " + measured(reason) if reason else b"y" for reason in reasons]
        lines.append(b"queries %d" % len(queries))
        for axioms in axioms_of(self._kernel, queries):
            if axioms is None:
                lines.append(b"u")
                continue
            lines.append(b" ".join([b"k %d" % len(axioms), *(_name_out(each) for each in sorted(axioms, key=repr))]))
        return b"\n".join([*lines, b"end\n"])

    def _name(self) -> int:
        if self._raw.startswith(b"s ", self._at):
            (_, parent), text = self.with_text()
            return self._kernel.name_under(self.names[int(parent)], text.decode())
        kind, parent, number = self.line()
        if kind != b"n":
            raise ValueError("an unknown kind of name")
        return self._kernel.name_under(self.names[int(parent)], int(number))

    def _level(self) -> int:
        kernel = self._kernel
        match self.line():
            case [b"s", below]:
                return int(kernel.succ(self.levels[int(below)]))
            case [b"m", one, other]:
                return int(kernel.max(self.levels[int(one)], self.levels[int(other)]))
            case [b"i", one, other]:
                return int(kernel.imax(self.levels[int(one)], self.levels[int(other)]))
            case [b"p", name]:
                return int(kernel.parameter(self.names[int(name)]))
        raise ValueError("an unknown kind of level")

    def _expression(self) -> int:
        kernel, made = self._kernel, self.expressions
        if self._raw.startswith(b"q ", self._at):
            _, text = self.with_text()
            return int(kernel.literal(kernel.object(1, kernel.string(text))))
        match self.line():
            case [b"a", function, argument]:
                return int(kernel.apply(made[int(function)], made[int(argument)]))
            case [b"b", index]:
                return int(kernel.bound(kernel.natural(int(index))))
            case [b"c", name, _, *levels]:
                applied = kernel.linked([self.levels[int(each)] for each in levels])
                return int(kernel.constant(self.names[int(name)], applied))
            case [b"l", kind, body]:
                return int(kernel.lambda_(self._x, made[int(kind)], made[int(body)], 0))
            case [b"p", kind, body]:
                return int(kernel.forall(self._x, made[int(kind)], made[int(body)], 0))
            case [b"t", kind, value, body]:
                return int(kernel.let(self._x, made[int(kind)], made[int(value)], made[int(body)], 0))
            case [b"s", level]:
                return int(kernel.sort(self.levels[int(level)]))
            case [b"j", name, index, inner]:
                return int(kernel.projection(self.names[int(name)], kernel.natural(int(index)), made[int(inner)]))
            case [b"n", digits]:
                return int(kernel.literal(kernel.object(0, kernel.natural(int(digits, 16)))))
        raise ValueError("an unknown kind of expression")

    @property
    def _x(self) -> int:
        """The name of every bound variable."""
        if not hasattr(self, "_bound_name"):
            self._bound_name = self._kernel.name(("x",))
        return self._bound_name

    def step(self) -> str:
        """Do the next step. Returns the reason for a rejection, or an empty text."""
        tokens = self.line()
        if tokens == [b"e"]:
            self._kernel.forget()
            return ""
        numbers = [int(each) for each in tokens[1:]]
        if tokens[0] == b"i":
            return self._inductive(numbers)
        name, count, *rest = numbers
        parameters = self._kernel.linked([self.names[each] for each in rest[:count]])
        return self._declare(tokens[0].lower(), name, parameters, rest[count:], tokens[0].isupper())

    def _declare(self, kind: bytes, name: int, parameters: int, rest: list[int], accepted: bool) -> str:
        """Declare an axiom, definition, theorem or opaque constant. `accepted`: without a check."""
        kernel = self._kernel
        if reason := self._reserved(name):
            return reason
        # Without a check, the kernel would put a second constant of this name in the place of the first.
        if accepted and kernel.find(self.names[name]):
            return DECLARED
        terms = [self.expressions[each] for each in rest[: 1 if kind == b"a" else 2]]
        common = kernel.object(0, self.names[name], parameters, terms[0])
        together = kernel.linked([self.names[name]])
        match kind:
            case b"a":
                number, value = AXIOM, kernel.object(0, common, scalars=b"\0")
            case b"d":
                hint = rest[2]
                hints = box(hint) if hint < 2 else kernel.object(2, scalars=(hint - 2).to_bytes(4, "little"))
                number = DEFINITION
                value = kernel.object(0, common, terms[1], hints, together, scalars=bytes([SAFE]))
            case b"t":
                number, value = THEOREM, kernel.object(0, common, terms[1], together)
            case b"o":
                number, value = OPAQUE, kernel.object(0, common, terms[1], together, scalars=b"\0")
            case _:
                raise ValueError("an unknown kind of step")
        if reason := kernel.declare(kernel.object(number, value), accepted):
            return reason
        return "" if kernel.has(self.names[name], number, *terms) else NOT_AS_GIVEN

    def _inductive(self, numbers: list[int]) -> str:
        """Declare inductive types together."""
        kernel = self._kernel
        count, *rest = numbers
        levels = kernel.linked([self.names[each] for each in rest[:count]])
        parameters, types, *rest = rest[count:]
        made, given = [], []
        for _ in range(types):
            name, kind, constructors, *rest = rest
            pairs = [(rest[2 * each], rest[2 * each + 1]) for each in range(constructors)]
            rest = rest[2 * constructors :]
            given += [(name, INDUCTIVE_INFO, kind), *((each, CONSTRUCTOR_INFO, type_) for each, type_ in pairs)]
            listed_ = kernel.linked(
                [kernel.object(0, self.names[each], self.expressions[type_]) for each, type_ in pairs]
            )
            made.append(kernel.object(0, self.names[name], self.expressions[kind], listed_))
        if reason := next((reason for name, _, _ in given if (reason := self._reserved(name))), ""):
            return reason
        types_ = kernel.linked(made)
        declaration = kernel.object(INDUCTIVE_DECLARATION, levels, kernel.natural(parameters), types_, scalars=b"\0")
        if reason := kernel.declare(declaration):
            return reason
        as_given = all(kernel.has(self.names[name], kind, self.expressions[type_]) for name, kind, type_ in given)
        return "" if as_given else NOT_AS_GIVEN

    def _reserved(self, name: int) -> str:
        """Why a file may not declare a name that the kernel knows and the library lacks; empty otherwise."""
        special = self._kernel.parts(self.names[name]) in SPECIAL
        return RESERVED if special and not self._kernel.find(self.names[name]) else ""


def _hold(pointer: int) -> None:
    """Add a reference to an object, before a call that consumes one."""
    count = ctypes.c_int32.from_address(pointer)
    if count.value:
        count.value += 1 if count.value > 0 else -1


def _words(values: tuple[int, ...]) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


def box(value: int) -> int:
    """A small number as a boxed pointer."""
    return value << 1 | 1


def tag(pointer: int) -> int:
    """The tag of an object."""
    return ctypes.c_uint64.from_address(pointer).value >> 56


def field(pointer: int, index: int) -> int:
    """A field of an object, as a pointer."""
    return ctypes.c_uint64.from_address(pointer + 8 + 8 * index).value


def listed(pointer: int) -> list[int]:
    """The items of a linked list."""
    items = []
    while not pointer & 1:
        items.append(field(pointer, 0))
        pointer = field(pointer, 1)
    return items


def _text(pointer: int) -> str:
    """The text of a string."""
    return ctypes.string_at(pointer + 32, field(pointer, 0) - 1).decode()


def _number(pointer: int) -> int:
    """A natural number."""
    if pointer & 1:
        return pointer >> 1
    limbs = ctypes.c_int32.from_address(pointer + 12).value
    return int.from_bytes(ctypes.string_at(field(pointer, 1), 8 * limbs), "little")


def main() -> int:
    """Entry point. Returns 0 at the end of standard input."""
    sys.set_int_max_str_digits(0)
    kernel = Kernel(ctypes.CDLL(os.environ[LIBRARY_VARIABLE], mode=ctypes.RTLD_GLOBAL))
    library: list[Parts] | None = None
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while head := requests.readline():
        length, nonce = head.split()
        document = Document(requests.read(int(length)), kernel)
        document.read_tables()
        imports = document.imports()
        imported = [kernel.parts(name) for name in imports]
        if library is None:
            kernel.import_library(imports)
        elif imported != library:
            raise SystemExit("kernel.py: this document has other imports than the one before")
        library = imported
        kernel.forget()
        answer = document.answer()
        answers.write(b"%d %s\n%s" % (len(answer), nonce, answer))
        answers.flush()
    return 0


def measured(text: str) -> bytes:
    """A text with its length."""
    content = text.encode()
    return b"%d:%s" % (len(content), content)


def _name_out(parts: Parts) -> bytes:
    each_part = [b"n %d" % each if isinstance(each, int) else b"s " + measured(each) for each in parts]
    return b" ".join([b"%d" % len(parts), *each_part])


if __name__ == "__main__":
    sys.exit(main())
