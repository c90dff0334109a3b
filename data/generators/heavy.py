"""Writes and builds a Lean project that weighs like Mathlib, to measure verification and proving behind its header.

    python -m data.generators.heavy --out /tmp/heavy [--modules 2000] [--fans 10] [--lemmas 40] [--seed 1]

It is an ordinary Lake project (`lake build` builds it too), compiled here with pocket Lean on all cores. After Ctrl-C
the same command goes on where it stopped. The same sizes and seed give the same sources.

A library weighs in two ways. Its bytes are mapped into memory, and its entries (constants, simp lemmas, instances,
docstrings, notation) are read one by one at each import. Both are cheap to make: a structure of six fields takes Lean
20 ms, and gives dozens of constants and tens of kilobytes. So most of the weight is in structures (`fans`), with maps
between them whose lemmas are `simp` lemmas. The other lemmas of a module have the shapes in SHAPES; a part of them is
proved by `simp` with the lemmas of imported modules.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from common.files import write_whole
from common.output.command import UserError
from common.seeds import derive_seed
from node.lean.toolchain.pocket import build as pocket

LIBRARY = "Heavy"
TOOLCHAIN = "leanprover/lean4:v4.35.0"
"""What elan calls pocket Lean's version."""

BUILT = Path(".lake/build/lib/lean")
"""Where Lake puts the compiled modules of a project."""

TOPICS = (
    *("Order", "Logic", "Algebra", "Data", "Group", "Ring", "Field", "Linear", "Topology", "Measure", "Analysis"),
    *("Category", "Number", "Set", "Combinatorics", "Geometry", "Probability", "Dynamics", "Computability", "Lattice"),
    *("Module", "Tensor", "Graph", "Filter", "Polynomial"),
)
"""Names of the areas."""

CORE = 5
"""The first of them, which the modules of all others import."""

FIELDS = 6
"""Fields of a structure."""

