"""Configuration of the web monitor."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import tyro

from common.limits import Duration, Port
from common.machine import is_loopback
from common.output.command import UserError
from common.settings import LifeSettings, WebSettings, token_of

TRAINING = "training"
"""Name in place of a run's: show no mesh."""


TOKEN_FILE = ".monitor-token"
"""In the folder of runs: the token that was made for their monitors."""

TOKEN_BYTES = 24
"""Random bytes of a token."""


@dataclass
class UiSettings(WebSettings):
    """The web monitor: live pages about a mesh, and about all runs of a folder."""

    section = "ui"

    host: str = "127.0.0.1"
    """Address to listen on. On loopback the page needs no token: everybody on this machine can read it. On any other
    address it needs one, or `client_ca`."""

    token: str = field(default="", repr=False)
    """What a reader needs: a browser opens http://HOST:PORT/?token=TOKEN once, a program sends `Authorization: Bearer
    TOKEN`. Empty takes that of [node], or PROOFMESH_TOKEN. If there is none and the page needs one, it is made, kept in
    `.monitor-token` in the folder of runs, and printed with the address."""

    port: Port = 5050
    """Port to listen on; 0 takes a free one and prints it."""

    folder: str = ""
    """The folder of the mesh's run, which has its records and curves. Empty: the one of its name in `runs`, if a
    learner of the mesh owns it. If it is not on this machine, pages show only what the mesh says."""

    runs: Annotated[str, tyro.conf.arg(aliases=["--directory"])] = "runs"
    """Folder of run directories, all of which are shown: runs of learners, training runs, self-play, evaluations.
    Empty: none."""

    demo: bool = False
    """Play a recorded run back, eight times as fast, to look around: no mesh, no training, nothing to set up."""

    allow_control: bool = False
    """Whoever has the token may also act: ask nodes what they do, have them leave, pause collection, evaluate now,
    submit statements. On a broker with keys this needs the operator's key (`admin`). On loopback, too, there is a token
    then."""

    mesh: bool = True
    """Connect to the run's broker. With `--no-mesh`, runs are shown from their files."""

    patience: Duration | None = 3.0
    """Seconds in which the broker must answer and have nodes of the run; otherwise the run is shown from its files.
    None: wait for the broker."""


def page_token(settings: UiSettings, node: LifeSettings) -> str:
    """The token of the monitor's page; empty if it needs none. Makes one if it must. Raises UserError."""
    token = token_of(settings.token, node.token)
    if token or ((settings.client_ca or is_loopback(settings.host)) and not settings.allow_control):
        return token
    if not settings.runs:
        return secrets.token_urlsafe(TOKEN_BYTES)
    file = Path(settings.runs) / TOKEN_FILE
    try:
        # The same at each start, so that an address that somebody has kept stays right.
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "r+") as kept:
            if not (token := kept.read().strip()):
                token = secrets.token_urlsafe(TOKEN_BYTES)
                kept.write(token + "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"cannot keep a token for the monitor in {file} ({error}); set [ui] token (or PROOFMESH_TOKEN), or listen "
            "on 127.0.0.1"
        ) from error
    return token


def with_token(address: str, token: str) -> str:
    """The address, without a path, that a browser opens once."""
    return f"{address}/?token={quote(token, safe='')}" if token else address
