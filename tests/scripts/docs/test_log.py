"""The layout of LOG.md: by date, newest first, with unchanged words."""

from __future__ import annotations

from scripts.docs.log import laid_out

LOG = f"""# What was measured

Newest first.

## Engine

2026-11-21, two cores. {"Many words stand here. " * 10}

| a | b |
|---|---|
| {"wide " * 40}| 1 |

## Search

2026-11-22, one core: 5 - 3 is 2, {"and so on " * 20}

- an item of more than sixty characters that mentions, much later, 2026-11-20
  and goes on

- 2026-11-21, an older item
"""


def test_entries_are_sorted_by_date_with_the_newest_first() -> None:
    lines = laid_out(LOG).splitlines()
    headings = [line for line in lines if line.startswith("#")]
    assert headings == [
        *("# What was measured", "## 2026-11-22", "### Search"),
        *("## 2026-11-21", "### Engine", "### Search"),
    ]


def test_a_laid_out_log_stays_as_it_is() -> None:
    assert laid_out(laid_out(LOG)) == laid_out(LOG)
