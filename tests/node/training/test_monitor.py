"""Curves of a stage in the browser while it trains, without a broker."""

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from node.training.launch import monitor
from node.training.stage import run_stage
from tests.node.training.small import curve, small
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.process]


async def test_a_stage_is_on_the_page_and_the_page_ends_with_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = small(tmp_path, steps=2, evaluate_every=2)
    said = ""

    def address() -> bool:
        nonlocal said
        said += capfd.readouterr().err
        return "url=" in said and "\n" in said.partition("url=")[2]

    def state() -> dict[str, Any]:
        with urllib.request.urlopen(f"{url}api/state") as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def shown() -> bool:
        """The last step is there, and the valid data after it."""
        points = [point for run in state()["training"] for point in run["points"] if point["step"] == 2]
        return any("valid_bits_per_byte" in point["values"] for point in points)

    with monitor(settings.directory, wanted=True):
        await eventually(address, what="the address of the page")
        found = re.search(r"url=(http://[^\s\x1b]+/)", re.sub(r"\x1b\[[0-9;]*m", "", said))
        assert found is not None
        url = found.group(1)
        assert state()["training"] == [] and not state()["mesh"]
        run_stage("sft", settings)
        await eventually(shown, what="the last step on the page")
        (run,) = state()["training"]
        assert (run["name"], run["stage"], run["steps"]) == ("run", "sft", 2)
        drawn = {point["step"]: point["values"]["loss"] for point in run["points"] if "loss" in point["values"]}
        assert drawn == curve(tmp_path)
        assert any("valid_bits_per_byte" in point["values"] for point in run["points"])
    with pytest.raises(urllib.error.URLError):
        state()
