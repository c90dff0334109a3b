"""The agent's tables on a console."""

import io

import pytest

from common.output.terminal import Console
from common.report.table import Table
from node.agent.report import Report, show

COLUMNS = ("", "repository", "theorems", "proof or reason")
ROW = ("1", "first-project", "12", "constructor; exact h.2; exact h.1; and so on for many more tactics than fit")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_tables_fit_into_the_page(width: int) -> None:
    out = io.StringIO()
    table = Table(COLUMNS, "Repositories, in order", ("a note",), unfolded=True).fill([ROW, ("2", "other", "-", "")])
    report = Report([table])
    show(report, Console(file=out, width=width, highlight=False))
    said = out.getvalue()
    assert max(map(len, said.splitlines())) <= width
    assert "first-project" in said and "a note" in said, "no word is folded"
    assert ("repository: first-project" in said) == (width < 200)
