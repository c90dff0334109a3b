"""Are the tests good? Draws small faults of the code by a seed, and runs the tests that reach each of them.

python -m scripts.mutations draw --count 40 --seed 33      # writes tests/mutations.json
python -m scripts.mutations reach                          # one run of the suite: which tests reach which fault
python -m scripts.mutations run                            # each fault in turn: found, if one of its tests fails
python -m scripts.mutations run --again                    # also those that have a result

The list that is kept has 40 faults of seed 33 and 40 of seed 34, without those whose code was taken out. `run` tries
the test first that found a fault last time. If that one passes, or there is none, it runs the tests that `reach` has
noted in .cache/reach.json. Without these notes the fault stays without a result: then call `reach` and `run` once more.

Everything runs in a copy of the checkout in a temporary folder, so a killed run leaves no fault in the code. A fault is
named by its file, function, the text before and after, and the number of equal texts before it in that function: it
stays the same fault when lines move. One whose text is gone is reported as gone, never as found.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parents[1]

FILE = ROOT / "tests" / "mutations.json"

REACH = ROOT / ".cache" / "reach.json"
"""The tests that reach each fault, by its name."""

PACKAGES = ("broker", "common", "node", "proofmesh", "ui")
"""Code whose faults users meet. `scripts` and `data/generators` are tools of ours."""

MOST_TESTS = 150
"""Tests that are run for one fault: those of its own room come first."""

SECONDS = 300
"""Time limit of the tests of one fault. A fault that makes them hang counts as found."""

NOTHING_RAN = (4, 5)
"""Exit codes of pytest: a test that was named is not there, or none was selected. At 1 a test has failed, at 2 a file
of tests could not be imported, at 3 a fault has broken pytest's own work."""

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip

OPERATORS: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*"}


class Mutation(msgspec.Struct, kw_only=True):
    """One fault."""

    file: str
    function: str
    before: str
    after: str
    nth: int
    """Number of texts equal to `before` in the function before this one."""
    found_by: str = ""
    """The first of its tests that failed; empty: none did."""
    state: str = ""
    """`found`, `survived`, `unreached` (by no test) or `gone` (its text is no longer there)."""

    @property
    def name(self) -> str:
        """What tells it from other faults."""
        return f"{self.file} {self.function} {self.nth}: {self.before} -> {self.after}"


# --- drawing ---------------------------------------------------------------------------------------------------------


def draw(count: int, seed: int) -> list[Mutation]:
    """Faults over all rooms: a room, one of its files by length, one of the file's places."""
    rng = random.Random(seed)
    rooms = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.name != "__init__.py" and (places := list(faults(path))):
                rooms[path.parent].append((path, len(path.read_text(encoding="utf-8").splitlines()), places))
    order = sorted(rooms)
    rng.shuffle(order)
    chosen: list[Mutation] = []
    while len(chosen) < count:
        files = rooms[order[len(chosen) % len(order)]]
        _, _, places = rng.choices(files, [lines for _, lines, _ in files])[0]
        mutation = rng.choice(places)
        if mutation not in chosen:
            chosen.append(mutation)
    return sorted(chosen, key=lambda each: (each.file, each.function, each.before))


def faults(path: Path) -> Iterator[Mutation]:
    """All faults that can be made in a file's functions."""
    text = path.read_text(encoding="utf-8")
    source = Source(text)
    for function in _functions(source.tree):
        seen: dict[str, int] = defaultdict(int)
        for node in ast.walk(function):
            if not isinstance(node, ast.expr) or not (before := source.of(node)):
                continue
            nth = seen[before]
            seen[before] += 1
            if (after := _faulty(node, source)) is not None:
                name = path.relative_to(ROOT).as_posix()
                yield Mutation(file=name, function=function.name, before=before, after=after, nth=nth)


