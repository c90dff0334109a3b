"""Checks the declarations of compiled modules with Lean's kernel, in a process that runs no code of these modules.

    python -I -S kernel.py PLAN          # with PROOFMESH_LIBLEANSHARED and LEAN_PATH set (see toolchain.py)

Pocket Lean's wheel has no `leanchecker`, so this does the same: it imports the library and then gives the kernel each
declaration of a module. What the module's own code put into its environment during elaboration plays no part. The plan
lists the declarations, each after the declarations that it uses. Its pointers are those of the .olean file.
`node.lean.olean` reads the file and checks each object first (see `node.lean.verify.replay`), so that all reads here
stay inside the file. Environment extensions are not loaded, so no initializer runs.

The plan is one JSON document: {"library": [MODULE...], "steps": [STEP...]}
    {"file": PATH}                                   the following steps are about this file
    {"name": NAME, "declare": KIND, "at": POINTER}   KIND: axiom, definition, theorem or opaque; at: its ConstantInfo
    {"name": NAME, "inductive": {"levels": POINTER, "parameters": N, "types": [TYPE...], "generated": [...]}}
with TYPE {"name": POINTER, "type": POINTER, "constructors": [[NAME POINTER, TYPE POINTER]...]}. "generated" is a list
of [NAME POINTER, ConstantInfo POINTER]: the types, constructors and recursors that the file has. Other files import
these without a check, so they must equal those that the kernel makes from the declaration.
The output is one JSON document: {"checked": N, "rejected": {NAME: REASON, ...}}. A declaration that uses a rejected one
is rejected too.
"""

import ctypes
import json
import os
import sys

LIBRARY_VARIABLE = "PROOFMESH_LIBLEANSHARED"

ARRAY_TAG, STRING_TAG, INTEGER_TAG = 246, 249, 250
LARGEST_CONSTRUCTOR = 244
DECLARATIONS = {"axiom": 0, "definition": 1, "theorem": 2, "opaque": 3}
"""Constructor numbers of `Lean.Declaration`."""
INDUCTIVE = 6
"""Constructor number of an inductive `Lean.Declaration`."""

NO_TREE = 3
"""The empty `Lean.NameMap`: its second constructor, boxed."""

PRIVATE_LEVEL = 2
TRUST_LEVEL = 1024
NO_HEARTBEAT_LIMIT = 0
RECURSION_DEPTH = 10_000

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

NOT_GENERATED = "its constructors or recursors differ from those that the kernel makes"


class Kernel:
    """Lean's kernel with an environment. `declare` adds to the environment."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.lean = library
        self.buffers: list[object] = []
        """Memory of the objects that are made here. It is never freed: the reference count of these objects is 0, which
        means that Lean's runtime does not free them."""
        library.lean_initialize()
        library.lean_init_task_manager()
        self.call("lean_init_search_path")
        library.lean_io_mark_end_initialization()
        self.environment = 0

    def call(self, function: str, *arguments: object) -> int:
        """Call a native function that returns an object."""
        native = getattr(self.lean, function)
        native.restype = ctypes.c_void_p
        return int(native(*arguments) or 0)

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

    def name(self, text: str) -> int:
        """A new name from text without «quoted» parts."""
        pointer = box(0)
        for part in text.split("."):
            string = self.call("lean_mk_string", ctypes.c_char_p(part.encode()))
            pointer = self.call("l_Lean_Name_str___override", ctypes.c_void_p(pointer), ctypes.c_void_p(string))
        return pointer

    def _place(self, content: bytes) -> int:
        """The address of a new buffer with this content."""
        buffer = ctypes.create_string_buffer(content, len(content) + 8)
        at = ctypes.addressof(buffer)
        if at % 8:
            raise SystemExit("kernel.py: the allocator returned an address that is not a multiple of 8")
        self.buffers.append(buffer)
        return at

    def import_library(self, modules: list[str]) -> None:
        """Start the environment with the constants of these modules."""
        imports = self.array(*(self.object(0, self.name(module), scalars=b"\0\1\0") for module in modules))
        options = ctypes.c_void_p.in_dll(self.lean, "l_Lean_Options_empty").value
        outcome = self.call(
            "l_Lean_importModules",
            *map(ctypes.c_void_p, (imports, options)),
            ctypes.c_uint32(TRUST_LEVEL),
            ctypes.c_void_p(self.array()),
            *map(ctypes.c_uint8, (1, 0, PRIVATE_LEVEL)),
            ctypes.c_void_p(NO_TREE),
        )
        elaborated = self.answer(outcome, f"cannot import {', '.join(modules)}")
        self.environment = self.call("lean_elab_environment_to_kernel_env", ctypes.c_void_p(elaborated))

    def answer(self, outcome: int, problem: str) -> int:
        """The value of an IO result. Raises SystemExit."""
        if tag(outcome) != 0:
            raise SystemExit(problem)
        return field(outcome, 0)

    def shift(self, path: str) -> int:
        """Map a compiled module. Returns the difference between its address in memory and the address in the file."""
        string = self.call("lean_mk_string", ctypes.c_char_p(os.fsencode(path)))
        outcome = self.call("l_Lean_readModuleData", ctypes.c_void_p(string))
        root = field(self.answer(outcome, f"cannot read {path}"), 0)
        with open(path, "rb") as file:  # noqa: PTH123 - this file imports as little as possible
            header = file.read(96)
            file.seek(-8, os.SEEK_END)
            stated = header[88:96] if header[6] & 1 else file.read(8)
        return root - int.from_bytes(stated, "little")

    def declare(self, declaration: int) -> str:
        """Let the kernel check a declaration and add it. Returns the reason for a rejection, or an empty text."""
        _hold(
            self.environment
        )  # the kernel consumes a reference, and after a rejection the environment is still needed
        outcome = self.call(
            "lean_add_decl",
            ctypes.c_void_p(self.environment),
            ctypes.c_size_t(NO_HEARTBEAT_LIMIT),
            ctypes.c_size_t(RECURSION_DEPTH),
            ctypes.c_void_p(declaration),
            ctypes.c_void_p(box(0)),
        )
        if tag(outcome) == 0:
            error = field(outcome, 0)
            number = error >> 1 if error & 1 else tag(error)
            return REASONS[number] if number < len(REASONS) else "the kernel rejects it"
        self.environment = field(outcome, 0)
        return ""

    def holds(self, name: int, constant: int) -> bool:
        """True when the environment has a constant of this name that is structurally equal to `constant`."""
        _hold(self.environment)
        option = self.call("lean_environment_find", ctypes.c_void_p(self.environment), ctypes.c_void_p(name))
        return not option & 1 and same(field(option, 0), constant)


