"""The bank `textbook`: the committed files, no overlap with other data, and proofs that Lean accepts."""

import json
from collections import Counter
from pathlib import Path

import pytest

from data.generators import textbook
from node.bank import bank
from node.bank.bank import BankError
from node.bank.benchmarks import load_benchmark
from node.command import cli
from node.lean.text.statement import parse_statement
from scripts.bench.prove import LISTS
from tests.commands import Called

pytestmark = pytest.mark.generators

DIRECTORY = bank.BUNDLED[textbook.NAME]


def test_the_committed_bank_has_the_statements_of_the_files(tmp_path: Path) -> None:
    assert textbook.write(tmp_path / "anew") == 200
    for name in ("test.jsonl.gz", "bank.json"):
        assert (tmp_path / "anew" / name).read_bytes() == (DIRECTORY / name).read_bytes()


def test_no_statement_is_there_twice_or_elsewhere() -> None:
    """Neither in a split of pocket nor in the lists of `bench textbook`, up to names and the order of hypotheses."""
    others = [each.theorem for split in bank.SPLITS for each in bank.load_statements(split)]
    for file in ("first.txt", "second.txt"):
        lines = (LISTS / file).read_text(encoding="utf-8").splitlines()
        others += [parse_statement(line) for line in lines if line.startswith("theorem ")]
    known = {textbook.form(theorem): theorem.name for theorem in others}
    own = [textbook.form(each.theorem) for each in bank.load_statements("test", DIRECTORY)]
    assert [known[form] for form in own if form in known] == []
    assert len(own) == len(set(own))


def test_it_is_a_benchmark_with_one_split() -> None:
    found = load_benchmark("textbook")
    assert (found.name, found.split, found.licence, len(found.statements)) == ("textbook", "test", "MIT", 200)
    assert load_benchmark("textbook:test").digest == found.digest
    with pytest.raises(BankError, match=r"no statement in the split `valid` .*200 in `test`"):
        load_benchmark("textbook:valid")


def verdicts(called: Called, *paths: Path) -> Counter[str]:
    """The numbers of theorems that `proofmesh verify` accepts and rejects."""
    done = called(cli.main, "verify", "--json", *paths)
    assert done.code in (0, 1), done.err
    return Counter(verdict["verdict"] for verdict in json.loads(done.out)["theorems"])


@pytest.mark.lean
def test_every_statement_about_options_is_proved(called: Called) -> None:
    assert verdicts(called, textbook.PROOFS / "options.lean") == {"accepted": 16}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_statement_is_proved(called: Called) -> None:
    assert verdicts(called, textbook.PROOFS) == {"accepted": 200}
