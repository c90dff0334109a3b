"""A lean-proxy, `verify` and `prove` on a Lake project."""

from functools import partial

import pytest

from common.config import load
from common.lean import OutcomeKind, Theorem
from common.protocol import subjects
from common.protocol.messages import LeanRunReply, LeanRunRequest, LeanVerifyReply, LeanVerifyRequest
from node.command import cli
from node.lean_proxy.service import serve
from node.lean_proxy.settings import LeanProxySettings
from tests import lean_project

pytestmark = pytest.mark.lean


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A built project, and elan's `lake` first on PATH."""
    home = tmp_path / "elan"
    toolchain = lean_project.make_elan(home)
    for name, value in lean_project.environ(home, home / "bin").items():
        monkeypatch.setenv(name, value)
    return lean_project.make_project(tmp_path / "demo", toolchain)


@pytest.fixture
def config(project, tmp_path):
    """A configuration file for it."""
    file = tmp_path / "mesh.toml"
    file.write_text(f'[lean]\nproject = "{project}"\nimports = ["Demo.Basic"]\nopens = ["Demo"]\n')
    return file


@pytest.fixture
def run(called):
    """The command line in this process."""
    return partial(called, cli.main)


def test_a_lean_proxy_serves_a_project_and_says_so(background, mesh_run, project, config, tmp_path):
    settings = load(LeanProxySettings, config, "lean_proxy")
    settings.workers, settings.key = 1, str(tmp_path / "key.pem")
    theorem = Theorem("t", "", "double 0 = 0")
    with background.node("lean-proxy", mesh_run.node, partial(serve, settings=settings)) as node:

        def ask(subject, request, reply):
            return background.run(node.bus.request_patiently(subject, request, reply, timeout=60, deadline=60), 90)

        ran = ask(subjects.LEAN_RUN, LeanRunRequest(theorem=theorem, tactics=("exact double_zero",)), LeanRunReply)
        assert ran.outcomes[0].kind is OutcomeKind.PROVED
        check = LeanVerifyRequest(theorem=theorem, script="exact double_zero")
        assert ask(subjects.LEAN_VERIFY, check, LeanVerifyReply).accepted
        facts = node.info().facts
        assert (facts.version, facts.name) == ("4.35.0", lean_project.NAME)
        assert (facts.project, facts.header) == (str(project), "import Demo.Basic\nopen Demo")
