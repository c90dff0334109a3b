"""The order of an agent's stages, without Lean and without torch: traces are those of an earlier run, and networks are
names. After a kill at any point the agent ends with what it would have had, and trains on nothing twice.

With real Lean and a real network: tests/node/mesh/test_agent.py.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from common.life import faults
from node.agent import agent as agents
from node.agent.agent import Agent
from node.agent.data import DataFiles, check_source, write_repository
from node.agent.repositories import open_source
from node.agent.settings import AgentError, AgentSettings, FillingSettings, LearningSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.records import TracedBlock, TracedFile, TracedStep, TracedTheorem
from node.lean.trace.session import plan
from node.lean.trace.tracing import Tracer

pytestmark = pytest.mark.process  # git is asked for commits

START = [{"theorem": f"s{n}", "state": "⊢ True", "tactic": "trivial", "remaining_steps": 1} for n in range(30)]

PLACE = (1, 0)

STEPS = {"easy": [1, 1, 1, 1, 2, 1], "hard": [3, 4, 2]}
"""By repository, the numbers of steps of its proofs."""


def theorem(name: str, steps: int) -> TracedTheorem:
    """A theorem whose proof has so many steps."""
    done = (
        TracedStep(f"t{left}", PLACE, PLACE, ("⊢ p",), f"⊢ {name} {left}", (), (), -1, 0, left)
        for left in range(steps, 0, -1)
    )
    block = TracedBlock(PLACE, PLACE, (), tuple(done))
    return TracedTheorem(name, "theorem", f"theorem {name} : p", PLACE, PLACE, blocks=(block,))


@dataclass
class Learning:
    """Takes the place of `node.agent.learning`: a network is the names of what it was trained on."""

    trained: list[tuple[str, list[str]]] = field(default_factory=list)
    """Each training: the new network, and the old data in it."""

    def train_start(self, settings: AgentSettings, folder: Path, files: DataFiles) -> Path:
        return self._network(folder, "start", [])

    def train_on(
        self, settings: AgentSettings, folder: Path, run: str, start: Path, new: DataFiles, old: Sequence[DataFiles]
    ) -> tuple[Path, int]:
        assert start.is_file() and new.has_train
        mixed = [each.train.parent.name for each in old]
        return self._network(folder, f"{start.name}+{new.train.parent.name}", mixed), 7

    def measure(
        self, settings: AgentSettings, folder: Path, checkpoint: Path, files: Mapping[int, DataFiles]
    ) -> dict[int, Any]:
        measured = SimpleNamespace(loss=float(len(checkpoint.name)), accuracy=0.5, tokens=9)
        return {number: measured for number, each in files.items() if each.has_valid}

    def _network(self, folder: Path, name: str, old: list[str]) -> Path:
        self.trained.append((name, old))
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(name)
        return folder / name


class Killed(BaseException):
    """The process has died here."""


@dataclass
class Desk:
    """A folder with two repositories, and the agents that work on them."""

    folder: Path
    learning: Learning
    kill_at: int = 0
    """The number of the point, in the order in which they are reached, at which the agent dies; 0: nowhere."""
    reached: int = 0
    said: list[str] = field(default_factory=list)

    def reach(self, name: str) -> None:
        """Takes the place of `faults.reach`, which would kill this process."""
        self.reached += 1
        if self.reached == self.kill_at:
            raise Killed(name)

    def agent(self, out: str, start_data: tuple[str, ...] = (), **changes: Any) -> Agent:
        """An agent on both repositories, the harder one first."""
        projects = tuple(str(self.folder / name) for name in ("hard", "easy"))
        changes |= {"learning": LearningSettings(start_data=start_data, held_out=3), "trace_jobs": 1}
        settings = AgentSettings(projects, self.folder / out, fill=False, sandbox=False, **changes)
        self._store_traces(settings)
        return Agent(settings, self.said.append)

    def killed(self, out: str, number: int) -> bool:
        """Whether an agent dies at the point with this number; else it has finished."""
        self.kill_at, self.reached = number, 0
        try:
            assert self.agent(out).run() == 0
        except Killed:
            return True
        finally:
            self.kill_at = 0
        return False

    def rows(self, out: str) -> dict[str, list[Any]]:
        """Everything in an agent's database but its times, and its folder's name."""
        with closing(sqlite3.connect(self.folder / out / "agent.sqlite")) as db:
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}
        rows["stages"] = [(repository, stage, details) for repository, stage, _, details in rows["stages"]]
        return msgspec.json.decode(msgspec.json.encode(rows).replace(f"/{out}/".encode(), b"/OUT/"))

    def _store_traces(self, settings: AgentSettings) -> None:
        """The traces of an earlier run, which the agent finds."""
        for name, steps in STEPS.items():
            group = open_source(str(self.folder / name), {}).group
            tracer = Tracer(LeanToolchain.pocket(), group.root)
            (work,) = plan(group, tracer, settings.out / "repositories" / name / "trace")
            key = work.key(work.file.read_text())
            theorems = tuple(theorem(f"{name}{number}", count) for number, count in enumerate(steps))
            work.result_file.parent.mkdir(parents=True, exist_ok=True)
            work.result_file.write_bytes(msgspec.json.encode(TracedFile(work.name, theorems=theorems, key=key)))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in STEPS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "A.lean").write_text(f"-- {name}\n")
    (tmp_path / "start.jsonl").write_text("".join(json.dumps(row) + "\n" for row in START))
    desk = Desk(tmp_path, Learning())
    monkeypatch.setitem(__import__("sys").modules, "node.agent.learning", desk.learning)
    monkeypatch.setattr(faults, "reach", desk.reach)
    monkeypatch.setattr(agents, "_toolchain", lambda *_: LeanToolchain.pocket())  # finding it starts Lean each time
    return desk


def test_a_killed_agent_ends_with_what_it_would_have_had_and_trains_on_nothing_twice(desk: Desk) -> None:
    assert not desk.killed("whole", 0)
    whole, trained = desk.rows("whole"), list(desk.learning.trained)
    assert trained == [("start", []), ("start+easy", ["start"]), ("start+easy+hard", ["start", "easy"])]
    number = 1
    while desk.killed(f"killed-{number}", number):
        desk.learning.trained.clear()
        assert desk.agent(f"killed-{number}").run() == 0
        assert desk.rows(f"killed-{number}") == whole
        assert desk.learning.trained == trained[len(trained) - len(desk.learning.trained) :], "the rest, in order"
        number += 1
    assert number > len(whole["stages"]), "each end of a stage, and each traced file"


def test_what_an_agent_records_follows_from_the_traces(desk: Desk) -> None:
    assert desk.agent("out", (f"transitions:{desk.folder / 'start.jsonl'}",)).run() == 0
    rows = desk.rows("out")
    stages = {(repository, stage): json.loads(details) for repository, stage, details in rows["stages"]}
    names = {number: (name, place) for number, name, *_, place in rows["repositories"]}
    assert set(names.values()) == {("easy", 1), ("hard", 2)}
    (easy,) = (number for number, (name, _) in names.items() if name == "easy")
    assert stages[easy, "trace"] == {"theorems": len(STEPS["easy"]), "steps": sum(STEPS["easy"])}
    assert stages[easy, "train"]["steps"] == 7 and stages[easy, "train"]["network"].endswith("start+easy")
    files = DataFiles.below(desk.folder / "out" / "repositories" / "easy")
    written = [json.loads(line) for file in (files.train, files.valid) for line in file.read_text().splitlines()]
    assert len(written) == sum(STEPS["easy"])
    assert {row["theorem"] for row in written} == {f"A.lean:easy{number}" for number in range(len(STEPS["easy"]))}
    assert files.has_valid and len(rows["trained_in"]) < len(STEPS["easy"]) + len(STEPS["hard"])


def test_an_agent_goes_on_only_with_its_own_settings_and_alone_and_takes_further_repositories(desk: Desk) -> None:
    assert desk.agent("out").run() == 0
    before = len(desk.learning.trained)
    with pytest.raises(AgentError, match=r"other settings \(seed was 0, is 3\); use these, or name another --out"):
        desk.agent("out", seed=3).run()
    with desk.agent("out")._owned(), pytest.raises(AgentError, match="another agent is running in this folder"):
        desk.agent("out").run()
    assert desk.agent("out", file_seconds=9.0).run() == 0, "limits may change"
    assert len(desk.learning.trained) == before, "all is done"


def test_what_cannot_be_used_is_skipped_in_one_line_and_without_the_rest_or_a_policy_there_is_an_error(
    desk: Desk,
) -> None:
    (desk.folder / "empty").mkdir()
    agent = desk.agent("out")
    agent.settings.projects = (str(desk.folder / "nowhere"), *agent.settings.projects, str(desk.folder / "empty"))
    assert agent.run() == 1
    skipped = [line for line in desk.said if line.startswith("skipped: ")]
    told = [line.partition(": ")[2].rpartition("/")[2] for line in skipped]
    assert told == ["nowhere: no such file or folder", "empty: no .lean file in it"]
    assert agent.problems == [line.removeprefix("skipped: ") for line in skipped]
    alone = desk.agent("alone")
    alone.settings.projects = (str(desk.folder / "nowhere"),)
    with pytest.raises(AgentError, match="nothing to learn from"):
        alone.run()
    agent = desk.agent("out")
    agent.settings.fill, agent.settings.filling = True, FillingSettings(policy="own:{network},nonsense:")
    with pytest.raises(AgentError, match=r"--policy own:\{network\},nonsense:: "):
        agent.run()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("text:bank", "--start-data text:bank: has no transitions; name transitions:WHERE"),
        ("transitions:{folder}/bad.jsonl", "row 1: "),
    ],
)
def test_data_that_is_no_transitions_is_refused(tmp_path: Path, source: str, reason: str) -> None:
    (tmp_path / "bad.jsonl").write_text('{"state": 1, "tactic": []}\n')
    with pytest.raises(AgentError) as refused:
        check_source(source.format(folder=tmp_path))
    assert reason in str(refused.value) and "\n" not in str(refused.value)


def test_a_folder_without_git_is_known_by_its_files_also_after_the_agent_has_written_proofs(tmp_path: Path) -> None:
    file = tmp_path / "A.lean"
    file.write_text("theorem a : True := by sorry\n")
    before = open_source(str(tmp_path), {})
    old = agents.digest_of(file.read_bytes())
    file.write_text("theorem a : True := by trivial\n")
    written = {agents.digest_of(file.read_bytes()): old}
    assert open_source(str(tmp_path), written).commit == before.commit != open_source(str(tmp_path), {}).commit
    assert before.own and before.commit.startswith("files:") and before.name == tmp_path.name


def test_transitions_of_held_out_theorems_are_not_trained_on(tmp_path: Path) -> None:
    names = ("file", "theorem", "kind", "tactic")
    rows = [("A.lean", "a", "theorem", "one"), ("B.lean", "a", "theorem", "two"), ("A.lean", "", "example", "three")]
    steps = [dict(zip(names, row, strict=True)) | {"state": "⊢ p", "remaining_steps": 1} for row in rows]
    (tmp_path / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in steps))
    files = write_repository(tmp_path, tmp_path, {("B.lean", "a")})
    train, valid = ([json.loads(line) for line in file.read_text().splitlines()] for file in (files.train, files.valid))
    assert [(row["theorem"], row["tactic"]) for row in train] == [("A.lean:a", "one"), ("A.lean:example", "three")]
    assert [(row["theorem"], row["tactic"]) for row in valid] == [("B.lean:a", "two")]
    files.remove()
    assert not (files.has_train or files.has_valid)
