"""The journal of a training stage."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.training import journal


def test_without_a_terminal_progress_is_a_line_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(journal.time, "monotonic", lambda: now[0])
    with journal.StageJournal(tmp_path / "metrics.jsonl", 1_000, first=True) as stage:
        for step in range(1, 51):
            now[0] += 1.0
            stage.at(step, "loss 1.000")
    assert capsys.readouterr().err.splitlines() == ["step 20 of 1,000: loss 1.000", "step 40 of 1,000: loss 1.000"]
