"""The runs that the monitor shows: each folder with a run in it, and the run of the mesh that it watches.

Everything is read from a run's own files, so a page that opens late, is loaded again, or shows a run that is over has
all of it. What only a mesh knows (its nodes now, rates) comes from `MeshState`. All of this may run in a thread.
"""

from __future__ import annotations

import enum
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from common import curves
from common.curves import ABOUT, METRICS, About, Evaluated, Tail, read_about
from common.files import NOT_JSON
from common.output.command import UserError
from common.protocol.messages import LogRecord, Message, Point
from common.records import readers, searches
from common.watch import nodes, spans
from common.watch.logs import LOGS, LogFiles
from common.watch.nodes import NodeFiles, NodeSample
from ui.mesh_state import MeshState

Answer = TypeVar("Answer", bound=Message)

SUMMARY = "summary.json"
OWNER = "owner.json"
SELF_PLAY = "stp.sqlite"
EVALUATION, ATTEMPTS, RESULTS = "evaluation.json", "attempts.jsonl", "results.json"
"""Of `proofmesh eval`."""

POINTS = 2000
"""Most points of a curve that are kept: more than a chart has pixels across."""

NODE_SAMPLES = 1000
"""Most samples of a node that are kept."""


class Kind(enum.StrEnum):
    """What wrote a run's folder."""

    LEARNER = "learner"
    TRAINING = "training"
    SELF_PLAY = "self-play"
    EVALUATION = "evaluation"
    MESH = "mesh"
    """A mesh whose folder is not on this machine."""


class NotHere(UserError):
    """There is no such run, or it has no such data on this machine. The message says which, and where it is."""


def kind_of(folder: Path) -> Kind | None:
    """What wrote a folder; None: it is no run, or its name is none that a folder can have."""
    marks = {
        readers.DATABASE: Kind.LEARNER,
        SELF_PLAY: Kind.SELF_PLAY,
        ABOUT: Kind.TRAINING,
        EVALUATION: Kind.EVALUATION,
    }
    return next((kind for file, kind in marks.items() if os.path.isfile(folder / file)), None)  # noqa: PTH113


class Series:
    """The points of a metrics file, thinned; `read` takes what is new."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._points: list[Point] = []
        self._lock = threading.Lock()

    def read(self) -> list[Point]:
        with self._lock:
            news = self._tail.read()
            self._points = thinned(news.points if news.again else self._points + news.points)
            return self._points


def thinned(points: list[Point]) -> list[Point]:
    """At most POINTS points: every second one is dropped until they are few enough, points of evaluations last."""
    while len(points) > POINTS:
        steps = [point for point in points if not _evaluation(point)]
        few = len(steps) < len(points) // 2
        dropped = set(map(id, points[1:-1:2] if few else steps[1:-1:2]))
        points = [point for point in points if id(point) not in dropped]
    return points


def _evaluation(point: Point) -> bool:
    return any(name.startswith(("valid_", "eval_")) for name in point.values)


class NodesSeries:
    """The history of a run's nodes, thinned by node; `read` takes what is new."""

    def __init__(self, folder: Path) -> None:
        self._files = NodeFiles(folder)
        self._samples: dict[str, list[NodeSample]] = {}
        self._lock = threading.Lock()

    def read(self) -> dict[str, list[NodeSample]]:
        """The samples of each node, the oldest first."""
        with self._lock:
            for sample in self._files.read():
                kept = self._samples.setdefault(sample.node, [])
                kept.append(sample)
                if len(kept) > NODE_SAMPLES:
                    del kept[1:-1:2]
            return {node: list(samples) for node, samples in self._samples.items()}


class Errors:
    """The last error in the log of each node of a run; `read` takes what is new."""

    def __init__(self, folder: Path) -> None:
        self._files = LogFiles(folder / LOGS)
        self._last: dict[str, LogRecord] = {}
        self._lock = threading.Lock()

    def read(self) -> dict[str, LogRecord]:
        with self._lock:
            for record in self._files.read(containing='"error"'):
                if record.level == "error":
                    self._last[record.node_id] = record
            return dict(self._last)


class Ask(Protocol):
    """Asks nodes of a mesh from any thread."""

    def __call__(self, subject: str, message: Message, reply: type[Answer]) -> Answer:
        """Raises BusError."""


