"""`just setup`, and what `pip install .` installs: everything that is needed at run time, not only Python sources."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scripts.setup import __main__ as setup, pip, steps, tools
from tests import lean_project

ROOT = Path(__file__).parents[2]
GOOD = steps.Facts("Linux", "x86_64", (2, 35), (3, 11), 50_000)


def test_a_set_up_that_failed_goes_on_where_it_was(tmp_path: Path) -> None:
    stamp, journal, broken = steps.Stamp(tmp_path / "stamp.json"), [], [True]

    def second() -> None:
        if broken:
            raise RuntimeError("no network")
        journal.append("b")

    works = {"a": lambda: journal.append("a"), "b": second, "c": lambda: journal.append("c")}
    plan = [steps.SetupStep(name, "1", work) for name, work in works.items()]
    with pytest.raises(steps.StepFailed, match="b: no network"):
        steps.run(plan, stamp, lambda line: None)
    broken.clear()
    assert steps.run(plan, stamp, lambda line: None) == 2 and journal == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"system": "Darwin", "architecture": "arm64", "glibc": None}, "Linux on x86_64"),
        ({"architecture": "aarch64"}, "Linux on x86_64"),
        ({"glibc": None}, "no glibc"),
        ({"glibc": (2, 31)}, "glibc 2.31 is too old"),
        ({"python": (3, 10)}, "Python 3.10"),
        ({"python": (3, 15)}, "Python 3.15"),
        ({"disk_free_mb": 900}, "900 MB are free"),
    ],
)
def test_each_problem_says_what_to_do(changed: dict[str, object], words: str) -> None:
    facts = steps.Facts(**{**vars(GOOD), **changed})  # type: ignore[arg-type]
    (found,) = steps.problems(facts, "cpu", fresh=True)
    assert words in found


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("NewConnectionError('<...>: Temporary failure in name resolution')", "cannot be reached"),
        ("ERROR: No matching distribution found for aiohttp==3.14.5", "does not have this version"),
        ("ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED]", "PIP_CERT"),
    ],
)
def test_failures_of_pip_come_with_advice(output: str, words: str) -> None:
    assert words in pip.advice(output)


@pytest.mark.process
def test_a_system_where_no_way_works_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python without pip whose venv lacks ensurepip, as on Debian."""
    program(tmp_path, "python3", "echo 'No module named ensurepip' >&2\nexit 1")
    monkeypatch.setattr(pip, "base_python", lambda: str(tmp_path / "python3"))
    monkeypatch.setattr(pip.shutil, "which", lambda name: None)  # no uv either
    with pytest.raises(pip.VenvError, match=r"(?s)(?=.*sudo apt install python3-venv).*ensurepip"):
        pip.make_venv(tmp_path / "venv", lambda line: None)
    assert not (tmp_path / "venv").exists()


def named(requirement: Requirement) -> str:
    return requirement.name.lower().replace("_", "-")


def pins() -> dict[str, str]:
    lines = (ROOT / "requirements" / "base.txt").read_text().splitlines()
    found = (Requirement(line) for line in lines if re.match(r"[A-Za-z]", line))
    return {named(each): str(each.specifier).removeprefix("==") for each in found}


def test_pins_agree_with_the_project_file_and_every_transitive_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    direct = [Requirement(text) for text in [*project["dependencies"], *extras["dev"], *extras["models"]]]
    for each in direct:
        if not each.name.startswith("torch"):
            assert pins().get(named(each)) == str(each.specifier).removeprefix("=="), each
    waiting, seen = list(direct), set()
    while waiting:
        found = waiting.pop()
        wanted = found.marker is None or found.marker.evaluate({"extra": ""})
        if wanted and named(found) not in seen and not named(found).startswith(("nvidia-", "cuda-", "triton")):
            seen.add(named(found))
            waiting += map(Requirement, importlib.metadata.requires(found.name) or [])
    assert len(seen) > 40
    assert seen - {"torch"} <= set(pins()), "beside torch's own exact pins"


