"""Compiled files with seeded changes to their objects: what is accepted of them is what the honest text proves."""

from __future__ import annotations

import asyncio

import pytest

from tests.node.lean.olean.forging import compile_text
from tests.node.lean.olean.judges import Judge, by_verifier, in_batches, watched
from tests.node.lean.olean.mutations import FALSE, HONEST, TRUE, Answer, Mutant, Oracle, mutants

pytestmark = pytest.mark.lean

JUDGE: Judge = in_batches
COMPARED = True
"""Whether it counts as wrong to accept a true theorem with another statement than the text's."""
RECURSORS = False
"""Whether it counts as wrong to accept what uses a recursor that the compiled file has otherwise than the kernel."""

SECONDS, MEMORY_MB = 10.0, 1000
"""For one batch; a batch that takes longer is judged in parts until one file is found that takes so long alone."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return asyncio.run(compile_text(HONEST, tmp_path_factory.mktemp("mutated"))).read_bytes()


def faults(judge: Judge, honest: bytes, seeds: range) -> list[str]:
    """What is wrong with the judge's answers on changed files, each with the change."""
    changed = mutants(honest, seeds)
    oracle = Oracle(honest, compared=COMPARED, recursors=RECURSORS)
    results = watched(judge, HONEST, changed, seconds=SECONDS, memory_mb=MEMORY_MB)
    found = []
    for mutant, result in zip(changed, results, strict=True):
        wrong = [result.fault] if result.answer is None else oracle.faults(mutant.content, result.answer)
        found += [f"{mutant.description}\n    {each}" for each in wrong]
    return found


@pytest.mark.parametrize("judge", [in_batches, by_verifier])
def test_of_the_unchanged_file_all_theorems_that_have_proofs_are_accepted(honest: bytes, judge: Judge) -> None:
    (result,) = watched(judge, HONEST, [Mutant(0, "unchanged", honest)])
    assert result.answer is not None and set(result.answer.accepted) == TRUE
    assert not Oracle(honest).faults(honest, result.answer)


def test_the_oracle_finds_what_must_not_be_accepted(honest: bytes) -> None:
    oracle = Oracle(honest, compared=False)
    for name in FALSE:
        assert oracle.faults(honest, Answer((name,))), name
    assert oracle.faults(honest, Answer(whole=True))
    for name in ("nothing", "Two", "hidden"):
        assert Oracle(honest).faults(honest, Answer((name,))), name


def test_the_same_seed_makes_the_same_change(honest: bytes) -> None:
    once = mutants(honest, range(12))
    assert once[:4] == mutants(honest, range(4))
    assert len({each.content for each in once}) > 9


def test_of_changed_files_nothing_is_accepted_but_what_the_text_proves(honest: bytes) -> None:
    found = faults(JUDGE, honest, range(40))
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(11))
def test_of_many_changed_files_too(honest: bytes, part: int) -> None:
    found = faults(JUDGE, honest, range(1000 * part, 1000 * (part + 1)))
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_whole_verifier_says_the_same(honest: bytes) -> None:
    found = faults(by_verifier, honest, range(300))
    assert not found, "\n".join(found)
