"""Counts by which the code's structure is judged: files, lines, importers, rooms, and the modules on two ways.

python -m scripts.docs.house            # from the source text alone
python -m scripts.docs.house --trace    # also runs a small mesh, and counts the modules that are called
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import graphlib
import gzip
import json
import re
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from unittest import mock

from common.output.terminal import Console

if TYPE_CHECKING:
    from common.life.context import NodeContext

ROOT = Path(__file__).parents[2]

SMALL = 150
"""A file with one importer and fewer lines is no file of its own."""

DOORS = 12
"""Most files of a room."""

ENTRIES = ("pyproject.toml", "Justfile")
"""Files beside the code that start modules: they count as importers."""

_NAME = re.compile(r"[a-z_]\w*(?:\.\w+)+")

UNCOUNTED = ("common.life.logging", "common.life.metrics", "scripts")
"""Modules that are on every way, or that only watch, and this script."""


@dataclass
class File:
    """One Python file. Line counts include blank lines, except for `blank` itself."""

    path: Path
    """Relative to the root."""
    nodes: list[ast.AST]
    """The module, and everything in it."""
    lines: int
    blank: int
    imports: int
    """Lines of import statements, all lines of those with several."""
    comments: int
    """Lines that have only a `#` comment. Docstrings are not counted."""
    targets: set[str] = field(default_factory=set)
    """Modules that it imports anywhere, or names as an entry point in a string."""
    early: set[str] = field(default_factory=set)
    """Modules that it imports when it is imported."""

    @property
    def room(self) -> str:
        return str(self.path.parent)

    @property
    def door(self) -> bool:
        """Whether it counts as a file of its room: the other two belong to the folder."""
        return self.path.name not in ("__init__.py", "__main__.py")


# --- the source text -------------------------------------------------------------------------------------------------


def read(root: Path) -> dict[str, File]:
    """The Python files of all packages below `root` but `tests`, by module name."""
    files = {}
    for package in sorted(path.parent for path in root.glob("*/__init__.py")):
        for path in sorted(package.rglob("*.py")) if package.name != "tests" else ():
            short = path.relative_to(root)
            parts = short.with_suffix("").parts
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = _file(path, short)
    for each in files.values():
        each.targets = _imported(each.nodes, files) | _named(each, files)
        each.early = _imported(_executed(each.nodes[0]), files)
    return files


def _file(path: Path, short: Path) -> File:
    text = path.read_text(encoding="utf-8")
    nodes, lines = list(ast.walk(ast.parse(text))), text.splitlines()
    imports: set[int] = set()
    in_strings: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            in_strings.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    comments = [n for n, line in enumerate(lines, 1) if line.lstrip().startswith("#") and n not in in_strings]
    blank = sum(not line.strip() for line in lines)
    return File(short, nodes, len(lines), blank, len(imports), len(comments))


def _executed(module: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when the module is imported, apart from classes."""
    todo = list(ast.iter_child_nodes(module))
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.Try) or (isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test)):
            todo += node.body + node.orelse