@pytest.mark.process
def test_the_start_script_refuses_an_old_python_with_advice() -> None:
    env = {"PATH": "/usr/bin:/bin", "PYTHON": "/bin/false"}
    done = subprocess.run(["/bin/sh", str(ROOT / "start"), "--setup"], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "PYTHON=/bin/false is not Python 3.11 or later" in done.stderr


CHROMIUM = "usr/lib/chromium/chromium"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it, an own folder for the programs, and an environment that has the browser's packages."""
    venv = tmp_path / "venv"
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(tools, "BIN", tmp_path / "tools")
    monkeypatch.setattr("sys.argv", ["setup", "tools"])
    for name, path in (("VENV", ""), ("PYTHON", "bin/python"), ("STAMP", "stamp.json"), ("LOG", "log")):
        monkeypatch.setattr(setup, name, venv / path)
    (tmp_path / "bin").mkdir()
    program(venv / "bin", "python", f'echo "$@" >> {tmp_path}/pip.log')
    monkeypatch.setattr(pip, "make_venv", lambda directory, say: None)
    return tmp_path / "bin"


def program(folder: Path, name: str, script: str) -> None:
    lean_project.program(folder / name, f"PATH=/usr/bin:/bin\n{script}")


def debian(folder: Path) -> None:
    """apt-get and dpkg of a system where Chromium needs one more package. A package is a file with a list of scripts,
    each of which prints its place."""
    listed = 'printf "Inst libodd (1 Debian)\\nInst chromium [0] (1 Debian)\\nConf chromium (1 Debian)\\n"'
    packages = f"""case "$*" in
*simulate*) {listed};;
*" download chromium") exit 9;;
*" download libodd chromium") echo usr/lib/x86_64-linux-gnu/libodd.so > a.deb
    echo usr/bin/chromium {CHROMIUM} > b.deb;;
*" download prometheus") echo usr/bin/promtool usr/bin/prometheus > a.deb;;
*) exit 8;;
esac"""
    unpacks = """for file in $(cat "$2"); do
    mkdir -p "$(dirname "$3/$file")"
    printf '#!/bin/sh\\necho %s $LD_LIBRARY_PATH' "$file" > "$3/$file"
    chmod +x "$3/$file"
done"""
    program(folder, "apt-get", packages)
    program(folder, "dpkg", unpacks)


def printed(name: str) -> str:
    return subprocess.run([str(tools.find(name))], capture_output=True, check=True, text=True, env={}).stdout.strip()


@pytest.mark.process
def test_programs_are_taken_out_of_packages_once(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    debian(nowhere)
    program(nowhere, "node", "")
    installs = 'cd "$5"; mkdir -p node_modules/.bin; cd node_modules/.bin; echo echo $6 > tsc; chmod +x tsc'
    program(nowhere, "npm", installs)
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
def test_a_browser_that_does_not_start_is_not_kept_and_any_chrome_does(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    debian(nowhere)
    unpacks = f"""mkdir -p "$3/usr/bin" "$(dirname "$3/{CHROMIUM}")"; touch "$3/usr/bin/chromium"
printf '#!/bin/sh\\necho libodd.so: cannot open >&2; exit 127' > "$3/{CHROMIUM}"; chmod +x "$3/{CHROMIUM}\""""
    program(nowhere, "dpkg", unpacks)
    assert setup.main() == 1 and "libodd.so: cannot open" in capsys.readouterr().err
    assert tools.find("chromium") is None
    program(nowhere, "google-chrome-stable", "")
    assert tools.find("chromium") == str(nowhere / "google-chrome-stable")


PACKAGES = ("broker", "common", "data", "node", "scripts", "ui")


@pytest.mark.slow
def test_a_wheel_holds_every_file_of_the_packages(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    command = [*pip, "-w", tmp_path, tree]
    subprocess.run(command, check=True, env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    wanted = {name for name in filter(None, tracked.split("\0")) if name.startswith(tuple(f"{p}/" for p in PACKAGES))}
    assert {name for name in wanted if (ROOT / name).is_file() and not name.endswith(".md")} <= packed
