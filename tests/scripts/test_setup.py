import importlib.metadata
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scripts.setup import pip, steps

ROOT = Path(__file__).parents[2]
GOOD = steps.Facts("Linux", "x86_64", (2, 35), (3, 11), 50_000)


# --- steps ------------------------------------------------------------------------------------------------------------


def step(name: str, key: str | None, journal: list[str], **options: object) -> steps.SetupStep:
    return steps.SetupStep(name, key, lambda: journal.append(name), **options)  # type: ignore[arg-type]


def test_a_set_up_that_failed_goes_on_where_it_was(tmp_path: Path) -> None:
    stamp, journal, broken = steps.Stamp(tmp_path / "stamp.json"), [], [True]

    def second() -> None:
        if broken:
            raise RuntimeError("no network")
        journal.append("b")

    plan = [step("a", "1", journal), steps.SetupStep("b", "1", second), step("c", "1", journal)]
    with pytest.raises(steps.StepFailed, match="b: no network"):
        steps.run(plan, stamp, lambda line: None)
    broken.clear()
    assert steps.run(plan, stamp, lambda line: None) == 2
    assert journal == ["a", "b", "c"]


# --- the machine ------------------------------------------------------------------------------------------------------


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
    found = steps.problems(facts, "cpu", fresh=True)
    assert len(found) == 1
    assert words in found[0]


# --- pip --------------------------------------------------------------------------------------------------------------


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


# --- environments -----------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_a_system_where_no_way_works_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python without pip whose venv lacks ensurepip, as on Debian."""
    stub = tmp_path / "python3"
    stub.write_text("#!/bin/sh\necho 'No module named ensurepip' >&2\nexit 1\n")
    stub.chmod(0o755)
    monkeypatch.setattr(pip, "base_python", lambda: str(stub))
    monkeypatch.setattr(pip.shutil, "which", lambda name: None)  # no uv either
    with pytest.raises(pip.VenvError) as failure:
        pip.make_venv(tmp_path / "venv", lambda line: None)
    assert "sudo apt install python3-venv" in str(failure.value)
    assert "ensurepip" in str(failure.value)
    assert not (tmp_path / "venv").exists()


# --- pins -------------------------------------------------------------------------------------------------------------


def pins() -> dict[str, str]:
    lines = (ROOT / "requirements" / "base.txt").read_text().splitlines()
    found = (line.split("==") for line in lines if re.match(r"[A-Za-z]", line))
    return {name.lower().replace("_", "-"): version for name, version in found}


def test_pins_agree_with_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["dev"], *extras["models"]]
    for requirement in wanted:
        name, _, version = requirement.partition(";")[0].strip().partition("==")
        if not name.startswith("torch"):
            assert pins().get(name.lower().replace("_", "-")) == version, requirement


def test_every_transitive_dependency_is_pinned() -> None:
    waiting, seen = [("proofmesh", "dev"), ("proofmesh", "models")], set()
    while waiting:
        name, extra = waiting.pop()
        for text in importlib.metadata.requires(name) or []:
            requirement = Requirement(text)
            needed = requirement.name.lower().replace("_", "-")
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
                continue
            if needed not in seen and not needed.startswith(("nvidia-", "cuda-", "triton")):  # torch's own exact pins
                seen.add(needed)
                waiting.append((needed, ""))
    assert len(seen) > 40
    assert seen - {"torch"} <= set(pins())


@pytest.mark.process
def test_the_start_script_refuses_an_old_python_with_advice() -> None:
    done = subprocess.run(
        ["/bin/sh", str(ROOT / "start"), "--setup"],
        env={"PATH": "/usr/bin:/bin", "PYTHON": "/bin/false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "PYTHON=/bin/false is not Python 3.11 or later" in done.stderr