# --- The shapes of lemmas ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A lemma, as a pattern: `$n` is a number, `$Fan` a structure of the module or of a module that it imports, `$Op`
    the class of the module."""

    statement: str
    """Binders and conclusion, from behind the name to before `:=`."""
    proof: str
    simp: bool = False
    """Whether it gets the attribute `simp`. Only for facts that make terms smaller, in a form that cannot loop."""


def _names(letter: str, count: int) -> list[str]:
    return [f"{letter}{index}" for index in range(count)]


def _propositions() -> Iterator[Shape]:
    for count in range(2, 8):
        p = _names("p", count)
        steps = " ".join(f"(h{index} : {a} → {b})" for index, (a, b) in enumerate(itertools.pairwise(p)))
        applied = "x"
        for index in range(count - 1):
            applied = f"h{index} ({applied})"
        yield Shape(f"({' '.join(p)} : Prop) {steps} : {p[0]} → {p[-1]}", f"fun x => {applied}")
    for count in range(3, 7):
        p = _names("p", count)
        for index, each in enumerate(p):
            last = index == count - 1
            path = ".2" * index + ("" if last else ".1")
            yield Shape(f"({' '.join(p)} : Prop) (h : {' ∧ '.join(p)}) : {each}", f"h{path}")
            injected = "h" if last else "Or.inl h"
            for _ in range(index):
                injected = f"Or.inr ({injected})"
            yield Shape(f"({' '.join(p)} : Prop) (h : {each}) : {' ∨ '.join(p)}", injected)


def _quantifiers() -> Iterator[Shape]:
    for count in (2, 3, 4):
        x = _names("x", count)
        kind = " → ".join(["α"] * count)
        for order in list(itertools.permutations(x))[1::3]:
            yield Shape(
                f"{{α : Type u}} (r : {kind} → Prop) (h : ∀ {' '.join(x)}, r {' '.join(x)}) : "
                f"∀ {' '.join(order)}, r {' '.join(x)}",
                f"fun {' '.join(order)} => h {' '.join(x)}",
            )
    exists = "{α : Type u} (p q : α → Prop) (h : ∃ x, p x ∧ q x)"
    yield Shape(f"{exists} : ∃ x, q x ∧ p x", "h.elim fun x k => ⟨x, k.2, k.1⟩")
    yield Shape(f"{exists} : ∃ x, p x", "by\n  cases h with\n  | intro x k => exact ⟨x, k.1⟩")
    yield Shape(f"{exists} : (∃ x, p x) ∧ ∃ x, q x", "by\n  obtain ⟨x, k⟩ := h\n  exact ⟨⟨x, k.1⟩, ⟨x, k.2⟩⟩")


def _equations() -> Iterator[Shape]:
    for directions in itertools.product((True, False), repeat=3):
        steps, proof = "", ""
        for index, forward in enumerate(directions):
            a, b = (index, index + 1) if forward else (index + 1, index)
            steps += f" (h{index} : a{a} = a{b})"
            proof = f"({proof or 'rfl'}).trans h{index}" + ("" if forward else ".symm")
        yield Shape(f"{{α : Type u}} (a0 a1 a2 a3 : α){steps} : a0 = a3", proof)
    for depth in range(1, 7):
        left, right, proof = "a", "b", "h"
        for _ in range(depth):
            left, right, proof = f"f ({left})", f"f ({right})", f"congrArg f ({proof})"
        yield Shape(f"{{α : Type u}} (f : α → α) (a b : α) (h : a = b) : {left} = {right}", proof)


def _numbers() -> Iterator[Shape]:
    yield Shape("(a b c : Nat) (h : a + $n ≤ b) (k : b ≤ c) : a + $n ≤ c", "by omega")
    yield Shape("(a b : Nat) (h : a + $n < b) : a < b", "Nat.lt_of_le_of_lt (Nat.le_add_right a $n) h")
    yield Shape("(a b : Nat) (h : a + $n = b + $n) : a = b", "Nat.add_right_cancel h")
    yield Shape("(a b : Nat) : a + (b + $n) = b + (a + $n)", "Nat.add_left_comm a b $n")
    yield Shape("(a b : Nat) : a * $n + b * $n = (a + b) * $n", "(Nat.add_mul a b $n).symm")
    yield Shape("(a b : Nat) (h : a ≤ b) : a * $n ≤ b * $n", "Nat.mul_le_mul_right $n h")
    yield Shape("(a : Nat) : 0 + (a + 0) + $n * 1 = a + $n", "by simp")
    yield Shape("(a b : Nat) (h : a = b + $n) : b + $n = a", "by rw [h]")


def _maps() -> Iterator[Shape]:
    """About the structures, proved by `simp` with the lemmas of the modules that they come from."""
    for depth in (2, 3, 4):
        functions = _names("f", depth)
        mapped, applied = "s", "s.x$i"
        for each in functions:
            mapped, applied = f"({mapped}.map {each})", f"{each} ({applied})"
        for index in range(FIELDS):
            part = applied.replace("$i", str(index))
            yield Shape(
                f"{{α : Type u}} ({' '.join(functions)} : α → α) (s : $Fan α) : {mapped}.x{index} = {part}", "by simp"
            )
    start = "{α : Type u} (f g : α → α) (s : $Fan α)"
    yield Shape(f"{start} (h : ∀ x, g (f x) = x) : (s.map f).map g = s", "by simp [h]")
    yield Shape(f"{start} : (s.map fun x => x).map f = s.map f", "by simp")
    yield Shape(f"{start} (h : s.x0 = s.x1) : (s.map f).x0 = (s.map f).x1", "by simp [h]")
    yield Shape(f"{start} (h : f s.x2 = s.x2) : ((s.map f).map g).x2 = g s.x2", "by simp [h]")
    # Reducing `fun x => x` on a part is what the other lemmas do in two steps.
    yield Shape("{α : Type u} (s : $Fan α) : (s.map fun x => x).x5 = s.x5", "rfl", simp=True)


def _operations() -> Iterator[Shape]:
    start = "{α : Type u} [$Op α] (w x y z : α)"
    op = "$Op.op"
    yield Shape(
        f"{start} : {op} ({op} ({op} w x) y) z = {op} w ({op} x ({op} y z))", "by\n  rw [$Op.op_assoc, $Op.op_assoc]"
    )
    yield Shape(f"{start} (h : {op} w x = y) : {op} ({op} w x) z = {op} y z", "by rw [h]")
    yield Shape(f"{start} (h : {op} w x = y) : {op} w ({op} x z) = {op} y z", "by\n  rw [← $Op.op_assoc, h]")
    yield Shape(f"{start} (h : x = y) : {op} ({op} w x) z = {op} ({op} w y) z", "h ▸ rfl")


SHAPES = (
    *_propositions(),
    *_quantifiers(),
    *_equations(),
    *_numbers(),
    *_maps(),
    *_operations(),
)


# --- The modules and their imports ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """How large the library is. The numbers are per module, except the first."""

    modules: int = 2000
    fans: int = 10
    """Structures, each with a map, an instance and `simp` lemmas."""
    lemmas: int = 40
    seed: int = 1


def import_graph(size: Size) -> dict[str, tuple[str, ...]]:
    """The imports of every module, each after those that it imports.

    The areas grow side by side. Each is a chain of modules, and modules of the first areas, the core, also import each
    other across areas. All modules may import those of the core. So the longest chain of 2,000 modules has 175 of
    them, and a module needs at most a quarter of the library. A larger library has the modules of a smaller one.
    """
    places = [divmod(number, len(TOPICS)) for number in range(size.modules)]
    names = {(row, area): f"{LIBRARY}.{TOPICS[area]}.Part{row:03d}" for row, area in places}
    graph: dict[str, tuple[str, ...]] = {}
    for (row, area), name in names.items():
        rng = random.Random(derive_seed(size.seed, "imports", name))
        wanted = [(row - rng.choice((1, 1, 2)), area)]
        if area < CORE:
            beside = (row, area - 1) if area else (row - 1, CORE - 1)
            wanted += [beside] if rng.random() < 0.7 else []
        else:
            wanted += [(rng.randrange(row + 1), rng.randrange(CORE)) for _ in range(rng.choice((0, 1, 1, 2)))]
        graph[name] = tuple(dict.fromkeys(names[place] for place in wanted if place in names))
    return graph


def source(name: str, imports: tuple[str, ...], size: Size) -> str:
    """The text of a module."""
    rng = random.Random(derive_seed(size.seed, "module", name))
    topic, part = name.split(".")[1:]
    own = [f"{name}.Fan{index}" for index in range(size.fans)]
    known = own + [f"{each}.Fan{index}" for each in imports for index in range(size.fans)]
    lines = [
        *(f"import {each}" for each in imports),
        "",
        f"/-! # {topic}, {part}\n\nStructures with maps between them, and facts about them and about numbers. -/",
        "",
        f"namespace {name}",
        "universe u v",
        "",
        *(line for index in range(size.fans) for line in _fan(index)),
        *_operation(topic, part),
    ]
    for index in range(size.lemmas):
        shape = rng.choice(SHAPES)
        text = f"theorem fact{index} {shape.statement} :=\n  {shape.proof}"
        text = text.replace("$Fan", rng.choice(known)).replace("$Op", "Op").replace("$n", str(rng.randrange(2, 10_000)))
        lines += [f"/-- Fact {index} of {part} of {topic}. -/", f"{'@[simp] ' * shape.simp}{text}", ""]
    return "\n".join([*lines, f"end {name}", ""])


def _fan(index: int) -> list[str]:
    """A structure with a map, its `simp` lemmas and an instance."""
    fan, fields = f"Fan{index}", _names("x", FIELDS)
    lines = [f"/-- A family of {FIELDS} elements, the one with number {index} of this module. -/"]
    lines += [f"structure {fan} (α : Type u) where"]
    for each in fields:
        lines += [f"  /-- The part {each} of a `{fan}`. -/", f"  {each} : α"]
    start = "{α : Type u} {β : Type v} (f : α → β)"
    parts = ", ".join(f"f s.{each}" for each in fields)
    lines += ["", f"/-- Apply a function to every part of a `{fan}`. -/"]
    lines += [f"def {fan}.map {start} (s : {fan} α) : {fan} β :=\n  ⟨{parts}⟩", ""]
    for each in fields:
        lines += [f"@[simp] theorem {fan}.map_{each} {start} (s : {fan} α) : (s.map f).{each} = f s.{each} := rfl"]
    lines += [
        f"@[simp] theorem {fan}.map_id {{α : Type u}} (s : {fan} α) : (s.map fun x => x) = s := rfl",
        f"@[simp] theorem {fan}.map_map {{α β γ : Type u}} (f : α → β) (g : β → γ) (s : {fan} α) :",
        "    (s.map f).map g = s.map fun x => g (f x) := rfl",
        f"instance {{α : Type u}} [Inhabited α] : Inhabited ({fan} α) := ⟨⟨{', '.join(['default'] * FIELDS)}⟩⟩",
        "",
    ]
    return lines


def _operation(topic: str, part: str) -> list[str]:
    """A class with a law and an instance, notation in every fifth module, and an inductive relation."""
    lines = [
        f"/-- An associative operation, for {topic}. -/",
        "class Op (α : Type u) where",
        "  /-- The operation. -/",
        "  op : α → α → α",
        "  op_assoc : ∀ x y z, op (op x y) z = op x (op y z)",
        "",
        "instance : Op Nat := ⟨Nat.add, Nat.add_assoc⟩",
        "",
    ]
    if int(part.removeprefix("Part")) % 5 == 0:
        lines += [f'@[inherit_doc] scoped infixl:65 " ⊕[{topic}{part}] " => Op.op', ""]
    lines += ["/-- A relation between numbers. -/", "inductive Near : Nat → Nat → Prop where"]
    return [*lines, *(f"  | step{index} (a b : Nat) (h : a ≤ b) : Near a (b + {index})" for index in range(4)), ""]


# --- Writes and builds it ---------------------------------------------------------------------------------------------


def write(out: Path, size: Size) -> dict[str, Path]:
    """Write the project, and return its modules with their files. A file that is right already keeps its time, which
    says that its compiled module is right too."""
    graph = import_graph(size)
    texts = {name: source(name, imports, size) for name, imports in graph.items()}
    texts[LIBRARY] = "".join(f"import {name}\n" for name in graph)
    files = {name: out.joinpath(*name.split(".")).with_suffix(".lean") for name in texts}
    _write(
        out / "lakefile.toml", f'name = "heavy"\ndefaultTargets = ["{LIBRARY}"]\n\n[[lean_lib]]\nname = "{LIBRARY}"\n'
    )
    _write(out / "lean-toolchain", f"{TOOLCHAIN}\n")
    for name, text in texts.items():
        _write(files[name], text)
    return files


def _write(file: Path, text: str) -> None:
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text.encode())


def compiled_modules(files: Mapping[str, Path], out: Path) -> set[str]:
    """The modules whose compiled file is newer than their source and than those of the modules that they import."""
    times: dict[str, int] = {}
    for name, file in files.items():  # imports come first
        olean = out.joinpath(*name.split(".")).with_suffix(".olean")
        if not olean.is_file():
            continue
        made = olean.stat().st_mtime_ns
        needed = [times.get(each) for each in pocket.imports(file.read_text(encoding="utf-8"))]
        if made >= file.stat().st_mtime_ns and all(time is not None and time <= made for time in needed):
            times[name] = made
    return set(times)


def build(out: Path, size: Size, report: Callable[[str], None] = print) -> Path:
    """Write and compile the library; compile only what is missing. Returns the folder of the compiled modules, for
    [lean] modules. Raises PocketBuildError."""
    files, folder = write(out, size), out / BUILT
    library = pocket.library()
    key = out / ".lake" / "pocket-lean"  # another build of pocket Lean cannot use the modules of this one
    done = compiled_modules(files, folder) if key.is_file() and key.read_text() == library.name else set()
    _write(key, library.name)
    report(f"{len(files)} modules, {len(done)} of them are compiled already")
    started = shown = time.monotonic()
    finished = 0

    def count(line: str) -> None:
        nonlocal shown, finished
        finished += 1
        now, left = time.monotonic(), len(files) - len(done) - finished
        if now - shown >= 10 or not left:
            shown, minutes = now, (now - started) / 60
            rest = f"about {minutes / finished * left:.0f} min left" if left else "done"
            report(f"{len(files) - left} of {len(files)} modules, {minutes:.1f} min, {rest}; last:{line}")

    pocket.compile_all(files, folder, count, library=library, compiled=done)
    return folder


def main() -> int:
    """Entry point of `python -m data.generators.heavy`."""
    parser = argparse.ArgumentParser(description="Write and build a Lean project that weighs like Mathlib.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the project")
    parser.add_argument("--modules", type=int, default=Size.modules, help="number of modules")
    parser.add_argument("--fans", type=int, default=Size.fans, help="structures in each module")
    parser.add_argument("--lemmas", type=int, default=Size.lemmas, help="lemmas in each module")
    parser.add_argument("--seed", type=int, default=Size.seed)
    arguments = parser.parse_args()
    size = Size(arguments.modules, arguments.fans, arguments.lemmas, arguments.seed)
    out: Path = arguments.out.absolute()
    try:
        folder = build(out, size, lambda line: print(line, flush=True))
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    sizes = [file.stat().st_size for file in folder.rglob("*.olean")]
    print(f"{len(sizes)} compiled modules, {sum(sizes) / 1e6:.0f} MB: --lean.modules {folder} --lean.imports {LIBRARY}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
