import dataclasses
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from common import config
from common.config import ConfigError, dump, load, load_node, resolve
from common.limits import Duration, Positive
from common.settings import BusSettings
from node.learner.settings import LearnerSettings
from node.mesh.roles import ROLES
from node.prover.settings import ProverSettings


@dataclass
class InnerSettings:
    depth: Positive = 2
    heads: int = 1

    def check(self) -> None:
        if self.depth % self.heads:
            raise ValueError(f"depth {self.depth} cannot be divided among {self.heads} heads")


@dataclass
class ExampleSettings:
    """Fields of every kind."""

    searches: int = 4
    c_init: float = 0.5
    name: str = "x"
    fast: bool = False
    sizes: tuple[int, ...] = (1, 2)
    limit: float | None = None
    place: Path = Path("a")
    inner: InnerSettings = field(default_factory=InnerSettings)
    wait: Duration | None = None


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


def test_a_file_goes_over_the_defaults_and_flags_go_over_the_file(mesh: Path) -> None:
    assert load(ExampleSettings, None, "prover") == ExampleSettings()
    settings = load(ExampleSettings, mesh, "prover", ["--name", "y", "--inner.depth", "9"])
    assert (settings.searches, settings.c_init, settings.name, settings.fast) == (8, 1.0, "y", False)
    assert (settings.sizes, settings.place, settings.inner.depth) == ((3, 4, 5), Path("b/c"), 9)

    @dataclass
    class Learner:
        directory: str = "runs"

    assert load(Learner, mesh, "learner").directory == "somewhere", "the run's directory reaches the learner"


def test_a_role_is_resolved_from_one_command_line(mesh: Path) -> None:
    argv = ["--config", str(mesh), "--searches", "16", "--node.log-level", "error", "--bus.url", "nats://127.0.0.1:1"]
    resolved = resolve(ExampleSettings, "prover", [*argv, "--dry-run"])
    node = resolved.node
    assert (resolved.dry_run, resolved.settings.searches, resolved.settings.c_init) == (True, 16, 1.0)
    assert (node.run, node.log_level, node.bus.url) == ("night-3", "error", "nats://127.0.0.1:1")


def test_what_was_resolved_is_written_without_passwords_and_read_again(mesh: Path, tmp_path: Path) -> None:
    settings, node = load(ExampleSettings, mesh, "prover"), load_node(mesh)
    assert (node.run, node.bus.url, node.log_level) == ("night-3", "nats://127.0.0.1:5000", "debug")
    again = tmp_path / "config.toml"
    again.write_text(dump({"prover": settings, "node": node}))
    assert load(ExampleSettings, again, "prover") == settings and load_node(again) == node
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
        ("[prover]\nwait = -1", r"\[prover\] wait = -1: must be at least 0 and at most 1e\+09, or be left out"),
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
    with pytest.raises(ConfigError, match=r"nothing\.toml: cannot be read: No such file"):
        load_node(tmp_path / "nothing.toml")


GUIDANCE = 'guidance = { use = "value", share = 1.0, exponent = 1.0 }'


@pytest.mark.parametrize(
    ("kind", "section", "off", "on"),
    [
        (LearnerSettings, "learner", "trainer.unlikelihood = 0.0", "trainer.unlikelihood = 0.5"),
        (LearnerSettings, "learner", "model.prefix_lm = false", "model.prefix_lm = true"),
        (LearnerSettings, "learner", "trainer.off_proof_share = 0.0", "trainer.off_proof_share = 0.1"),
        (LearnerSettings, "learner", "trainer.unsolved_steps = 16", "trainer.unsolved_steps = 8"),
        (LearnerSettings, "learner", "replay.inner_proofs = 8", "replay.inner_proofs = 4"),
        (ProverSettings, "prover", "search.negate_below = 0.0", "search.negate_below = 8.0"),
        (ProverSettings, "prover", 'search.merging = "text"', "search.merging = 'names'"),
        (ProverSettings, "prover", "sampling.distinct = false", "sampling.distinct = true"),
        (ProverSettings, "prover", 'progress = ""', "progress = 'runs/progress/model'"),
        (ProverSettings, "prover", GUIDANCE, 'guidance = { use = "rank" }'),
    ],
)
def test_old_files_are_read_or_say_what_is_gone(tmp_path: Path, kind: type, section: str, off: str, on: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[{section}]\n{off}\n")
    assert load(kind, file, section) == kind()
    file.write_text(f"[{section}]\n{on}\n")
    key = re.escape(on.partition(" ")[0])
    with pytest.raises(ConfigError, match=rf"config.toml: \[{section}\] {key} = .* any more.*: delete this line"):
        load(kind, file, section)


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


@pytest.mark.parametrize("argv", [["--serches", "4"], ["--searches", "many"]])
def test_wrong_flags_end_with_code_2_and_name_right_ones(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        resolve(ExampleSettings, "prover", argv)
    assert end.value.code == 2 and "--searches" in capsys.readouterr().err


def test_every_section_of_a_file_is_known() -> None:
    assert {"run", "bus", "node", "lean", *(role.section for role in ROLES.values())} <= set(config.SECTIONS)


def test_a_command_about_a_mesh_finds_the_broker_of_a_file_or_of_a_run(tmp_path: Path) -> None:
    own, run = tmp_path / "mesh.toml", tmp_path / "runs" / "demo"
    own.write_text('[run]\nname = "mine"\n[broker]\nport = 4333\n')
    run.mkdir(parents=True)
    (run / "config.toml").write_text('[run]\nname = "demo"\n[bus]\nurl = "nats://10.0.0.1:1"\n')
    for options, name, url in (
        ({"config": own}, "mine", "nats://127.0.0.1:4333"),
        ({"config": run}, "demo", "nats://10.0.0.1:1"),
        ({"config": None}, "demo", BusSettings().url),
        ({"config": run, "run": "other", "url": "nats://10.0.0.2:2"}, "other", "nats://10.0.0.2:2"),
    ):
        told = config.MeshOptions(**options).mesh()
        assert (told.run, told.bus.url) == (name, url)


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROOFMESH_NATS_USER", "PROOFMESH_NATS_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("address", "url", "credentials"),
    [
        ("nats://mesh:secret@h:4222", "nats://h:4222", ("mesh", "secret")),
        ("mesh:secret@h:4222", "h:4222", ("mesh", "secret")),
        ("nats://secret@h", "nats://h", ("", "secret")),
        ("nats://mesh:sec%40ret@h", "nats://h", ("mesh", "sec@ret")),
        ("nats://mesh:s/e@c?r#et@h", "nats://h", ("mesh", "s/e@c?r#et")),
        ("nats://h1:1, tls://mesh:secret@h2,nats://other:x@h3", "nats://h1:1,tls://h2,nats://h3", ("mesh", "secret")),
        ("nats://h1:1", "nats://h1:1", ("", "")),
    ],
)
def test_an_address_is_kept_without_its_credentials(address: str, url: str, credentials: tuple[str, str]) -> None:
    bus = BusSettings(url=address)
    assert bus.url == url and bus.credentials() == credentials and "secret" not in repr(bus)
    assert dataclasses.replace(bus).credentials() == credentials


def test_credentials_of_the_address_win_over_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFMESH_NATS_USER", "else")
    monkeypatch.setenv("PROOFMESH_NATS_PASSWORD", "where")
    assert BusSettings(url="nats://secret@h").credentials() == ("", "secret")
    assert BusSettings(user="mesh").credentials() == ("mesh", "where")
    assert BusSettings().credentials() == ("else", "where")
