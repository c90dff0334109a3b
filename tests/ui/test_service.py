"""The monitor's reading of a run's own file."""

import json
from pathlib import Path

from ui.service import read_history


def test_history_is_read_and_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    lines = [json.dumps({"time": float(i), "step": i, "values": {"loss": 1.0 / (i + 1)}}) for i in range(3)]
    file.write_text("\n".join(lines) + '\n{"time": 3.0, "st')
    assert [point.step for point in read_history(str(file))] == [0, 1, 2]


def test_no_history_is_no_error(tmp_path: Path) -> None:
    assert read_history("") == []
    assert read_history(str(tmp_path / "absent.jsonl")) == []
