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
