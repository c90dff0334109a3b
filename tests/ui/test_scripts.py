import subprocess

import pytest

from tests.commands import found
from ui.server import STATIC


@pytest.mark.process
def test_the_types_in_the_scripts_agree() -> None:
    done = subprocess.run([found("tsc"), "-p", str(STATIC.parent / "jsconfig.json")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
