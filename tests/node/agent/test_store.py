"""What an agent's database keeps, and what follows from it; difficulties, the order of repositories, tables."""

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest

from common.output.terminal import Console
from common.report.table import Table
from node.agent.agent import write_patches
from node.agent.data import with_held_out
from node.agent.report import Report, best_patches, lifelong, show, summary
from node.agent.repositories import EASY, HARD, MEDIUM, UNPROVED, Thresholds, difficulty, digest_of, ordered, thresholds
from node.agent.settings import AgentError, AgentSettings
from node.agent.store import AgentStore, Attempt, Evaluation, FileRow, Patch, Phase, TheoremRow

THEOREM = TheoremRow("A.lean", 3, "t", "theorem", "theorem t : True", "trivial", 1, 2.7, "")
ATTEMPT = Attempt("A.lean", 3, 2, "t", "⊢ True", "filled", "", "trivial", "", "search", 0.5, 3)


@pytest.fixture
def store(tmp_path):
    opened = AgentStore(tmp_path)
    yield opened
    opened.close()


def add(store, folder: Path, commit: str = "c1"):
    return store.repository(str(folder), commit, folder, own=True, name="name")


def test_a_repository_is_known_by_its_source_and_commit_a_trace_replaces_the_old_one_and_training_marks_it(
    store, tmp_path
):
    first, second = add(store, tmp_path), add(store, tmp_path, "c2")
    assert add(store, tmp_path) == first
    assert (first.name, second.name) == ("name", "name-2")
    repository = add(store, tmp_path)
    rows = [replace(THEOREM, line=line, name=f"t{line}", held_out=line == 2) for line in (1, 2, 3)]
    rows += [replace(THEOREM, line=4, difficulty=None, problem="it uses `sorry`"), replace(THEOREM, line=5, steps=0)]
    for _ in range(2):
        store.keep_trace(repository.number, "4.35.0", [FileRow("A.lean", "d")], rows, 1.0, {"steps": 3})
    found = store.theorems(repository.number)
    assert [each.line for each in found] == [1, 2, 3, 4, 5]
    assert [each.held_out for each in found] == [False, True, False, False, False]
    store.keep_training(repository.number, 2.0, {"network": "n"})
    assert store.trained(repository.number) == 2
    assert store.stage(repository.number, "train").details == {"network": "n"}


def held(rows, share):
    return [each.name for each in with_held_out(rows, share) if each.held_out]


def test_theorems_are_held_out_by_their_names_and_a_few_always_give_one():
    rows = [replace(THEOREM, name=f"t{number}") for number in range(200)]
    assert 8 <= len(held(rows, 10)) <= 35 and held(rows, 10) == held(rows[::-1], 10)[::-1]
    assert len(held(rows[:5], 1000)) == 1
    assert held(rows[:3], 2) == [] and held(rows, 0) == []
    assert held([replace(each, problem="it uses `sorry`") for each in rows], 2) == []


def test_the_patch_with_most_proofs_is_the_best_one_and_files_are_written_once(store, tmp_path):
    repository, file = add(store, tmp_path), tmp_path / "A.lean"
    file.write_text("old")
    old = digest_of(b"old")
    second = replace(ATTEMPT, line=9)
    left = replace(second, state="open", script="")
    both, one = Patch("A.lean", old, b"two", "-o\n+t\n"), Patch("A.lean", old, b"one", "-o\n")
    store.keep_filled(repository.number, Phase.BASELINE, "tactics", [ATTEMPT, second], both)
    store.keep_filled(repository.number, Phase.NETWORK, "own", [ATTEMPT, left], one)
    (best,) = best_patches(store, repository)
    assert best.new == b"two"
    assert summary(store.attempts(repository.number, Phase.NETWORK)) == "2 gaps: 1 filled, 1 open; 1 s of search"
    assert write_patches(repository, [best]) == [] and file.read_text() == "two"
    assert write_patches(repository, [best]) == []
    file.write_text("somebody's")
    (problem,) = write_patches(repository, [best])
    assert "has changed since" in problem and file.read_text() == "somebody's"


def test_forgetting_and_backward_transfer_follow_from_the_accuracies():
    accuracies = {(0, 0): 0.5, (1, 0): 0.6, (2, 0): 0.4, (1, 1): 0.3, (2, 1): 0.5, (2, 2): 0.9}
    rows = [Evaluation(training, data, 1.0 - value, value, 100) for (training, data), value in accuracies.items()]
    found = lifelong(rows, [0, 1, 2])
    assert found.forgetting == pytest.approx(((0.6 - 0.4) + (0.3 - 0.5)) / 2)
    assert found.backward_transfer == pytest.approx((-0.1 + 0.2) / 2)
    assert found.loss_change == pytest.approx((0.1 - 0.2) / 2) and lifelong(rows, [2]) is None


def test_files_that_are_no_agents_are_told(tmp_path):
    with pytest.raises(AgentError, match="has no agent"):
        AgentStore(tmp_path, read_only=True)
    (tmp_path / "agent.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(AgentError, match="damaged"):
        AgentStore(tmp_path)


# --- difficulties, classes and the order of repositories --------------------------------------------------------------
def test_percentiles_of_difficulty_part_theorems_and_repositories_are_ordered_by_them():
    assert difficulty(3) == pytest.approx(math.e**3)
    assert math.isfinite(difficulty(100_000)) and difficulty(100_000) > difficulty(699)
    parts = thresholds([difficulty(steps) for steps in (1, 1, 1, 2, 2, 3, 5, 9, 800)])
    found = [parts.category(difficulty(steps)) for steps in (1, 2, 3, 5, 9, 800)]
    assert found == [EASY, MEDIUM, MEDIUM, HARD, HARD, HARD] and parts.category(None) == UNPROVED
    assert thresholds([]).category(difficulty(9)) == EASY
    # A theorem that is a threshold is on its lower side.
    parts = thresholds([difficulty(2)] * 7)
    assert parts.category(difficulty(2)) == EASY and parts.category(difficulty(3)) == HARD
    parts = Thresholds(difficulty(1), difficulty(2))
    one, two = difficulty(1), difficulty(2)
    found = {4: [one, difficulty(9), None], 7: [one, one, difficulty(30)], 9: [two], 11: [None]}
    assert ordered(found, parts, "easy") == [7, 4, 9, 11] and ordered(found, parts, "mean") == [9, 4, 7, 11]
    assert ordered(found, parts, "given") == [4, 7, 9, 11]


def test_an_agent_may_go_on_with_other_threads_and_minutes_and_not_with_another_network():
    settings = AgentSettings()
    quicker = replace(settings, learning=replace(settings.learning, threads=7, minutes=3.0))
    larger = replace(settings, learning=replace(settings.learning, length=2 * settings.learning.length))
    assert quicker.fixed() == settings.fixed() != larger.fixed()


# --- tables -----------------------------------------------------------------------------------------------------------
COLUMNS = ("", "repository", "theorems", "proof or reason")
ROW = ("1", "first-project", "12", "constructor; exact h.2; exact h.1; and so on for many more tactics than fit")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_tables_fit_into_the_page(width: int) -> None:
    out = io.StringIO()
    table = Table(COLUMNS, "Repositories, in order", ("a note",), unfolded=True).fill([ROW, ("2", "other", "-", "")])
    show(Report([table]), Console(file=out, width=width, highlight=False))
    said = out.getvalue()
    assert max(map(len, said.splitlines())) <= width
    assert "first-project" in said and "a note" in said, "no word is folded"
    assert ("repository: first-project" in said) == (width < 200)