class Source:
    """A file's text with its tree. `ast.get_source_segment` splits the whole text at each call."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self._lines = [line.encode() for line in text.split("\n")]

    def of(self, node: ast.expr) -> str:
        """The text of an expression on one line; empty if it has several."""
        if node.lineno != node.end_lineno:
            return ""
        return self._lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()


def _functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _faulty(node: ast.expr, source: Source) -> str | None:
    """The text of the fault at an expression; None if this kind has none."""
    of = source.of
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
            return f"({of(left)} {COMPARISONS[type(operator)]} {of(right)})"
        case ast.BoolOp(op=operator, values=values):
            sign = " or " if isinstance(operator, ast.And) else " and "
            return "(" + sign.join(f"({of(value)})" for value in values) + ")"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"bool({of(operand)})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            if any(isinstance(side, ast.Constant | ast.JoinedStr) and not _number(side) for side in (left, right)):
                return None  # texts that are joined
            return f"({of(left)} {OPERATORS[type(operator)]} {of(right)})"
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            return ("max" if name == "min" else "min") + of(node)[3:]
        case ast.Call(func=ast.Name(id="any" | "all" as name)):
            return ("all" if name == "any" else "any") + of(node)[3:]
        case ast.Constant(value=bool(value)):
            return str(not value)
        case ast.Constant(value=int(value)):
            return str(value + 1)
    return None


def _number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


# --- applying --------------------------------------------------------------------------------------------------------


def place(root: Path, mutation: Mutation) -> tuple[Path, str, ast.expr, ast.stmt] | None:
    """The file, its text, and the expression with its statement; None if they are gone."""
    path = root / mutation.file
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    source = Source(text)
    for function in _functions(source.tree):
        if function.name != mutation.function:
            continue
        nodes = [node for node in ast.walk(function) if isinstance(node, ast.expr)]
        equal = [node for node in nodes if source.of(node) == mutation.before]
        if mutation.nth < len(equal):
            node = equal[mutation.nth]
            statement = max(
                (each for each in ast.walk(function) if isinstance(each, ast.stmt) and _holds(each, node)),
                key=lambda each: each.lineno,
            )
            return path, text, node, statement
    return None


def _holds(statement: ast.stmt, node: ast.expr) -> bool:
    return statement.lineno <= node.lineno and (node.end_lineno or 0) <= (statement.end_lineno or 0)


def apply(root: Path, mutation: Mutation) -> bool:
    """Make the fault in a copy. False: its place is gone."""
    found = place(root, mutation)
    if found is None:
        return False
    path, text, node, _ = found
    lines = text.split("\n")
    line = lines[node.lineno - 1].encode()
    assert node.end_col_offset is not None
    changed = line[: node.col_offset] + mutation.after.encode() + line[node.end_col_offset :]
    lines[node.lineno - 1] = changed.decode()
    path.write_text("\n".join(lines), encoding="utf-8")
    return True


def probe(root: Path, mutations: list[Mutation], record: Path) -> None:
    """Make the statement of each fault write down which test has reached it, in this process or in a child of it."""
    marks = defaultdict(list)
    for number, mutation in enumerate(mutations):
        if found := place(root, mutation):
            marks[found[0]].append((found[3], number))
    for path, found_marks in marks.items():
        lines = path.read_text(encoding="utf-8").split("\n")
        for statement, number in sorted(found_marks, key=lambda each: -each[0].lineno):
            line = statement.lineno - 1
            indent = lines[line][: statement.col_offset]
            while lines[line].lstrip().startswith("elif "):  # nothing may stand before it: its `if` is marked
                line -= 1
                while not lines[line].startswith((f"{indent}if ", f"{indent}elif ")):
                    line -= 1
            call = f"import os as _o; _f = open({str(record)!r}, 'a'); "
            call += f"_f.write(f'{number}\\t' + _o.environ.get('PYTEST_CURRENT_TEST', '') + '\\n'); _f.close()"
            if not indent.strip():  # a statement behind `else:` or `;` on one line cannot be marked
                lines.insert(line, f"{indent}try: {call}\n{indent}except OSError: pass")
        path.write_text("\n".join(lines), encoding="utf-8")


def copied(folder: str) -> Path:
    """A copy of the tracked files, beside which `shared` data and the environment stand as beside this checkout."""
    root = Path(folder) / "checkout"
    root.mkdir()
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    (root / ".venv").symlink_to(ROOT / ".venv")
    if (ROOT.parent / "shared").is_dir():
        (Path(folder) / "shared").symlink_to(ROOT.parent / "shared")
    return root


def pytest(root: Path, arguments: list[str], seconds: float | None = None) -> subprocess.CompletedProcess[str] | None:
    """Run the tests of a copy; None if they take too long."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    try:
        return subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return None


# --- the three commands ----------------------------------------------------------------------------------------------


