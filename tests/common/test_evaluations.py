"""Lines of `evaluations.jsonl`."""

from pathlib import Path

import pytest

from common import curves
from common.curves import Evaluated, Part


def evaluated(label: str, **changes: int) -> Evaluated:
    part = Part(statements=4, solved=1, undecided=1, share=0.3333)
    numbers = {"step": 7, "weights": 3, "statements": 4, "solved": 1, "undecided": 1, "simulations": 16} | changes
    return Evaluated(
        label=label, beside=True, time=2.5, simulations_used=31, lean_attempts=99, levels={"1": part}, **numbers
    )


def test_every_evaluation_is_read_once_and_torn_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / curves.EVALUATIONS
    first, second = evaluated("step-7"), evaluated("after", step=9)
    lines = [curves.evaluation_line(each) for each in (first, second, evaluated("step-7", solved=4))]
    path.write_bytes(lines[0] + b'{"label": "torn\n' + lines[1] + b"\xff\n" + lines[2])
    assert curves.read_evaluations(path) == [first, second]


def test_no_file_is_no_evaluation_and_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    assert curves.read_evaluations(tmp_path / "absent") == []
    with pytest.raises(OSError, match="directory"):
        curves.read_evaluations(tmp_path)


def test_undecided_statements_are_left_out_of_the_rate() -> None:
    assert evaluated("a").solve_rate == 1 / 3
    assert evaluated("a", statements=1, solved=0).solve_rate == 0.0
