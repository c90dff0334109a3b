import subprocess
from pathlib import Path

import pytest

from scripts.setup import __main__ as setup, pip, tools

CHROMIUM = "usr/lib/chromium/chromium"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it, an own folder for the programs, and an environment that has the browser's packages."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(tools, "BIN", tmp_path / "tools")
    monkeypatch.setattr("sys.argv", ["setup", "tools"])
    monkeypatch.setattr(setup, "VENV", tmp_path / "venv")
    monkeypatch.setattr(setup, "PYTHON", tmp_path / "venv" / "bin" / "python")
    monkeypatch.setattr(setup, "STAMP", tmp_path / "venv" / "stamp.json")
    (tmp_path / "bin").mkdir()
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    program(tmp_path / "venv" / "bin", "python", f'echo "$@" >> {tmp_path}/pip.log')
    monkeypatch.setattr(pip, "make_venv", lambda directory, say: None)
    monkeypatch.setattr(setup, "LOG", tmp_path / "venv" / "log")
    return tmp_path / "bin"


def program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    file.chmod(0o755)


def debian(folder: Path) -> None:
    """apt-get and dpkg of a system where Chromium needs one more package. A package is a file with a list of scripts,
    each of which prints its place."""
    listed = 'printf "Inst libodd (1 Debian)\\nInst chromium [0] (1 Debian)\\nConf chromium (1 Debian)\\n"'
    program(
        folder,
        "apt-get",
        f"""case "$*" in
*simulate*) {listed};;
*" download chromium") exit 9;;
*" download libodd chromium") echo usr/lib/x86_64-linux-gnu/libodd.so > a.deb
    echo usr/bin/chromium {CHROMIUM} > b.deb;;
*" download prometheus") echo usr/bin/promtool usr/bin/prometheus > a.deb;;
*) exit 8;;
esac""",
    )
    program(
        folder,
        "dpkg",
        """for file in $(cat "$2"); do
    mkdir -p "$(dirname "$3/$file")"
    printf '#!/bin/sh\\necho %s $LD_LIBRARY_PATH' "$file" > "$3/$file"
    chmod +x "$3/$file"
done""",
    )


def printed(name: str) -> str:
    done = subprocess.run([str(tools.find(name))], capture_output=True, check=True, text=True, env={})
    return done.stdout.strip()


@pytest.mark.process
def test_programs_are_taken_out_of_packages_once(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    debian(nowhere)
    program(nowhere, "node", "")
    program(
        nowhere, "npm", 'cd "$5"; mkdir -p node_modules/.bin; cd node_modules/.bin; echo echo $6 > tsc; chmod +x tsc'
    )
    (tools.BIN / "typescript").mkdir(parents=True)
    assert setup.main() == 0, capsys.readouterr().err
    assert printed("promtool") == "usr/bin/promtool" and printed("tsc") == tools.TYPESCRIPT
    files = tools.BIN / "chromium-files" / "usr" / "lib"
    assert printed("chromium").split()[0] == CHROMIUM
    assert printed("chromium").split()[1].split(":")[-1] == str(files / "x86_64-linux-gnu")
    for name in ("apt-get", "npm"):
        (nowhere / name).unlink()
    before = {file: file.stat().st_mtime_ns for file in tools.BIN.rglob("*")}
    assert setup.main() == 0
    assert {file: file.stat().st_mtime_ns for file in tools.BIN.rglob("*")} == before, "a second call does nothing"


@pytest.mark.process
def test_what_fails_does_not_stop_the_others(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    debian(nowhere)
    program(nowhere, "apt-get", 'case "$*" in *chromium*) echo "E: no network" >&2; exit 1;; *) touch a.deb;; esac')
    program(nowhere, "dpkg", 'mkdir -p "$3/usr/bin"; cp /bin/true "$3/usr/bin/promtool"')
    assert setup.main() == 1
    said = capsys.readouterr().err
    assert "chromium: `apt-get ... chromium` failed: E: no network" in said
    assert "without it only the tests of the monitor's pages in a browser are skipped" in said
    assert "left out: tsc: there is no npm and no node on PATH" in said
    assert "browser packages: done" in said and "FAILED: prometheus" in said
    assert {each.name for each in tools.BIN.iterdir()} == {"promtool"}


@pytest.mark.process
def test_a_browser_that_does_not_start_is_not_kept(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    debian(nowhere)
    program(
        nowhere,
        "dpkg",
        f"""mkdir -p "$3/usr/bin" "$(dirname "$3/{CHROMIUM}")"; touch "$3/usr/bin/chromium"
printf '#!/bin/sh\\necho libodd.so: cannot open >&2; exit 127' > "$3/{CHROMIUM}"; chmod +x "$3/{CHROMIUM}\"""",
    )
    assert setup.main() == 1
    assert "libodd.so: cannot open" in capsys.readouterr().err
    assert tools.find("chromium") is None


@pytest.mark.process
def test_any_chrome_on_the_path_does(nowhere: Path) -> None:
    program(nowhere, "google-chrome-stable", "")
    assert tools.find("chromium") == str(nowhere / "google-chrome-stable")
