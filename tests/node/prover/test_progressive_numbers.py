"""The visit counts that the documentation of progressive sampling gives are those of the formula."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

import pytest

from node.prover.search.parameters import SearchParameters
from node.prover.search.simulation import few_tactics

DOCS = Path(__file__).parents[3] / "docs"


def visits_until_sampled_again(tactics: int) -> int:
    return next(visits for visits in count(1) if tactics <= few_tactics(visits, SearchParameters()))


@pytest.mark.parametrize(("tactics", "page"), [(1, "2,150"), (5, "31,500")])
def test_documented_visits_until_a_state_is_sampled_again(tactics: int, page: str) -> None:
    documented = int(page.replace(",", ""))
    assert abs(visits_until_sampled_again(tactics) - documented) < 0.01 * documented
    for name in ("configuration.md", "results.md"):
        sentences = re.findall(r"[^.|]*2,150[^.|]*[.]", (DOCS / name).read_text(encoding="utf-8"))
        assert sentences and all(page in each for each in sentences)
