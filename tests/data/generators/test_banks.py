"""What the committed banks promise, read off their files; Lean checks a sample of the proofs, and all in slow tests."""

import asyncio
import itertools
import json
import random
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import msgspec
import pytest

from common.lean import Theorem
from data.generators import textbook
from data.generators.build import manifest_of as manifest_built
from data.generators.families.accumulators import KINDS
from data.generators.families.combinators import BASES, LAWS, applied, normal
from data.generators.families.puzzles import PUZZLES as PERMUTATIONS, distances
from data.generators.families.words import DEEP
from data.generators.floors import MOST_BY_ANY, MOST_BY_ONE, floors, local_requests
from data.generators.lean_check import load_truth, refused
from data.generators.normal_form import normal_form, skeleton
from data.generators.profiles import ACCUMULATORS, COMBINATORS, POCKET, PUZZLES, WHEELS, WITNESS, WORDS, Profile
from node.bank import bank
from node.bank.bank import BankError
from node.bank.benchmarks import load_benchmark
from node.command import cli
from node.learner.choosing import banks
from tests.commands import Called
from tests.node.lean.replaying import replay

pytestmark = pytest.mark.generators

PROFILES = {each.name: each for each in (POCKET, WITNESS, WORDS, PUZZLES, WHEELS, ACCUMULATORS, COMBINATORS)}
FIRST = min(PERMUTATIONS)
each_bank = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)


@cache
def rows_of(name: str) -> dict[str, list[bank.BankTheorem]]:
    return {split: bank.load_statements(split, bank.BUNDLED[name]) for split in bank.SPLITS}


def theorems(name: str) -> list[Theorem]:
    return [row.theorem for rows in rows_of(name).values() for row in rows]


def proofs(name: str) -> list[tuple[Theorem, str]]:
    """What is proved (the statement or its negation), and how."""
    truth = load_truth(bank.BUNDLED[name])
    return [(truth[each.name].goal(each), truth[each.name].script) for each in theorems(name)]


@each_bank
def test_its_manifest_is_the_generators_and_a_learner_takes_it_by_name(profile: Profile) -> None:
    directory = bank.BUNDLED[profile.name]
    made = manifest_built(scale=1.0, seed=1, profile=profile)
    assert bank.manifest_of(directory) == msgspec.structs.replace(made, digest=bank.digest(directory))
    parts = banks.parts_of("", ["pocket*0.5"] * (profile is not POCKET) + [profile.name])
    assert {part.directory for part in parts} == {bank.DIRECTORY, directory}


@pytest.mark.parametrize(
    ("profile", "families", "short", "least"),
    [
        (WORDS, set(DEEP), 4, 7),
        (PUZZLES, set(PERMUTATIONS), 4, 8),
        (WHEELS, {"Wheels7"}, 4, 7),
        (ACCUMULATORS, set(KINDS), 9, 13),
        (COMBINATORS, set(BASES), 9, 12),
    ],
    ids=["words", "puzzles", "wheels", "accumulators", "combinators"],
)
def test_evaluated_statements_are_deep_and_those_of_the_warm_start_are_short(
    profile: Profile, families: set[str], short: int, least: int
) -> None:
    """`families`: those evaluated. `short`, `least`: the longest proofs of the warm start, the shortest of test."""
    rows = rows_of(profile.name)
    evaluated = [*rows["valid"], *rows["test"]]
    assert bank.manifest_of(bank.BUNDLED[profile.name]).allow
    assert len(rows["test"]) >= 0.9 * profile.splits["test"] and {row.family for row in evaluated} == families
    assert min(row.level for row in evaluated) == least and max(profile.warm_start.levels) == short
    steps = load_truth(bank.BUNDLED[profile.name])
    for row in random.Random(1).sample(evaluated, 60):
        assert len(steps[row.theorem.name].script.splitlines()) == row.level


@pytest.mark.parametrize(
    "name",
    ["pocket", "witness", "combinators"]
    + [pytest.param(each.name, marks=pytest.mark.slow) for each in (WORDS, PUZZLES, WHEELS, ACCUMULATORS)],
)
def test_no_shape_with_its_constants_is_in_two_splits(name: str) -> None:
    anew = name != "witness"  # its families share no shape either
    shapes = [{(anew and row.family, skeleton(row.theorem)) for row in rows} for rows in rows_of(name).values()]
    for first, second in itertools.combinations(shapes, 2):
        assert not first & second


def test_no_statement_is_there_twice_or_evaluated_elsewhere() -> None:
    """Of pocket and witness, up to names and the order of hypotheses."""
    pocket, witness = (
        {split: [normal_form(row.theorem) for row in rows] for split, rows in rows_of(name).items()}
        for name in ("pocket", "witness")
    )
    for own in (pocket, witness):
        forms = [form for of_split in own.values() for form in of_split]
        assert len(forms) == len(set(forms))
    assert not {*pocket["valid"], *pocket["test"]} & {form for of_split in witness.values() for form in of_split}


