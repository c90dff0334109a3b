"""The shelf of versions and the engines behind it, without threads or messages."""

import gc
import weakref

from common.protocol.messages import PinnedWeights, WeightsState
from node.inference.engine.engine import Engine, EngineSet, Job, JobAnswer, WeightsId
from node.inference.settings import EngineSettings
from node.inference.weights import Shelf
from tests.node.model.tiny import tiny_weights

SETTINGS = EngineSettings(slots=2, cells=4, new_tokens=8)
V1, V2, V3 = (WeightsId(version, f"d{version}") for version in (1, 2, 3))


def state(latest: WeightsId, *pinned: WeightsId) -> WeightsState:
    pins = tuple(PinnedWeights(version=pin.version, digest=pin.digest, object_name=f"o{pin.version}") for pin in pinned)
    return WeightsState(version=latest.version, digest=latest.digest, object_name=f"o{latest.version}", pinned=pins)


def test_the_old_version_serves_until_the_new_one_is_loaded() -> None:
    shelf = Shelf(limit=3)
    shelf.announce(state(V1))
    assert not shelf.serve_latest()
    shelf.add(V1)
    assert shelf.serve_latest() and shelf.serving == V1
    shelf.announce(state(V2))
    assert not shelf.serve_latest() and shelf.serving == V1
    assert shelf.tidy() == {V1}, "what serves stays, though no longer announced"
    shelf.add(V2)
    assert shelf.serve_latest() and shelf.serving == V2
    assert shelf.tidy() == {V2}


def test_beyond_the_limit_the_least_recently_used_go() -> None:
    shelf = Shelf(limit=2)
    shelf.announce(state(V3, V1, V2))
    for weights in (V3, V1):
        shelf.add(weights)
    shelf.serve_latest()
    shelf.touch(V1)
    shelf.add(V2)
    assert shelf.tidy() == {V3, V2}
    assert shelf.find(1) == V1, "it can be loaded again"


def test_a_version_number_with_other_content_is_other_weights() -> None:
    shelf = Shelf(limit=2)
    shelf.announce(state(V1))
    shelf.add(V1)
    shelf.serve_latest()
    again = WeightsId(1, "other")
    shelf.announce(state(again))
    assert shelf.find(1) == again and not shelf.serve_latest()
    shelf.add(again)
    assert shelf.serve_latest() and shelf.tidy() == {again}


def engine(seed: int) -> Engine:
    return Engine(tiny_weights(seed, ends=8.0), SETTINGS)


def finish(engines: EngineSet) -> list[JobAnswer]:
    answers = []
    while engines.busy:
        answers += engines.step()
    return answers


def test_a_swap_loses_nothing_what_runs_is_finished_by_the_old_what_waits_goes_to_the_new() -> None:
    engines = EngineSet()
    engines.install(V1, engine(1))
    engines.latest = V1
    for key in range(6):
        engines.submit(Job(key, "⊢ q", 4, seed=key), None)
    early = engines.step()
    engines.install(V2, engine(2))
    engines.latest = V2
    engines.keep({V2})
    answers = early + finish(engines)
    assert sorted(answer.job.key for answer in answers) == list(range(6))
    assert {answer.version for answer in answers if answer.job.key < 2} == {V1}
    assert {answer.version for answer in answers if answer.job.key >= 2} == {V2}
    assert set(engines.engines) == {V2}, "the old engine is gone when it has nothing left to do"
    assert engines.counters().states == 6, "what it did still counts"


def test_the_memory_of_a_removed_version_is_free_at_once_without_the_garbage_collector() -> None:
    engines = EngineSet()
    engines.install(V1, engine(1))
    engines.latest = V1
    engines.submit(Job("a", "x : Nat", 4, seed=1), None)
    finish(engines)
    removed, its_cache = weakref.ref(engines.engines[V1]), weakref.ref(engines.engines[V1].prefixes)
    engines.install(V2, engine(2))
    engines.latest = V2
    gc.disable()
    try:
        engines.keep({V2})
        engines.step()
        assert V1 not in engines.engines and removed() is None and its_cache() is None
    finally:
        gc.enable()


def test_a_pinned_version_answers_beside_the_latest() -> None:
    engines = EngineSet()
    for weights, seed in ((V1, 1), (V2, 2)):
        engines.install(weights, engine(seed))
    engines.latest = V2
    engines.keep({V1})
    for key in range(4):
        engines.submit(Job(key, "⊢ q", 2, seed=3), V1 if key % 2 else None)
    answers = {answer.job.key: answer for answer in finish(engines)}
    assert [answers[key].version for key in range(4)] == [V2, V1, V2, V1]
    texts = [[sample.tactic for sample in answers[key].finished.tactics] for key in range(4)]
    assert texts[0] == texts[2] != texts[1] == texts[3]


def test_a_job_for_a_version_that_was_put_away_is_refused() -> None:
    engines = EngineSet()
    engines.install(V1, engine(1))
    engines.install(V2, engine(2))
    engines.latest = V2
    engines.submit(Job(0, "⊢ q", 2, seed=3), V1)
    engines.keep({V2})
    (answer,) = engines.step()
    assert answer.finished is None and answer.version == V1
    assert not engines.busy