class _Total(msgspec.Struct):
    statements: int
    """Decided ones."""
    any: int
    """Solved in at least one pass."""


class _Results(msgspec.Struct):
    """What `proofmesh eval` writes at its end."""

    total: _Total


@dataclass
class Run:
    """One run: its folder, and the mesh's state if the monitor watches it."""

    name: str
    kind: Kind
    folder: Path | None
    """None: it is not on this machine."""
    mesh: MeshState | None = None
    connected: bool = False
    """Whether the broker of the mesh answers."""
    ask: Ask | None = None
    """Asks a node of the mesh; None: no broker is connected."""
    _series: Series | None = field(default=None, init=False)
    _nodes: NodesSeries | None = field(default=None, init=False)
    _errors: Errors | None = field(default=None, init=False)

    def path(self, file: str) -> Path:
        """A file of the run's folder, which may not exist. Raises NotHere without a folder."""
        if self.folder is None:
            raise NotHere(
                f"run {self.name}: its files are on the machine of its learner, not here; start the monitor there, "
                f"with `proofmesh ui --run {self.name}`"
            )
        return self.folder / file

    @property
    def records(self) -> Path:
        """The database of its records. Raises NotHere if it has none."""
        path = self.path(readers.DATABASE)
        if not path.is_file():
            raise NotHere(f"run {self.name} has no attempts: it is a {self.kind} run")
        return path

    def points(self) -> list[Point]:
        """The points of its curves."""
        if self.folder is None:
            return list(self.mesh.points) if self.mesh is not None else []
        if self._series is None:
            self._series = Series(self.folder / METRICS)
        return self._series.read()

    def evaluations(self) -> list[dict[str, Any]]:
        """Its evaluations, the oldest first, as `Evaluated`; from a mesh only, without levels and families. That of an
        evaluation which has ended has its numbers only."""
        if self.kind is Kind.EVALUATION:
            return self._result()
        if self.folder is None:
            found = [] if self.mesh is None else list(self.mesh.evaluations.values())
            return sorted(found, key=lambda each: float(each["time"]))
        try:
            evaluated = curves.read_evaluations(self.folder / curves.EVALUATIONS)
        except OSError as error:
            raise NotHere(f"{self.folder / curves.EVALUATIONS}: {error.strerror}") from error
        return [_shown(each) for each in sorted(evaluated, key=lambda each: each.time)]

    def _result(self) -> list[dict[str, Any]]:
        path = self.path(RESULTS)
        try:
            found = msgspec.json.decode(path.read_bytes(), type=_Results)
        except (OSError, *NOT_JSON):
            return []
        counts = {"statements": found.total.statements, "solved": found.total.any, "undecided": 0}
        return [{"label": self.name, "step": 0, "time": path.stat().st_mtime} | counts]

    def node_history(self) -> dict[str, list[NodeSample]]:
        """The samples of each node, the oldest first; none without a folder."""
        if self.folder is None:
            return {}
        if self._nodes is None:
            self._nodes = NodesSeries(self.folder)
        return self._nodes.read()

    def errors(self) -> dict[str, LogRecord]:
        """The last error of each node: from the logs in its folder, else as the mesh has told it."""
        if self.folder is None:
            views = [] if self.mesh is None else self.mesh.views()
            return {view.info.node_id: view.error for view in views if view.error is not None}
        if self._errors is None:
            self._errors = Errors(self.folder)
        return self._errors.read()

    def sick(self) -> list[dict[str, Any]]:
        """The nodes of its mesh that a person should look at, with reasons; none without a mesh."""
        return [] if self.mesh is None else self.mesh.sick(time.time())

    def summary(self) -> dict[str, Any] | None:
        """The content of summary.json; None while the run goes on, or if it is not readable."""
        if self.folder is None:
            return None
        try:
            return msgspec.json.decode((self.folder / SUMMARY).read_bytes(), type=dict[str, Any])
        except (OSError, *NOT_JSON):
            return None

    def about(self) -> About | None:
        """What a training run is."""
        return read_about(self.folder) if self.folder is not None else None

    def versions(self) -> dict[str, str]:
        """A text for each kind of data that changes whenever the data does, so that a page asks again only then."""
        found = {}
        if self.folder is not None:
            for name, files in FILES.items():
                found[name] = " ".join(_state(self.folder / file) for file in files)
            found["logs"] = " ".join(_state(path) for path in sorted((self.folder / LOGS).glob("*.log")))
        if self.mesh is not None:
            state = self.mesh
            found["nodes"] = f"{found.get('nodes', '')} {state.ticks}"
            if self.folder is None:
                heard = {"points": state.points, "evaluations": state.evaluations, "logs": state.logs}
                found |= {name: f"{len(kept)} {state.heard}" for name, kept in heard.items()}
        return {name: hashlib.blake2b(text.encode(), digest_size=6).hexdigest() for name, text in found.items()}


