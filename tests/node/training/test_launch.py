"""Ranks as child processes: started together, ended together."""

import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from node.data.errors import TrainingError
from node.training import launch

STUBBORN = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1], os.environ["RANK"]).touch()
time.sleep(600)
"""


@pytest.mark.process
def test_ranks_that_do_not_end_after_a_signal_are_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "GRACE", 0.2)

    def stop_when_ready() -> None:
        while len(list(tmp_path.iterdir())) < 2:
            ready.wait(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    ready = threading.Event()
    threading.Thread(target=stop_when_ready, daemon=True).start()
    with pytest.raises(TrainingError, match=r"ranks \[0, 1\]"):
        launch.launch(["-c", STUBBORN, str(tmp_path)], 2, 1, tmp_path)


@pytest.mark.process
def test_the_rank_that_failed_gives_the_exit_code(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit(3 * int(os.environ['RANK']))"
    assert launch.launch(["-c", code], 2, 1, tmp_path) == 3


@pytest.mark.parametrize("where", ["", "host", "host:", ":29500", "host:port"])
def test_several_machines_need_an_address(where: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        launch.torchrun("module", [], machines=2, machine=1, ranks=1, where=where)


def test_a_rendezvous_is_open_where_it_is_named_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with launch.opened("127.0.0.1", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
    with pytest.raises(SystemExit, match=r"192.0.2.7:29500: this machine cannot listen there .*write its own address"):
        launch.opened("192.0.2.7", 29500)
    # What Debian writes into its list of hosts for the machine's own name.
    own = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.1.1", 29500))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: own)
    with pytest.raises(SystemExit, match=r"trainer-1 is 127.0.1.1 on this machine, which no other machine reaches"):
        launch.opened("trainer-1", 29500)
