"""The conjectures of a round: from its seeds to what Lean is to see, also by a run that was killed on the way."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.stp import network, rounds
from node.stp.network import Question
from node.stp.records import Fate, Output, Stage
from node.stp.rounds import draw_seeds, make_conjectures, most_conjectures
from node.stp.work import Work
from tests.node.stp.tiny_run import GIVEN, TEST, TRAIN
from tests.node.stp.works import tiny_plan, work_of

Writer = Callable[..., Any]


def _writer(asked: list[tuple[str, int]], fail_after: int = 1_000) -> Writer:
    """A network's answers, which depend on seed and number alone: what a run sees of inference nodes."""

    async def conjecture(bus: object, question: Question) -> list[Output]:
        if len(asked) >= fail_after:
            raise ConnectionError("killed here")
        asked.append((question.seed.theorem.name, question.rng_seed))
        number = question.rng_seed % 1000
        texts = [
            f"example (a b : Nat) : a + b + {number} = {number} + (a + b)",  # new
            f"example (x : Nat) : x + {TRAIN[0].conclusion.split()[2]} = 5 + x",  # a statement to be proved
            "example (n : Nat) : n + 8 = 8 + n",  # one that is measured on
            "exampl",
        ]
        return [Output(text, complete=True, tokens=9) for text in texts[: question.samples]]

    return conjecture


def _work(folder: Path, **conjecturer: object) -> Work:
    work = work_of(tiny_plan(folder, conjecturer={"empty_lemma": 1.0, "lemma_share": 1.0, **conjecturer}))
    work.store.begin_round(1, 1, time.time())
    return work


def _told(work: Work) -> list[tuple[str, str, str]]:
    return [(each.name, each.output, each.fate) for each in work.store.conjectures(1)]


def test_there_are_as_many_conjectures_as_unproved_statements_times_the_share(tmp_path: Path) -> None:
    work = _work(tmp_path, most=0)
    settings = work.settings.conjecturer
    assert most_conjectures(work) == len(TRAIN)
    settings.share = 0.4
    assert most_conjectures(work) == 3
    settings.most = 50
    assert most_conjectures(work) == 50


async def test_expert_iteration_asks_for_none(tmp_path: Path) -> None:
    work = _work(tmp_path, most=0, share=0.0)
    draw_seeds(work, 1)
    await make_conjectures(work, 1, weights=1)
    row = work.store.round(1)
    assert row is not None and row.stage is Stage.CONJECTURED
    assert work.store.seeds_of(1) == [] and work.store.conjectures(1) == []


async def test_seeds_are_given_proofs_until_statements_are_solved(tmp_path: Path) -> None:
    work = _work(tmp_path, most=6)
    draw_seeds(work, 1)
    seeds = work.store.seeds_of(1)
    assert {each.theorem for each in seeds} == set(GIVEN)
    assert {each.lemma.name for each in seeds} == {"Nat.add_comm", "true"} and len(seeds) == 2 * len(GIVEN)
    draw_seeds(work, 1)
    assert work.store.seeds_of(1) == seeds


async def test_what_is_known_is_no_conjecture_and_what_is_measured_on_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = _work(tmp_path, most=12)
    monkeypatch.setattr(network, "conjecture", _writer([]))
    draw_seeds(work, 1)
    await make_conjectures(work, 1, weights=1)
    fates: dict[str, set[str]] = {}
    for each in work.store.conjectures(1):
        fates.setdefault(each.output.partition(") : ")[2][:1] or each.output, set()).add(each.fate)
    assert fates["n"] == {Fate.KNOWN}, f"{TEST[0].signature} is measured on"
    assert fates["x"] == {Fate.KNOWN} and fates["exampl"] == {Fate.REFUSED}
    assert Fate.NEW in fates["a"]


async def test_a_run_that_was_killed_asks_for_what_is_missing_and_makes_the_same_conjectures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "BLOCK", 3)
    calm = _work(tmp_path, most=6)
    draw_seeds(calm, 1)
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(network, "conjecture", _writer(asked))
    await make_conjectures(calm, 1, weights=1)
    assert len(asked) == 8
    undisturbed = _told(calm)
    calm.store.close()

    for file in calm.directory.glob("stp.sqlite*"):
        file.unlink()
    killed = _work(tmp_path, most=6)
    draw_seeds(killed, 1)
    before: list[tuple[str, int]] = []
    monkeypatch.setattr(network, "conjecture", _writer(before, fail_after=4))
    with pytest.raises(ConnectionError):
        await make_conjectures(killed, 1, weights=1)
    assert killed.store.conjectures(1) == []
    after: list[tuple[str, int]] = []
    monkeypatch.setattr(network, "conjecture", _writer(after))
    await make_conjectures(killed, 1, weights=1)
    assert after == asked[3:], "the first block was recorded"
    assert _told(killed) == undisturbed