FILES = {
    "records": (
        readers.DATABASE,
        f"{readers.DATABASE}-wal",
        SELF_PLAY,
        f"{SELF_PLAY}-wal",
        EVALUATION,
        ATTEMPTS,
    ),
    "searches": (searches.FILE, f"{searches.FILE}-wal"),
    "points": (METRICS, ABOUT, SUMMARY),
    "evaluations": (curves.EVALUATIONS, SUMMARY),
    "nodes": (nodes.FILE,),
    "spans": (spans.FILE,),
}
"""The files of each kind of data, for `Run.versions`."""


def _state(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "-"
    return f"{status.st_size}.{status.st_mtime_ns}"


def _shown(evaluated: Evaluated) -> dict[str, Any]:
    content: dict[str, Any] = msgspec.to_builtins(evaluated)
    return content | {"rate": evaluated.solve_rate}


class Runs:
    """All runs of a folder, and the watched mesh's."""

    def __init__(self, directory: Path | None, watched: Run | None = None) -> None:
        self.directory = directory
        self.watched = watched
        self._known: dict[str, Run] = {}

    def names(self) -> list[str]:
        """The names of all runs, the watched one first, then the one that changed last."""
        found = sorted(self._folders(), key=lambda folder: -changed_at(folder))
        first = [self.watched.name] if self.watched is not None else []
        return list(dict.fromkeys([*first, *(folder.name for folder in found)]))

    def get(self, name: str) -> Run:
        """The run of this name. Raises NotHere."""
        if self.watched is not None and name == self.watched.name:
            self._look(self.watched)
            return self.watched
        # Looked at directly: with 500 runs, to walk through all folders for each of them takes 20 seconds.
        inside = name == Path(name).name and name not in ("", "..") and "\0" not in name
        folder = self.directory / name if self.directory is not None and inside else None
        kind = kind_of(folder) if folder is not None else None
        if folder is None or kind is None:
            raise NotHere(f"no run {name} in {self.directory or 'any folder'}")
        known = self._known.get(name)
        if known is None or known.kind is not kind:
            known = self._known[name] = Run(name, kind, folder)
        return known

    def _look(self, run: Run) -> None:
        """Find the watched run's folder. One of the same name may be another run's, left by a mesh that was here."""
        if run.folder is not None or self.directory is None or run.mesh is None:
            return
        folder = self.directory / run.name
        if kind_of(folder) is Kind.LEARNER and _belongs(folder, run.mesh):
            run.folder, run.kind = folder, Kind.LEARNER

    def _folders(self) -> Iterator[Path]:
        if self.directory is None:
            return
        try:
            yield from (folder for folder in sorted(self.directory.iterdir()) if kind_of(folder) is not None)
        except OSError:
            return


def _belongs(folder: Path, mesh: MeshState) -> bool:
    """Whether a running learner of the mesh owns a folder of this machine."""
    try:
        owner = msgspec.json.decode((folder / OWNER).read_bytes(), type=dict[str, Any])
    except (OSError, *NOT_JSON):
        return False
    learners = [node.info for node in mesh.views() if node.info.role == "learner"]
    return any(owner.get("pid") == info.pid and owner.get("host") == info.host for info in learners)


def changed_at(folder: Path) -> float:
    """Unix time of a run's latest change."""
    times = []
    for file in (*FILES["records"], METRICS, SUMMARY):
        try:
            times.append((folder / file).stat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)
