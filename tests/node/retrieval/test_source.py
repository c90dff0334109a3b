"""What a theorem may use by its header and its file, and the premises that searches get."""

import pytest

from common.lean import Context, Place, Theorem
from common.protocol.attempts import Attempt, Purpose
from node.prover.policies.attempt_policy import AttemptPolicies
from node.prover.policies.sources import MeshSources
from node.prover.settings import ProverSettings
from node.retrieval.corpus import read_corpus
from node.retrieval.index import PremiseSource, accessible, imported_modules


def names(corpus, mask):
    return {premise.full_name for premise, allowed in zip(corpus.premises, mask, strict=True) if allowed}


def test_a_header_says_what_may_be_used_and_never_the_theorem_itself(library_folder):
    corpus = read_corpus(library_folder)
    assert names(corpus, accessible(corpus, "t", "import Lib.Other", None)) == {"Lib.unseen"}
    assert names(corpus, accessible(corpus, "Lib.unseen", "import Lib.Other", None)) == set()
    assert len(names(corpus, accessible(corpus, "t", "", None))) == 26
    assert names(corpus, accessible(corpus, "t", "import Unknown", None)) == set()


def test_in_a_file_its_imports_count_and_what_it_declares_above(library_folder):
    corpus = read_corpus(library_folder)
    above = "import Lib.Other\n\ntheorem late : True := trivial\n"
    assert names(corpus, accessible(corpus, "t", "", above)) == {"Lib.unseen", "late"}


def test_modules_of_import_lines():
    assert list(imported_modules("prelude\nimport A.B C -- D\npublic import E\nopen F")) == ["A.B", "C", "E"]


@pytest.mark.compute
async def test_searches_get_the_best_first(premise_index):
    source = PremiseSource(premise_index)
    await source.open()
    first, *rest = await source.premises("⊢ kaba a = kaba y", Theorem("t", "", "x"), 4)
    assert (first.name, first.is_proof, len(rest)) == ("Lib.sach_law", True, 3)
    assert first.text == "theorem Lib.sach_law : sach x = sach y"
    placed = Theorem("t", "", "x", place=Place(Context.of("import Lib.Other\n"), "theorem t : x := by "))
    assert [each.name for each in await source.premises("⊢ kaba a", placed, 4)] == ["Lib.unseen"]


@pytest.mark.compute
async def test_attempts_of_a_prover_with_an_index_get_tactics_that_name_premises(premise_index):
    settings = ProverSettings(policy="tactics", premises=str(premise_index))
    policies = AttemptPolicies(None, settings, MeshSources(None, (), (), patience=1.0))
    attempt = Attempt(
        attempt_id="a",
        theorem_id="t",
        theorem=Theorem("t", "", "x"),
        purpose=Purpose.EVAL,
        simulations=8,
        seed=0,
    )
    advice = await policies.policy(attempt).advise("⊢ kaba a = kaba y", 4, 0)
    by_tactic = {each.tactic: each.source for each in advice.proposals}
    assert by_tactic["rw [Lib.sach_law]"] == "retrieved premises" and "rfl" in by_tactic
