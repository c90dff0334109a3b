import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from common import config
from common.config import ConfigError, dump, load, load_node, resolve
from common.limits import Duration, Positive
from common.settings import BusSettings
from node.mesh.roles import ROLES


@dataclass
class InnerSettings:
    """Inner."""

    depth: Positive = 2
    """Depth."""

    heads: int = 1
    """Heads."""

    def check(self) -> None:
        if self.depth % self.heads:
            raise ValueError(f"depth {self.depth} cannot be divided among {self.heads} heads")


@dataclass
class ExampleSettings:
    """An example of a role."""

    searches: int = 4
    """Searches at once."""

    c_init: float = 0.5
    """Exploration."""

    name: str = "x"
    """Name."""

    fast: bool = False
    """Fast."""

    sizes: tuple[int, ...] = (1, 2)
    """Sizes."""

    limit: float | None = None
    """Limit."""

    place: Path = Path("a")
    """Place."""

    inner: InnerSettings = field(default_factory=InnerSettings)
    """Inner."""

    wait: Duration | None = None
    """Wait."""


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    file = tmp_path / "mesh.toml"
    file.write_text(
        """
        [run]
        name = "night-3"
        dir = "somewhere"
        [bus]
        url = "nats://127.0.0.1:5000"
        [node]
        log_level = "debug"
        [prover]
        searches = 8
        c_init = 1
        sizes = [3, 4, 5]
        place = "b/c"
        inner.depth = 7
        """
    )
    return file


def test_a_file_goes_over_the_defaults(mesh: Path) -> None:
    settings = load(ExampleSettings, mesh, "prover")
    assert (settings.searches, settings.c_init, settings.name) == (8, 1.0, "x")
    assert (settings.sizes, settings.place, settings.inner.depth) == ((3, 4, 5), Path("b/c"), 7)


def test_flags_go_over_the_file(mesh: Path) -> None:
    settings = load(ExampleSettings, mesh, "prover", ["--name", "y", "--inner.depth", "9"])
    assert (settings.searches, settings.name, settings.inner.depth) == (8, "y", 9)


def test_no_file_means_the_defaults() -> None:
    assert load(ExampleSettings, None, "prover") == ExampleSettings()


def test_what_every_role_reads(mesh: Path) -> None:
    node = load_node(mesh)
    assert (node.run, node.bus.url, node.log_level) == ("night-3", "nats://127.0.0.1:5000", "debug")


def test_a_role_is_resolved_from_one_command_line(mesh: Path) -> None:
    argv = ["--config", str(mesh), "--searches", "16", "--node.log-level", "error", "--bus.url", "nats://127.0.0.1:1"]
    resolved = resolve(ExampleSettings, "prover", [*argv, "--dry-run"])
    assert resolved.dry_run
    assert (resolved.settings.searches, resolved.settings.c_init) == (16, 1.0)
    assert (resolved.node.run, resolved.node.log_level, resolved.node.bus.url) == (
        "night-3",
        "error",
        "nats://127.0.0.1:1",
    )


def test_the_run_directory_reaches_the_learner(mesh: Path) -> None:
    @dataclass
    class Learner:
        """Learner."""

        directory: str = "runs"
        """Directory."""

    assert load(Learner, mesh, "learner").directory == "somewhere"


def test_what_was_resolved_is_written_and_read_again(mesh: Path, tmp_path: Path) -> None:
    settings, node = load(ExampleSettings, mesh, "prover"), load_node(mesh)
    again = tmp_path / "config.toml"
    again.write_text(dump({"prover": settings, "node": node}))
    assert load(ExampleSettings, again, "prover") == settings
    assert load_node(again) == node


def test_passwords_are_not_written(mesh: Path) -> None:
    node = load_node(mesh)
    node.bus = dataclasses.replace(node.bus, user="u", password="secret")
    assert "secret" not in dump({"node": node})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[prover]\nserches = 1", r"mesh.toml: \[prover\] serches: unknown key; did you mean `searches`\?"),
        ("[prover]\nzzz = 1", r"\[prover\] zzz: unknown key; there are `searches`"),
        ("[prover]\nsearches = 'many'", r"mesh.toml: \[prover\] searches: expected `int`, got `str`"),
        ("[prover]\nsearches = 1.5", r"\[prover\] searches: expected `int`, got `float`"),
        ("[prover]\nfast = 1", r"\[prover\] fast: expected `bool`, got `int`"),
        ("[prover]\ninner.dept = 1", r"\[prover\] inner\.dept: unknown key; did you mean `depth`\?"),
        ("[prover]\nsizes = [1, 'a']", r"sizes\[1\]: expected `int`"),
        (
            "[prover]\nwait = -1",
            r"mesh.toml: \[prover\] wait = -1: must be at least 0 and at most 1e\+09, or be left out",
        ),
        ("[prover]\nwait = nan", r"\[prover\] wait = nan: must be at least 0"),
        ("[prover]\nwait = inf", r"\[prover\] wait = inf: must be at least 0"),
        ("[prover]\nwait = 'x'", r"\[prover\] wait: expected `float | null`"),
        ("[prover]\ninner.depth = 0", r"\[prover\] inner\.depth = 0: must be at least 1"),
        ("[prover]\ninner.heads = 3", r"\[prover\] inner: depth 2 cannot be divided among 3 heads"),
        ("[prver]\n", r"\[prver\]: unknown section; did you mean `prover`\?"),
        ("prover = 3", "expected a section"),
        ("[prover", "is not TOML"),
    ],
)
def test_errors_say_file_section_and_key(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load(ExampleSettings, file, "prover")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.toml: cannot be read: No such file"):
        load_node(tmp_path / "nothing.toml")


@pytest.mark.parametrize(("argv", "said"), [(["--serches", "4"], "--searches"), (["--searches", "many"], "--searches")])
def test_wrong_flags_end_with_code_2_and_say_what_was_meant(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        resolve(ExampleSettings, "prover", argv)
    assert end.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--wait", "nan"], "^--wait = nan: must be at least 0"),
        (["--inner.depth", "-3"], "^--inner.depth = -3: must be at least 1"),
        (["--inner.heads", "3"], "^--inner: depth 2 cannot be divided"),
        (["--node.metrics-port", "65536"], "^--node.metrics-port = 65536: must be at least 0 and at most 65535"),
    ],
)
def test_values_of_flags_must_make_sense_too(argv: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(ExampleSettings, "prover", argv)


def test_every_section_of_a_file_is_known() -> None:
    assert {"run", "bus", "node", "lean", *(role.section for role in ROLES.values())} <= set(config.SECTIONS)


def test_a_command_about_a_mesh_finds_the_broker_of_a_file_or_of_a_run(tmp_path: Path) -> None:
    own, run = tmp_path / "mesh.toml", tmp_path / "runs" / "demo"
    own.write_text('[run]\nname = "mine"\n[broker]\nport = 4333\n')
    run.mkdir(parents=True)
    (run / "config.toml").write_text('[run]\nname = "demo"\n[bus]\nurl = "nats://10.0.0.1:1"\n')
    found = [config.MeshOptions(config=each).mesh() for each in (own, run, None)]
    assert [(each.run, each.bus.url) for each in found] == [
        ("mine", "nats://127.0.0.1:4333"),
        ("demo", "nats://10.0.0.1:1"),
        ("demo", BusSettings().url),
    ]
    told = config.MeshOptions(config=run, run="other", url="nats://10.0.0.2:2").mesh()
    assert (told.run, told.bus.url) == ("other", "nats://10.0.0.2:2")
