"""`just setup tools`: programs out of Debian's packages, without root."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.setup import __main__ as setup, tools


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it, and an own folder for the programs."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(tools, "BIN", tmp_path / "tools")
    monkeypatch.setattr("sys.argv", ["setup", "tools"])
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    file.chmod(0o755)


@pytest.mark.process
def test_the_program_is_taken_out_of_the_package_once(nowhere: Path) -> None:
    program(nowhere, "apt-get", "touch package.deb")
    content = 'mkdir -p "$3/usr/bin"; printf "#!/bin/sh\\necho right\\n" > "$3/usr/bin/promtool"'
    program(
        nowhere, "dpkg", f'{content}; chmod +x "$3/usr/bin/promtool"; cp "$3/usr/bin/promtool" "$3/usr/bin/prometheus"'
    )
    assert setup.main() == 0
    (nowhere / "apt-get").unlink()
    assert setup.main() == 0 and tools.missing() == []
    assert {each.name for each in tools.BIN.iterdir()} == {"promtool", "prometheus"}
    assert subprocess.run([tools.BIN / "promtool"], capture_output=True, check=True).stdout == b"right\n"
