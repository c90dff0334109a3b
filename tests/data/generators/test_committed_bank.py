"""The promised properties of the committed bank; Lean checks a sample, and the whole bank in slow tests."""

import asyncio
import random
from collections import defaultdict

import msgspec
import pytest

from data.generators.build import manifest_of as manifest_built
from data.generators.floors import MOST_BY_ANY, MOST_BY_ONE, floors, local_requests
from data.generators.lean_check import load_truth, refused, replay
from data.generators.normal_form import normal_form, skeleton
from node.bank.bank import SPLITS, digest, load_statements, load_transitions, manifest_of

pytestmark = pytest.mark.generators


@pytest.fixture(scope="module")
def statements():
    return {split: load_statements(split) for split in SPLITS}


@pytest.fixture(scope="module")
def transitions():
    return load_transitions()


@pytest.fixture(scope="module")
def truth():
    return load_truth()


def test_the_manifest_is_the_generators():
    assert manifest_of() == msgspec.structs.replace(manifest_built(scale=1.0, seed=1), digest=digest())


def test_no_statement_is_there_twice_up_to_names_and_order(statements):
    forms = [normal_form(statement.theorem) for split in SPLITS for statement in statements[split]]
    assert len(forms) == len(set(forms))


def test_no_shape_with_its_constants_is_in_two_splits(statements):
    shapes = {split: {(s.family, skeleton(s.theorem)) for s in statements[split]} for split in SPLITS}
    for first, second in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not shapes[first] & shapes[second]


def test_states_and_tactics_fit_the_demo_model(transitions):
    assert max(len(row.state) for row in transitions) <= 420
    assert max(len(row.tactic) for row in transitions) <= 60


def grouped(transitions):
    groups = defaultdict(list)
    for row in transitions:
        groups[row.theorem].append(row)
    return groups


def goals(statements, truth):
    """Name to what its proof proves."""
    rows = [truth[s.theorem.name].goal(s.theorem) for split in SPLITS for s in statements[split]]
    return {theorem.name: theorem for theorem in rows}


@pytest.mark.lean
def test_lean_accepts_a_sample_of_the_proofs(statements, truth):
    everything = [statement.theorem for split in SPLITS for statement in statements[split]]
    sample = random.Random(1).sample(everything, 60)
    assert refused([(truth[t.name].goal(t), truth[t.name].script) for t in sample]) == []


@pytest.mark.lean
async def test_the_lean_proxy_shows_the_recorded_states_of_a_sample(statements, transitions, truth):
    theorems, groups = goals(statements, truth), grouped(transitions)
    async with local_requests() as requests:
        for name in random.Random(2).sample(sorted(groups), 10):
            assert await replay(requests, theorems[name], groups[name]) == ""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_lean_accepts_every_proof(statements, truth):
    everything = [statement.theorem for split in SPLITS for statement in statements[split]]
    assert refused([(truth[t.name].goal(t), truth[t.name].script) for t in everything]) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_the_lean_proxy_shows_every_recorded_state(statements, transitions, truth):
    theorems, groups = goals(statements, truth), grouped(transitions)
    gate = asyncio.Semaphore(16)
    async with local_requests(workers=2) as requests:

        async def replayed(name: str) -> str:
            async with gate:
                return await replay(requests, theorems[name], groups[name])

        problems = await asyncio.gather(*map(replayed, groups))
    assert [problem for problem in problems if problem] == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_test_split_does_not_fall_to_single_tactics(statements):
    shares = floors(statements["test"])
    assert shares.pop("any") <= MOST_BY_ANY
    assert max(shares.values()) <= MOST_BY_ONE