def reach(mutations: list[Mutation], paths: list[str]) -> None:
    """Run the default suite once, or these paths of it, and note the tests that reach each fault, besides those that
    are noted and still there."""
    with tempfile.TemporaryDirectory() as folder:
        root, record = copied(folder), Path(folder) / "reached"
        record.touch()
        listed = pytest(root, ["--collect-only", "-m", ""])
        there = set(listed.stdout.splitlines()) if listed else set()
        probe(root, mutations, record)
        done = pytest(root, ["-n", "2", "--dist", "worksteal", *paths])
        print(done.stdout[-20_000:] if done else "", flush=True)
        reached: dict[int, set[str]] = defaultdict(set)
        for line in record.read_text(encoding="utf-8", errors="replace").splitlines():
            mark, _, test = line.partition("\t")
            if mark.isdigit() and test:
                reached[int(mark)].add(test.rpartition(" (")[0])
    notes = noted()
    for number, mutation in enumerate(mutations):
        tests = reached[number] | there.intersection(notes.get(mutation.name, ()))
        notes[mutation.name] = sorted(tests, key=lambda test: (not _near(mutation, test), test))
    REACH.parent.mkdir(exist_ok=True)
    REACH.write_text(json.dumps(notes, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def noted() -> dict[str, list[str]]:
    """The notes of `reach`: the tests of each fault, by its name."""
    return msgspec.json.decode(REACH.read_bytes(), type=dict[str, list[str]]) if REACH.is_file() else {}


def _near(mutation: Mutation, test: str) -> bool:
    """Whether a test belongs to the room of the fault."""
    room = Path(mutation.file).parts[:-1]
    return any(Path(test.partition("::")[0]).parts[1 : 1 + n] == room[:n] for n in (len(room), max(2, len(room) - 1)))


def run(mutations: list[Mutation], keep: Any) -> None:
    """Run the tests of each fault that has no result yet; `keep` is called after each."""
    notes = noted()
    for number, mutation in enumerate(mutations):
        if mutation.state:
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            root = copied(folder)
            mutation.state = judge(root, mutation, notes.get(mutation.name)) if apply(root, mutation) else "gone"
        keep()
        state = mutation.state or "no result: its tests are not noted, `reach` notes them"
        seconds = time.monotonic() - started
        print(f"{number + 1}/{len(mutations)} {state} {mutation.name} ({seconds:.0f} s)", flush=True)


def judge(root: Path, mutation: Mutation, tests: list[str] | None) -> str:
    """The state of a fault that is made in a copy; empty: its tests are not known."""
    if mutation.found_by.startswith("tests/") and failure(root, [mutation.found_by]):
        return "found"
    if tests is None:
        return ""
    if not tests:
        return "unreached"
    mutation.found_by = failure(root, tests[:MOST_TESTS], must_run=True)
    return "found" if mutation.found_by else "survived"


def failure(root: Path, tests: list[str], *, must_run: bool = False) -> str:
    """The first of the tests that fails; empty: none does. Tests that are not there fail not, or end the program."""
    done = pytest(root, ["-x", "--timeout", "120", *tests], SECONDS)
    if done is None:
        return "too slow"
    # A fault may break the import of a file of tests, which is an error of collecting: found.
    if done.returncode in NOTHING_RAN and "ERROR collecting" not in done.stdout:
        if must_run:
            raise SystemExit(f"its tests cannot be run; `reach` finds those of today\n{done.stdout}")
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))]
    named = failed[0].partition(" ")[2].partition(" - ")[0] if failed else "no test by name"
    return named if done.returncode else ""


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "reach", "run"))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=33)
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--again", action="store_true", help="of `run`: also faults that have a result")
    parser.add_argument("paths", nargs="*", help="of `reach`: only these tests")
    given = parser.parse_intermixed_args()
    mutations = (
        draw(given.count, given.seed)
        if given.what == "draw"
        else msgspec.json.decode(given.file.read_bytes(), type=list[Mutation])
    )

    def keep() -> None:
        given.file.write_text(json.dumps(msgspec.to_builtins(mutations), indent=1, ensure_ascii=False) + "\n")

    if given.what == "reach":
        reach(mutations, given.paths)
    elif given.what == "run":
        for mutation in mutations if given.again else ():
            mutation.state = ""
        run(mutations, keep)
    else:
        keep()
    states = [mutation.state for mutation in mutations]
    print({state: states.count(state) for state in sorted(set(states))})
    return 0


if __name__ == "__main__":
    sys.exit(main())
