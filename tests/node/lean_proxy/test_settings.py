"""The sections [lean] and [lean_proxy] of a configuration file."""

import pytest

from common.config import ConfigError, dump, load, load_lean
from common.settings import LeanSettings
from node.lean_proxy.settings import LeanProxySettings


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('imports = ["import A"]', "is not a module name"),
        ('opens = ["open Nat"]', "name a namespace"),
        ('options = ["maxRecDepth"]', "write NAME=VALUE"),
        ('projct = "x"', "did you mean `project`?"),
        ("header_seconds = -1", "must be more than 0"),
    ],
)
def test_what_is_wrong_in_the_section_is_told_by_its_name(tmp_path, line, says):
    file = tmp_path / "mesh.toml"
    file.write_text(f"[lean]\n{line}\n")
    with pytest.raises(ConfigError, match=r"mesh\.toml: \[lean\]") as caught:
        load(LeanProxySettings, file, "lean_proxy")
    assert says in str(caught.value)


def test_one_section_serves_all_that_run_lean(tmp_path):
    file = tmp_path / "mesh.toml"
    file.write_text('[lean]\nproject = "p"\nimports = ["A"]\n[lean_proxy]\nworkers = 3\n')
    settings = load(LeanProxySettings, file, "lean_proxy")
    assert settings.lean == load_lean(file) == LeanSettings(project="p", imports=["A"]) and settings.workers == 3
    again = tmp_path / "again.toml"
    again.write_text(dump({"lean_proxy": settings}))
    assert "[lean]" in again.read_text() and load(LeanProxySettings, again, "lean_proxy") == settings
