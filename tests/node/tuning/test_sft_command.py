"""`proofmesh train hf-sft` from a shell: what it prints, its exit codes, kill -9 and the same command again."""

from pathlib import Path

import pytest

from node.tuning import commands

pytestmark = pytest.mark.compute


def flags(model: Path, data: Path, out: Path, *more: str) -> list[str]:
    return [
        str(model),
        "--data",
        str(data),
        "--out",
        str(out),
        "--device",
        "cpu",
        "--keep-out",
        "--held-out",
        "0",
        *more,
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--rate", "0"], "--rate: expected `float` > 0.0"),
        (["--batch", "6", "--micro-batch", "4"], "--batch 6: must be a multiple of --micro-batch 4"),
        (["--data", "nowhere"], "--data nowhere: no such file or folder"),
        (["--other-template", "no-such"], "--other-template: no template `no-such`"),
        (["--device", "gpu9"], "no such device"),
    ],
)
def test_what_is_wrong_is_one_line_and_code_2(
    tiny: Path, steps: Path, tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.sft(flags(tiny, steps, tmp_path / "out", *more)) == 2
    said = capsys.readouterr().err
    assert said.startswith("proofmesh train hf-sft: ") and message in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()