def test_states_and_tactics_fit_the_demo_model() -> None:
    rows = bank.load_transitions()
    assert max(len(row.state) for row in rows) <= 420 and max(len(row.tactic) for row in rows) <= 60


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("wheels", "Wheels7"),
        *(pytest.param("puzzles", each, marks=[pytest.mark.slow] * (each != FIRST)) for each in PERMUTATIONS),
    ],
)
def test_no_proof_of_a_puzzle_is_shorter_than_its_level(name: str, family: str) -> None:
    left, _ = distances(family)
    for row in rows_of(name)["test"]:
        pieces = row.theorem.conclusion.split(" = ")[0].removeprefix("P ").split()
        assert row.family != family or left[tuple(int(piece) - 1 for piece in pieces)] == row.level


def test_a_witness_of_combinators_is_reduced_to_what_the_laws_say() -> None:
    assert set("".join(BASES)) <= set(LAWS)
    assert normal(applied("S", ["K", "K", "x"])) == "x"
    assert normal(applied("B", ["C", "T", "x", "y", "z"])) == (("z", "x"), "y")


@pytest.mark.lean
def test_lean_accepts_a_sample_of_the_proofs() -> None:
    sample = []
    for name in PROFILES:
        assert {each.name for each in theorems(name)} == set(load_truth(bank.BUNDLED[name]))
        found = random.Random(3).sample(proofs(name), 20 if name == "pocket" else 8)
        sample += [(msgspec.structs.replace(goal, name=f"{name}_{goal.name}"), script) for goal, script in found]
    assert refused(sample) == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
@each_bank
def test_lean_accepts_every_proof(profile: Profile) -> None:
    assert refused(proofs(profile.name)) == []


async def replayed(count: int | None) -> list[str]:
    """The problems of replaying recorded transitions of the bank, of so many theorems or of all."""
    goals = {goal.name: goal for goal, _ in proofs("pocket")}
    groups = defaultdict(list)
    for row in bank.load_transitions():
        groups[row.theorem].append(row)
    names = sorted(groups) if count is None else random.Random(2).sample(sorted(groups), count)
    gate = asyncio.Semaphore(16)
    async with local_requests(workers=1 if count else 2) as requests:

        async def one(name: str) -> str:
            async with gate:
                return await replay(requests, goals[name], groups[name])

        return [problem for problem in await asyncio.gather(*map(one, names)) if problem]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("count", [pytest.param(6, marks=pytest.mark.lean), pytest.param(None, marks=pytest.mark.slow)])
async def test_the_lean_proxy_shows_the_recorded_states(count: int | None) -> None:
    assert await replayed(count) == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_test_split_does_not_fall_to_single_tactics() -> None:
    shares = floors(rows_of("pocket")["test"])
    assert shares.pop("any") <= MOST_BY_ANY and max(shares.values()) <= MOST_BY_ONE


TEXTBOOK = bank.BUNDLED[textbook.NAME]


def test_the_committed_textbook_has_the_statements_of_the_files(tmp_path: Path) -> None:
    assert textbook.write(tmp_path / "anew") == 200
    for name in ("test.jsonl.gz", "bank.json"):
        assert (tmp_path / "anew" / name).read_bytes() == (TEXTBOOK / name).read_bytes()


def test_no_statement_of_the_textbook_is_there_twice_or_elsewhere() -> None:
    """Nor in a split of pocket, up to names and the order of hypotheses."""
    others = [each.theorem for split in bank.SPLITS for each in bank.load_statements(split)]
    known = {textbook.form(theorem): theorem.name for theorem in others}
    own = [textbook.form(each.theorem) for each in bank.load_statements("test", TEXTBOOK)]
    assert [known[form] for form in own if form in known] == [] and len(own) == len(set(own))


def test_the_textbook_is_a_benchmark_with_one_split() -> None:
    found = load_benchmark("textbook")
    assert (found.name, found.split, found.licence, len(found.statements)) == ("textbook", "test", "MIT", 200)
    assert load_benchmark("textbook:test").digest == found.digest
    with pytest.raises(BankError, match=r"no statement in the split `valid` .*200 in `test`"):
        load_benchmark("textbook:valid")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("file", "number"),
    [pytest.param("options.lean", 16, marks=pytest.mark.lean), pytest.param("", 200, marks=pytest.mark.slow)],
)
def test_every_statement_of_the_textbook_is_proved(called: Called, file: str, number: int) -> None:
    done = called(cli.main, "verify", "--json", textbook.PROOFS / file)
    assert done.code == 0, done.err
    assert Counter(each["verdict"] for each in json.loads(done.out)["theorems"]) == {"accepted": number}
