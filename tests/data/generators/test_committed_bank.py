"""The promised properties of the committed bank; Lean checks a sample, and the whole bank in slow tests."""

import asyncio
import random
from collections import Counter, defaultdict

import msgspec
import pytest

from data.generators.build import manifest_of as manifest_built
from data.generators.floors import MOST_BY_ANY, MOST_BY_ONE, floors, local_requests
from data.generators.lean_check import load_truth, refused, replay
from data.generators.normal_form import normal_form, skeleton
from data.generators.profiles import POCKET
from node.bank.bank import SPLITS, digest, load_statements, load_transitions, manifest_of

pytestmark = pytest.mark.generators

LEAST = {"train": 4000, "valid": 400, "test": 400}
TEST_ONLY = "existence+recursion"


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


def test_every_split_is_large_enough_and_has_every_level(statements):
    for split, least in LEAST.items():
        assert len(statements[split]) >= least
        assert {statement.level for statement in statements[split]} == {1, 2, 3, 4}


def test_names_are_unique(statements):
    names = [statement.theorem.name for split in SPLITS for statement in statements[split]]
    assert len(names) == len(set(names))


def test_no_statement_is_there_twice_up_to_names_and_order(statements):
    forms = [normal_form(statement.theorem) for split in SPLITS for statement in statements[split]]
    assert len(forms) == len(set(forms))


def test_no_shape_with_its_constants_is_in_two_splits(statements):
    shapes = {split: {(s.family, skeleton(s.theorem)) for s in statements[split]} for split in SPLITS}
    for first, second in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not shapes[first] & shapes[second]


def test_one_combination_of_families_is_in_the_test_split_only(statements):
    families = {split: {statement.family for statement in statements[split]} for split in SPLITS}
    assert families["test"] - families["train"] == {TEST_ONLY}
    assert TEST_ONLY not in families["valid"]


def test_a_tenth_of_train_is_false_and_nothing_else(statements, truth):
    assert set(truth) == {statement.theorem.name for split in SPLITS for statement in statements[split]}
    false = [name for name, row in truth.items() if not row.true]
    assert all(name.startswith("train") for name in false)
    assert 0.08 <= len(false) / len(statements["train"]) <= 0.12
    assert all(row.script.strip() for row in truth.values())


def test_false_statements_cannot_be_told_by_family_or_level(statements, truth):
    true_groups = {(s.family, s.level) for s in statements["train"] if truth[s.theorem.name].true}
    assert {(s.family, s.level) for s in statements["train"]} == true_groups


def test_there_are_enough_transitions_of_train_theorems_only(statements, transitions):
    assert len(transitions) >= 20_000
    train = {statement.theorem.name: statement for statement in statements["train"]}
    for row in transitions:
        source = train[row.theorem.removesuffix("_neg")]
        assert (row.level, row.family) == (source.level, source.family)
        assert row.state.strip() and row.tactic == row.tactic.strip() and "\n" not in row.tactic
        assert 1 <= row.remaining_steps <= 8
    assert {row.theorem.removesuffix("_neg") for row in transitions} == set(train)


def test_the_warm_start_is_a_part_of_the_low_levels(transitions):
    warm = load_transitions(warm_start=True)
    low = [row for row in transitions if row.level in POCKET.warm_start.levels]
    assert 0 < len(warm) < len(low)
    assert not any(text in row.tactic for row in warm for text in POCKET.warm_start.held_out)
    assert all(any(text in row.tactic for row in transitions) for text in POCKET.warm_start.held_out)


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
    sample = random.Random(1).sample(everything, 240)
    assert refused([(truth[t.name].goal(t), truth[t.name].script) for t in sample]) == []


@pytest.mark.lean
async def test_the_lean_proxy_shows_the_recorded_states_of_a_sample(statements, transitions, truth):
    theorems, groups = goals(statements, truth), grouped(transitions)
    async with local_requests() as requests:
        for name in random.Random(2).sample(sorted(groups), 25):
            assert await replay(requests, theorems[name], groups[name]) == ""


@pytest.mark.lean
def test_a_changed_transition_does_not_replay(statements, transitions, truth):
    import msgspec

    theorems, groups = goals(statements, truth), grouped(transitions)
    name = next(name for name in sorted(groups) if len(groups[name]) > 2)
    rows = groups[name]

    async def play(changed):
        async with local_requests() as requests:
            return await replay(requests, theorems[name], changed)

    wrong_state = [msgspec.structs.replace(rows[0], state=rows[0].state + " "), *rows[1:]]
    assert "the state is" in asyncio.run(play(wrong_state))
    assert "still open after the last transition" in asyncio.run(play(rows[:-1]))
    wrong_tactic = [msgspec.structs.replace(rows[0], tactic="exact nothing_of_this_name"), *rows[1:]]
    assert "error" in asyncio.run(play(wrong_tactic))


@pytest.mark.lean
def test_a_sample_of_the_test_split_does_not_fall_to_single_tactics(statements):
    sample = random.Random(3).sample(statements["test"], 100)
    assert floors(sample)["any"] <= MOST_BY_ANY


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


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_families_are_balanced(statements):
    for split in SPLITS:
        counts = Counter(statement.family for statement in statements[split] if statement.family != TEST_ONLY)
        assert min(counts.values()) >= 0.02 * len(statements[split])
        assert len(counts) >= 10
