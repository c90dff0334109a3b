"""`proofmesh broker keys`, `invite`, `revoke`: who may join a run, and as what.

They read and write files in the broker's store. A broker that runs with keys takes them within 5 seconds; one that runs
without keys has to be started again. Exit code: 0 done, 2 bad input.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from broker.settings import BrokerSettings
from common.config import load, load_node
from common.machine import is_loopback, name_for_others
from common.output.command import Exit, UserError, command
from common.output.visible import as_json, say, visible
from common.protocol.subjects import OWNER, check_run_name
from common.settings import Invite, RunSettings

if TYPE_CHECKING:
    from common.bus import Role

WORKER = ("prover", "lean-proxy")
"""The roles of a machine that only joins."""


@dataclass
class _Keys:
    """Which keys."""

    run: tyro.conf.Positional[str]
    """Name of the run."""

    config: Path | None = None
    """The mesh's configuration file, for its broker."""

    store: str = ""
    """Folder of the broker's streams and keys; empty takes the file's ([broker] store), or runs/.broker."""


@dataclass
class KeysSettings(_Keys):
    """Make the keys of a run that are missing, and list those that count."""

    configuration: bool = False
    """Print the accounts for a nats-server of your own, as its configuration, in place of the list."""


@dataclass
class InviteSettings(_Keys):
    """Make new keys for another machine or person, and print one line that holds all that they need. It is not kept:
    who has the line has the keys."""

    role: tuple[str, ...] = WORKER
    """What they may be: client, prover, lean-proxy, verifier, inference, learner, stp, ui, viewer or admin."""

    name: str = ""
    """Under which name they can be revoked, and a client asks for attempts; empty: a new one."""

    url: str = ""
    """The broker's address for them; empty: that of this machine."""


@dataclass
class RevokeSettings(_Keys):
    """Take keys away. Their connections end. A role's own key is replaced by a new one: start its nodes again."""

    who: tyro.conf.Positional[str] = tyro.MISSING
    """The name of an invite, or a role."""


Settings = (
    Annotated[KeysSettings, tyro.conf.subcommand("keys")]
    | Annotated[InviteSettings, tyro.conf.subcommand("invite")]
    | Annotated[RevokeSettings, tyro.conf.subcommand("revoke")]
)


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    return command(Settings, list(argv), _run, prog="proofmesh broker", description=__doc__)


def _run(settings: KeysSettings | InviteSettings | RevokeSettings) -> int:
    broker = load(BrokerSettings, settings.config, "broker")
    broker.store = settings.store or broker.store
    check_run_name(settings.run)
    if isinstance(settings, KeysSettings):
        return _keys(settings, broker)
    return _invite(settings, broker) if isinstance(settings, InviteSettings) else _revoke(settings, broker)


def _keys(settings: KeysSettings, broker: BrokerSettings) -> int:
    from broker import keys

    folder = keys.make(broker.store, settings.run)
    if settings.configuration:
        print(as_json({"accounts": keys.accounts(broker.store, [settings.run])}))
        return Exit.DONE
    say(f"keys of run {settings.run} in {visible(str(folder))}")
    for user in keys.users(broker.store, settings.run):
        say(f"  {user.role:<11} {user.public}  {'' if user.name == OWNER else visible(user.name)}".rstrip())
    say(f"on this machine:  export PROOFMESH_KEY={visible(str(folder))}")
    say(f"for others:       proofmesh broker invite {settings.run} --role client")
    return Exit.DONE


def _invite(settings: InviteSettings, broker: BrokerSettings) -> int:
    from broker import keys
    from common.bus.credentials import announcers, text_of

    name = settings.name or f"guest-{secrets.token_hex(3)}"
    seeds = keys.invite(broker.store, settings.run, _roles(settings.role), name)
    if not settings.url and is_loopback(broker.host):
        say(f"the broker listens on {broker.host}: --url names its address for other machines", file=sys.stderr)
    url = settings.url or f"nats://{name_for_others(broker.host)}:{broker.port}"
    bus = load_node(settings.config).bus
    learners = (*bus.learner_keys(), *announcers(keys.folder_of(broker.store, settings.run)))
    told = Invite(settings.run, url, name, seeds, _verifiers(settings), text_of(bus.ca), learners)
    say(
        f"for {', '.join(seeds)} of run {settings.run} at {visible(url)}, called {name}: PROOFMESH_INVITE=",
        file=sys.stderr,
    )
    say(told.text())
    return Exit.DONE


def _roles(named: Sequence[str]) -> list[Role]:
    from common.bus import Role

    for role in named:
        if role not in set(Role):
            raise UserError(f"--role: {role!r} is no role; there are: {', '.join(Role)}")
    return [Role(role) for role in named]


def _verifiers(settings: InviteSettings) -> tuple[str, ...]:
    """The public keys of the verifiers that this machine knows: those of the settings, and its mesh's own."""
    from common.bus import Signer
    from common.config import convert, read

    listed = load_node(settings.config).bus.verifier_keys()
    folder = convert(RunSettings, read(settings.config).get("run", {}), "[run]").dir
    own = Path(folder) / settings.run / "verifier.pem"
    return (*listed, Signer.of_file(own).public) if own.exists() else listed


def _revoke(settings: RevokeSettings, broker: BrokerSettings) -> int:
    from broker import keys

    gone = keys.revoke(broker.store, settings.run, settings.who)
    listed = ", ".join(f"{user.role} {user.public}" for user in gone)
    say(f"revoked in run {settings.run}: {listed}; a broker that runs ends their connections within 5 seconds")
    return Exit.DONE
