"""The build of torch that set-up chooses, with fake wheels of torch and uv in the only folder that pip sees."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import zipfile
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import pytest

from scripts.setup import pip, torch

pytestmark = pytest.mark.process

VERSION = "2.13.0"
CPU, DEFAULT = f"{VERSION}+cpu", VERSION

UV = """
import subprocess, sys
if "--dry-run" in sys.argv:
    DRY_RUN
else:
    sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", "--no-deps", sys.argv[-1]]))
"""


def make_wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """A wheel that runs on any Python, with these files in it. Returns where it is."""
    info = f"{name}-{version}.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in files.items())
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in (files | {f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}).items():
            archive.writestr(path, text)
    return wheel


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@dataclass
class World:
    """An environment to set up, and the folder of wheels that pip finds there and nowhere else."""

    folder: Path
    python: Path
    said: list[str] = field(default_factory=list)

    def holds_torch(self, *versions: str) -> None:
        """Add wheels of these versions."""
        for version in versions:
            make_wheel(self.folder / "wheels", "torch", version, {"torch/__init__.py": ""})

    def has_torch(self, version: str) -> None:
        """The environment has this version."""
        self._unpack(make_wheel(self.folder, "torch", version, {"torch/__init__.py": ""}))

    def has_uv(self, dry_run: str) -> None:
        """The environment has a uv that executes this statement in place of a dry run."""
        files = {"uv/__init__.py": "", "uv/__main__.py": UV.replace("DRY_RUN", dry_run)}
        self._unpack(make_wheel(self.folder, "uv", torch.uv_version(), files))

    def _unpack(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(torch.site_packages(self.python.parents[1]))

    def install_cpu(self) -> str:
        """Run the set-up step for torch; returns the installed version."""
        requirements = self.folder / "cpu.txt"
        requirements.write_text(f"torch=={VERSION}\n")
        torch.install_cpu(self.python, requirements, self.folder / "log", self.said.append)
        return self.installed()

    def prepare_gpu(self) -> str:
        """The same for a machine with a GPU."""
        requirements = self.folder / "gpu.txt"
        requirements.write_text("torch>=2.11,<2.14,!=2.13.0+cpu\n")
        environment = self.python.parents[1]
        torch.prepare_gpu(environment, self.python, requirements, self.folder / "log", self.said.append)
        return self.installed()

    def installed(self) -> str:
        found = metadata.distributions(name="torch", path=[str(torch.site_packages(self.python.parents[1]))])
        return next((each.version for each in found), "")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    environment = tmp_path / "venv"
    subprocess.run([pip.base_python(), "-m", "venv", "--without-pip", environment], check=True)
    for part in ("pip", f"pip-{metadata.version('pip')}.dist-info"):
        (torch.site_packages(environment) / part).symlink_to(Path(str(metadata.distribution("pip").locate_file(part))))
    (tmp_path / "wheels").mkdir()
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_", "PROOFMESH_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    world = World(tmp_path, environment / "bin" / "python")
    world.has_uv("sys.exit('error: no network')")
    return world


def test_without_a_cpu_build_the_default_build_is_taken(world: World) -> None:
    world.holds_torch(DEFAULT)
    assert world.install_cpu() == DEFAULT


@pytest.mark.parametrize("there", [CPU, DEFAULT])
def test_a_build_that_is_there_stays_and_nothing_is_asked(there: str, world: World) -> None:
    world.has_torch(there)
    assert world.install_cpu() == there
    assert world.said == []


@pytest.mark.slow
def test_a_failure_that_is_not_a_missing_build_does_not_lead_to_the_large_one(world: World) -> None:
    world.holds_torch(DEFAULT)
    (world.folder / "wheels" / f"torch-{CPU}-py3-none-any.whl").write_text("cut short")
    with pytest.raises(pip.PipError):
        world.install_cpu()
    assert world.installed() == ""


@pytest.mark.slow
def test_uv_comes_first_where_it_reaches_the_index(world: World) -> None:
    world.has_uv(f"print(' + torch=={CPU}')")
    world.holds_torch(CPU, DEFAULT)
    assert world.install_cpu() == CPU
    assert len(world.said) == 1


@pytest.fixture
def no_cuda_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the packages of the machine's own Python."""
    monkeypatch.setattr(torch, "find_cuda_torch", lambda python_version: None)


@pytest.mark.slow
@pytest.mark.usefixtures("no_cuda_torch")
def test_for_a_gpu_uv_picks_the_build_for_the_driver(world: World) -> None:
    world.has_uv("print(' + torch==2.13.0+cu130')")
    world.holds_torch("2.13.0+cu130", CPU, DEFAULT)
    assert world.prepare_gpu() == "2.13.0+cu130"