def _hold(pointer: int) -> None:
    """Add a reference to an object, before a call that consumes one."""
    count = ctypes.c_int32.from_address(pointer)
    if count.value:
        count.value += 1 if count.value > 0 else -1


def same(one: int, other: int) -> bool:
    """True when two objects are structurally equal."""
    # An explicit stack, because terms nest deeper than Python's recursion limit.
    waiting, seen = [(one, other)], set()
    while waiting:
        pair = waiting.pop()
        first, second = pair
        if first == second or pair in seen:
            continue
        seen.add(pair)
        if first & 1 or second & 1:
            return False
        header = _word(first) >> 32
        if header >> 24 != _word(second) >> 56:
            return False
        match header >> 24:
            case kind if kind <= LARGEST_CONSTRUCTOR:
                objects, size = header >> 16 & 0xFF, header & 0xFFFF
                scalars = 8 + 8 * objects
                if header != _word(second) >> 32 or not _equal(first + scalars, second + scalars, size - scalars):
                    return False
                waiting += [(field(first, index), field(second, index)) for index in range(objects)]
            case kind if kind == STRING_TAG:
                size = _word(first + 8)
                if size != _word(second + 8) or not _equal(first + 32, second + 32, size):
                    return False
            case kind if kind == INTEGER_TAG:
                limbs = _word(first + 8) >> 32
                if limbs != _word(second + 8) >> 32 or not _equal(_word(first + 16), _word(second + 16), 8 * limbs):
                    return False
            case _:
                return False
    return True


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _equal(one: int, other: int, size: int) -> bool:
    """True when the same bytes are at two addresses."""
    return ctypes.string_at(one, size) == ctypes.string_at(other, size)


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


def inductive(kernel: Kernel, plan: dict, shift: int) -> int:  # type: ignore[type-arg]
    """The `Lean.Declaration` of one or several mutual inductive types."""
    types = [
        kernel.object(
            0,
            each["name"] + shift,
            each["type"] + shift,
            kernel.linked([kernel.object(0, name + shift, kind + shift) for name, kind in each["constructors"]]),
        )
        for each in plan["types"]
    ]
    levels = plan["levels"] if plan["levels"] & 1 else plan["levels"] + shift
    return kernel.object(INDUCTIVE, levels, box(plan["parameters"]), kernel.linked(types), scalars=b"\0")


def main(plan_file: str) -> int:
    """Entry point. Always returns 0; standard output has the rejected declarations."""
    with open(plan_file, encoding="utf-8") as file:  # noqa: PTH123 - this file imports as little as possible
        plan = json.load(file)
    kernel = Kernel(ctypes.CDLL(os.environ[LIBRARY_VARIABLE], mode=ctypes.RTLD_GLOBAL))
    kernel.import_library(plan["library"])
    shift = checked = 0
    rejected = {}
    for step in plan["steps"]:
        if "file" in step:
            shift = kernel.shift(step["file"])
            continue
        if "inductive" in step:
            declaration = inductive(kernel, step["inductive"], shift)
        else:
            declaration = kernel.object(DECLARATIONS[step["declare"]], field(step["at"] + shift, 0))
        reason = kernel.declare(declaration)
        if not reason and not all(
            kernel.holds(name + shift, constant + shift)
            for name, constant in step.get("inductive", {}).get("generated", ())
        ):
            reason = NOT_GENERATED
        if reason:
            rejected[step["name"]] = reason
        else:
            checked += 1
    print(json.dumps({"checked": checked, "rejected": rejected}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