def _imported(nodes: Iterable[ast.AST], files: dict[str, File]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            each = {f"{node.module}.{name.name}" for name in node.names}
            found |= {name if name in files else node.module for name in each}
    return found & files.keys()


def _named(user: File, files: dict[str, File]) -> set[str]:
    """Modules that strings name: "node.x.y", "node.x.y:main", f"node.{x}.y" with every string of the file as x (if none
    fits, with everything), and "y.py" for a program in the same folder."""
    words = {node.value for node in user.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    found = _entries(word.partition(":")[0] for word in words)
    found |= {".".join((*user.path.parent.parts, word[:-3])) for word in words if word.endswith(".py")}
    for node in user.nodes:
        if not isinstance(node, ast.JoinedStr):
            continue
        parts = [str(part.value) if isinstance(part, ast.Constant) else None for part in node.values]
        ours = bool(parts[0] and parts[0].partition(".")[0] in files)
        if ours or any(part and re.search(r"\.\w+:", part) for part in parts):
            pattern = "".join(r"([\w.]+)" if part is None else re.escape(part) for part in parts).partition(":")[0]
            matches = [match for name in files if (match := re.fullmatch(pattern, name))]
            known = [match for match in matches if words.issuperset(match.groups()) and "__main__" not in match[0]]
            found |= {match[0] for match in known or (matches if ours else [])}
    return found & files.keys()


def _entries(names: Iterable[str]) -> set[str]:
    """These modules; a package is run by its `__main__`."""
    return {entry for name in names if _NAME.fullmatch(name) for entry in (name, f"{name}.__main__")}


def importers(files: dict[str, File], root: Path) -> dict[str, set[str]]:
    """The importers of each module, without itself: module names, and names of ENTRIES."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, each in files.items():
        for target in each.targets - {name}:
            found[target].add(name)
    for entry in ENTRIES:
        path = root / entry
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for target in _entries(_NAME.findall(text)) & files.keys():
            found[target].add(entry)
    return found


def floors(room: dict[str, File]) -> int | None:
    """Files of the longest chain of imports inside a room, where files import others when they are imported; None: they
    do so in a circle."""
    doors = {name: each for name, each in room.items() if each.door}
    graph = {name: each.early & (doors.keys() - {name}) for name, each in doors.items()}
    depth: dict[str, int] = {}
    try:
        for name in graphlib.TopologicalSorter(graph).static_order():
            depth[name] = 1 + max((depth[other] for other in graph[name]), default=0)
    except graphlib.CycleError:
        return None
    return max(depth.values(), default=0)


def static(root: Path = ROOT) -> dict[str, Any]:
    """All counts from the source text."""
    # 1. Files, importers, rooms.
    files = read(root)
    used_by = importers(files, root)
    single = {name: next(iter(used_by[name])) for name in files if files[name].door and len(used_by[name]) == 1}
    small = {name: user for name, user in sorted(single.items()) if files[name].lines < SMALL}
    packages: dict[str, list[File]] = defaultdict(list)
    rooms: dict[str, dict[str, File]] = defaultdict(dict)
    for name, each in files.items():
        packages[each.path.parts[0]].append(each)
        rooms[each.room][name] = each

    def one_importer(found: dict[str, str]) -> dict[str, int]:
        beside = sum(user in rooms[files[name].room] for name, user in found.items())
        lines = sum(files[name].lines for name in found)
        return {"files": len(found), "lines": lines, "importer_in_same_room": beside}

    # 2. All counts.
    return {
        "total": _sizes(files.values()),
        "packages": {name: _sizes(each) for name, each in packages.items()},
        "one_importer": one_importer(single),
        "one_importer_small": {**one_importer(small), "importer_of": small},
        "rooms": {
            name: {
                "doors": sum(each.door for each in room.values()),
                "lines": sum(each.lines for each in room.values()),
                "floors": floors(room),
            }
            for name, room in sorted(rooms.items())
        },
    }


def _sizes(files: Iterable[File]) -> dict[str, float]:
    """Shares are of all lines, blank ones included."""
    total = Counter({"files": 0, "lines": 0, "blank": 0, "imports": 0, "comments": 0})
    for each in files:
        total.update(files=1, lines=each.lines, blank=each.blank, imports=each.imports, comments=each.comments)
    lines = max(1, total["lines"])
    shares = {f"{key}_share": round(total[key] / lines, 4) for key in ("imports", "comments", "blank")}
    return {"files": total["files"], "lines": total["lines"], **shares}


# --- a run -----------------------------------------------------------------------------------------------------------


class Calls:
    """The modules in which a function is called, or resumed, while `on`, in all threads that start later.

    Calls on import do not count, nor do types of msgspec, which C code makes.
    """

    def __init__(self, out: Path | None = None) -> None:
        """`out`: a file for the modules, for processes that are killed at their end."""
        self.on = False
        self.modules: set[str] = set()
        self._out = out
        self._local = threading.local()
        threading.setprofile(self._hear)
        sys.setprofile(self._hear)

    def _hear(self, frame: FrameType, event: str, _: object) -> None:
        if frame.f_code.co_name == "<module>":
            if event in ("call", "return"):
                self._local.imports = getattr(self._local, "imports", 0) + (1 if event == "call" else -1)
        elif self.on and event == "call" and getattr(self._local, "imports", 0) <= 0:
            name = str(frame.f_globals.get("__name__"))
            if name not in self.modules:
                self.modules.add(name)
                if self._out is not None:
                    with self._out.open("a", encoding="utf-8") as file:
                        file.write(f"{name}\n")

    def end(self, others: Iterable[str] = ()) -> list[str]:
        """The modules of our packages, sorted, with `others` and without UNCOUNTED."""
        sys.setprofile(None)
        threading.setprofile(None)
        packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
        found = (name for name in self.modules.union(others) if name.partition(".")[0] in packages)
        return sorted(name for name in found if not f"{name}.".startswith(tuple(f"{each}." for each in UNCOUNTED)))


CHILD = """
import importlib, pathlib, sys
sys.path.insert(0, sys.argv[1])
from scripts.docs.house import Calls
calls, module = Calls(pathlib.Path({out!r})), importlib.import_module(sys.argv[2])
calls.on = True
print(flush=True)  # as `_START` does
module.main()
"""
"""Start of a child that judges proofs, in place of `node.lean.process.dialog`'s own."""

THEOREM = {"name": "swap", "binders": "(p q : Prop)", "conclusion": "p ∧ q → q ∧ p", "family": "logic", "level": 1}


@asynccontextmanager
async def _mesh(folder: Path) -> AsyncIterator[Callable[..., Awaitable[NodeContext]]]:
    """A broker in a process of its own. Yields a function that makes a node's context from role and capacity."""
    from broker import streams
    from broker.launcher import Server
    from broker.settings import BrokerSettings
    from common.bus import Bus
    from common.life.context import NodeContext
    from common.settings import NodeSettings

    async with AsyncExitStack() as stack:
        server = Server(BrokerSettings(port=0, store=str(folder / "broker")))
        await server.start()
        stack.push_async_callback(server.stop, 0)

        async def join(role: str, **capacity: int) -> NodeContext:
            context = NodeContext(role, NodeSettings(run="house"), capacity)
            context.bus = await Bus.connect(server.bus, run="house", name=role, wait=30)
            stack.push_async_callback(context.bus.close)
            stack.push_async_callback(context.cancel_tasks)
            await streams.ensure(context.bus)
            await context.bus.register(context.info())
            return context

        yield join


async def theorem_way(folder: Path, calls: Calls) -> list[str]:
    """The modules that are called for one theorem: it is read from a bank, dispatched, proved with the list of tactics,
    verified in pocket Lean, recorded, and its transitions enter the replay buffer."""
    from common.lean import Theorem
    from common.protocol import subjects
    from common.protocol.messages import LeanRunReply, LeanRunRequest
    from node.lean.process import dialog
    from node.lean_proxy.service import serve
    from node.lean_proxy.settings import LeanProxySettings
    from node.prover.prover import Prover
    from node.prover.settings import ProverSettings

    children = folder / "children"
    children.touch()
    # 1. Without its sandbox a judge of proofs can write down what it calls.
    start = mock.patch.object(dialog, "_START", CHILD.format(out=str(children)))
    lean_settings = LeanProxySettings(workers=2, key=str(folder / "key.pem"), sandbox=False)
    async with _mesh(folder) as join:
        with start:
            # 2. A lean-proxy and a prover begin.
            lean, prover, learner = await join("lean-proxy"), await join("prover", searches=1), await join("learner")
            serving = asyncio.create_task(serve(lean, lean_settings))
            ready = LeanRunRequest(theorem=Theorem("ready", "", "True"))
            await learner.bus.request_patiently(subjects.LEAN_RUN, ready, LeanRunReply, timeout=30, deadline=180)
            playing = Prover(prover.bus, ProverSettings(policy="tactics", searches=1), prover.id)
            proving = asyncio.create_task(playing.run(prover.stopping))
            # 3. The theorem goes its way, and everything ends.
            await _learn(folder, learner, calls)
            for context in (prover, lean):
                context.stopping.set()
            await asyncio.gather(proving, serving)
    return calls.end(children.read_text(encoding="utf-8").split())


async def _learn(folder: Path, learner: NodeContext, calls: Calls) -> None:
    """A learner without a trainer, until the result of an attempt is recorded; `calls` is on from the first dispatch
    until then, and while the bank is read. Raises RuntimeError if there is no proof."""
    from common.records.store import Store, StoreThread
    from node.learner.algorithms.algorithm import named
    from node.learner.attempts.collector import Collector
    from node.learner.attempts.dispatcher import Dispatcher
    from node.learner.choosing import data
    from node.learner.choosing.matchmaker import Matchmaker, MatchmakerSettings
    from node.learner.replay.replay import Replay
    from node.learner.run import LearnerJournal, Run, RunDirectory
    from node.learner.settings import LearnerSettings, WarmStartSettings

    # 1. The bank is read.
    bank, directory = folder / "bank", RunDirectory(folder, "house")
    bank.mkdir()
    (bank / "train.jsonl.gz").write_bytes(gzip.compress(json.dumps(THEOREM).encode()))
    matching, warm_start = MatchmakerSettings(disprove_chance=0.0), WarmStartSettings(checkpoint="none is read")
    settings = LearnerSettings(bank=str(bank), verify_gather=0.1, matchmaker=matching, warm_start=warm_start)
    directory.open()
    calls.on = True
    loaded = data.load(settings, folder / "supervised")
    calls.on = False
    # 2. The parts of a learner begin.
    store = await StoreThread.open(directory.database)
    await store.call(Store.add_theorems, loaded.train)
    matchmaker = Matchmaker([row.theorem.name for row in loaded.train], settings.matchmaker, settings.seed)
    replay, journal = Replay(directory.database, settings.replay), LearnerJournal(learner, directory.metrics)
    run = Run(learner, settings, directory, store, loaded, matchmaker, replay, journal, named(settings))
    dispatcher = await Dispatcher.create(run)
    recorded = asyncio.Event()
    run.on_recorded.append(lambda _: recorded.set())
    collecting = asyncio.create_task(Collector(run).work())
    # 3. The attempt.
    calls.on = dispatcher.learning = True
    learner.spawn(dispatcher.work(), "dispatcher")
    async with asyncio.timeout(120):
        await recorded.wait()
    calls.on = False
    if not len(replay):
        raise RuntimeError(f"the theorem was not proved: {await store.call(Store.counts)}")
    # 4. Everything ends.
    learner.stopping.set()
    await learner.cancel_tasks()
    await collecting
    await store.close()
    directory.close()


async def tactic_way(folder: Path, calls: Calls) -> list[str]:
    """The modules that are called for one request for tactics, from the prover's policy to the network and back."""
    import torch

    from common.lean import Theorem
    from common.protocol.attempts import Attempt, Purpose
    from node.inference.serving import Serving
    from node.inference.settings import InferenceSettings
    from node.model import weights
    from node.model.config import ModelConfig
    from node.model.tokenizer import Tokenizer
    from node.model.transformer import Transformer
    from node.prover.policies.attempt_policy import AttemptPolicies
    from node.prover.policies.combined import ByTurns
    from node.prover.policies.sources import MeshSources
    from node.prover.settings import ProverSettings

    # 1. A tiny network in a file.
    states = ("p q : Prop\n⊢ p ∧ q → q ∧ p", "n : Nat\n⊢ n + 0 = n")
    tokenizer = Tokenizer.train(states * 20, 300)
    model = Transformer(ModelConfig(vocab_size=tokenizer.vocab_size, depth=1, width=32, hidden=64, context=128))
    model.reset(torch.Generator().manual_seed(1))
    weights.write(folder / "weights.safetensors", model.eval(), tokenizer, {"version": "1"})
    # 2. A prover's policy and an inference node on one broker; the second request is the one that counts.
    async with _mesh(folder) as join:
        prover, inference = await join("prover"), await join("inference")
        settings = InferenceSettings(weights=str(folder / "weights.safetensors"), device="cpu", threads=1)
        serving = asyncio.create_task(Serving(settings, inference).run())
        attempt = Attempt("a", "t", Theorem("t", "", "True"), Purpose.TRAIN, simulations=1, seed=1)
        sources = MeshSources(prover.bus, (), (), patience=60.0)
        policy = AttemptPolicies(prover.bus, ProverSettings(policy="inference"), sources).policy(attempt)
        assert not isinstance(policy, ByTurns)
        await policy.advise(states[0], 4, 1)  # the node is ready
        calls.on = True
        await policy.advise(states[1], 4, 1)
        calls.on = False
        inference.stopping.set()
        await serving
    return calls.end()


def trace() -> dict[str, list[str]]:
    """The modules on a theorem's way and on a tactic request's policy side. Starts a broker and pocket Lean."""
    import structlog

    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    found = {}
    for name, way in (("theorem", theorem_way), ("tactic_request", tactic_way)):
        with tempfile.TemporaryDirectory(prefix="proofmesh-house-") as folder:
            found[name] = asyncio.run(way(Path(folder), Calls()))
    return found


# --- what is printed -------------------------------------------------------------------------------------------------


def tables(counts: dict[str, Any]) -> Iterator[Any]:
    """The counts as tables and lines of text."""
    from rich.table import Table

    def table(title: str, head: str, rows: Iterable[Iterable[object]]) -> Table:
        made = Table(title=title, title_justify="left")
        for number, name in enumerate(head.split(", ")):
            made.add_column(name, justify="right" if number else "left")
        for row in rows:
            made.add_row(*map(str, row))
        return made

    # 1. Sizes by package.
    sizes = {**counts["packages"], "total": counts["total"]}
    shares = [(n, *(f"{v:.1%}" if isinstance(v, float) else v for v in each.values())) for n, each in sizes.items()]
    yield table(
        "Python outside tests (shares of all lines)", "package, files, lines, imports, # comments, blank", shares
    )
    # 2. Files with one importer.
    for key, words in (("one_importer", "in all"), ("one_importer_small", f"under {SMALL} lines")):
        each = counts[key]
        where = f"{each['importer_in_same_room']} of them into the same room"
        yield f"Files with exactly one importer, {words}: {each['files']} with {each['lines']} lines, {where}"
    # 3. Rooms.
    small = Counter(str(Path(*name.split(".")[:-1])) for name in counts["one_importer_small"]["importer_of"])
    rows = [(n, e["doors"], e["lines"], e["floors"], small[n] or "") for n, e in counts["rooms"].items()]
    full = [row for row in rows if row[1] > DOORS]
    yield table("Rooms", f"room, doors, lines, floors, one importer and under {SMALL} lines", rows)
    yield f"{len(full)} of {len(rows)} rooms have more than {DOORS} doors: {', '.join(f'{n} {d}' for n, d, *_ in full)}"
    # 4. The modules on the two ways, by room.
    for way, modules in counts.get("trace", {}).items():
        by_room: dict[str, list[str]] = defaultdict(list)
        for name in modules:
            by_room[name.rpartition(".")[0]].append(name.rpartition(".")[2])
        lines = [f"  {room} {len(each)}: {', '.join(each)}" for room, each in by_room.items()]
        yield "\n".join([f"{len(modules)} modules on the way of a {way.replace('_', ' ')}", *lines])


def main() -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.docs.house", description=__doc__.partition("\n")[0])
    parser.add_argument("--trace", action="store_true", help="count modules on two ways in a run, too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    counts = static() | ({"trace": trace()} if options.trace else {})
    if options.json:
        print(json.dumps(counts, indent=2))
        return 0
    for each in tables(counts):
        Console().print(each, highlight=False, soft_wrap=isinstance(each, str))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
