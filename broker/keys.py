"""Keys of the runs on a broker: files in its store, and the accounts of nats-server's configuration that they make.

    STORE/keys/RUN/ROLE.nk            a seed for each role: what nodes on this machine take
    STORE/keys/RUN/ROLE.NAME.pub      the public key of somebody who was invited; the seed is in the invite alone

Each run has accounts of its own, with subjects and streams of their own: nothing that one run's keys do reaches another
run. Each key is a user with the rights of its role, in the account of its role (`common.bus.permissions`). The files
are all there is: a key counts while its file is there, and a running broker looks every few seconds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker.settings import HEADROOM, BrokerSettings
from common.bus.asking import BadKey
from common.bus.credentials import ENDING, PUBLIC, NodeKey, new_seed, read_key
from common.bus.permissions import Rights, Role, account_of, elsewhere, rights
from common.machine import is_loopback
from common.output.command import UserError
from common.protocol.messages import MAX_MESSAGE_BYTES
from common.protocol.subjects import OWNER, check_run_name

ANSWER_WITHIN = "1h"
"""Longest time from a request to its reply: a proof may be verified for that long, not longer."""

REMEMBERED = "10s"
"""How long the broker remembers a message to another account that may be answered, and is not: it takes some 800 bytes
for each. The broker itself answers at once."""

MOST_STREAMS = 16
"""Streams of a run, which has nine."""

MOST_CONSUMERS = 64
"""Consumers of a run's streams: one for each purpose and each durable client."""

MOST_CONNECTIONS = 4096
"""Connections of an account: one for each node and command."""

MOST_SUBSCRIPTIONS = 1024
"""Subscriptions of one connection. Nodes have fewer than a hundred."""

STREAMS = {"max_streams": MOST_STREAMS, "max_consumers": MOST_CONSUMERS}
"""What one run may take of a server that it shares with others. Not its disk: what an account may take of that is
reserved for it, so that few runs would fit; each stream has a limit instead (`broker.streams`)."""

LIMITS = {
    "max_connections": MOST_CONNECTIONS,
    "max_subscriptions": MOST_SUBSCRIPTIONS,
    "max_payload": MAX_MESSAGE_BYTES + HEADROOM,
}
"""What the keys of one account may take."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


@dataclass(frozen=True)
class User:
    """One key of a run."""

    role: Role
    name: str
    """Who was invited; OWNER: the run's own key of the role."""
    public: str
    file: Path

    @property
    def called(self) -> str:
        """What `revoke` takes back its key by: who was invited, or the role of the run's own key."""
        return self.name if self.name != OWNER else str(self.role)


def folder_of(store: str | Path, run: str) -> Path:
    """The folder of a run's keys."""
    return Path(store).absolute() / "keys" / run


def runs_with_keys(store: str | Path) -> list[str]:
    """The runs that have keys, by name."""
    return sorted(folder.name for folder in folder_of(store, "").glob("*") if folder.is_dir())


def wanted(settings: BrokerSettings, credentials: tuple[str, str]) -> bool:
    """Whether a broker asks for keys: if it has no user and password, and there are keys already or others can reach
    it."""
    return not all(credentials) and (bool(runs_with_keys(settings.store)) or not is_loopback(settings.host))


def make(store: str | Path, run: str) -> Path:
    """Make the keys of a run that are missing, readable for this user only. Returns their folder. Raises UserError,
    BadRunName."""
    folder = folder_of(store, check_run_name(run))
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for role in Role:
            _write(folder / f"{role}{ENDING}", new_seed())
    except OSError as error:
        raise UserError(f"cannot write keys into {folder}: {error.strerror}; choose another --store") from error
    return folder


def _write(file: Path, text: str) -> None:
    """Write a file that only this user may read, unless it is there. Raises OSError."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as out:
        out.write(text + "\n")


def users(store: str | Path, run: str) -> list[User]:
    """The keys of a run that count. Raises BadKey."""
    return [_user(file, run) for file in sorted(folder_of(store, run).glob("*")) if file.suffix in (ENDING, PUBLIC)]


def _user(file: Path, run: str) -> User:
    role, _, name = file.stem.partition(".")
    if role not in set(Role):
        raise BadKey(f"{file}: {role!r} is no role; there are: {', '.join(Role)}")
    try:
        public = read_key(file, run).public if file.suffix == ENDING else file.read_text().strip()
    except OSError as error:
        raise BadKey(f"{file} cannot be read: {error.strerror}") from error
    return User(Role(role), name or OWNER, public, file)


def invite(store: str | Path, run: str, roles: Iterable[Role], name: str) -> dict[str, str]:
    """New keys for somebody else, whose seeds are not kept. Returns the seeds by role. Raises UserError."""
    if not _NAME.fullmatch(name) or name == OWNER:
        raise UserError(
            f"--name: {name!r}: use 1 to 40 lower-case letters, digits and inner hyphens, but not {OWNER!r}"
        )
    folder = make(store, run)
    seeds = {str(role): new_seed() for role in roles}
    files = {role: folder / f"{role}.{name}{PUBLIC}" for role in seeds}
    if there := [role for role, file in files.items() if file.exists()]:
        raise UserError(
            f"{name} has a key of role {there[0]} in run {run}: choose another --name, or revoke it first with "
            f"`proofmesh broker revoke {run} {name}`"
        )
    for role, file in files.items():
        _write(file, NodeKey(seeds[role]).public)
    return seeds


def revoke(store: str | Path, run: str, who: str) -> list[User]:
    """Remove the keys of somebody who was invited, or the run's own key of a role, for which there is a new one then.
    Returns what was removed. Raises UserError, BadKey."""
    there = users(store, run)
    gone = [user for user in there if user.name == who and who != OWNER]
    gone = gone or [user for user in there if user.role == who and user.name == OWNER]
    if not gone:
        known = ", ".join(dict.fromkeys(user.called for user in there))
        raise UserError(f"nobody in run {run} is called {who!r}; there are: {known or 'no keys of this run'}")
    for user in gone:
        user.file.unlink()
    make(store, run)
    return gone


def accounts(store: str | Path, runs: Iterable[str] | None = None) -> dict[str, Any]:
    """The accounts of nats-server's configuration: those of these runs, or of all that have keys. Raises BadKey."""
    found: dict[str, dict[str, Any]] = {}
    for run in runs_with_keys(store) if runs is None else runs:
        for user in users(store, run):
            _add(found, user, run)
    return found


def _add(found: dict[str, dict[str, Any]], user: User, run: str) -> None:
    """Add a key to its account, and let the account have what the key's role needs of others."""
    own = rights(user.role, run, user.name, user.public)
    name = account_of(user.role, run, user.name)
    account = _account(found, name, run)
    account["users"].append(_as_configured(user, own))
    for needed in own.imports:
        kind = "stream" if needed.stream else "service"
        export: dict[str, Any] = {kind: needed.subject}
        if needed.many:
            export["response_type"] = "stream"
        elif not needed.stream:
            export["response_threshold"] = ANSWER_WITHIN if needed.slow else REMEMBERED
        taken: dict[str, Any] = {kind: {"account": needed.account, "subject": needed.subject}}
        if (local := elsewhere(needed.subject)) != needed.subject:
            taken["to"] = local
        for entry, listed in (
            (export, _account(found, needed.account, run)["exports"]),
            (taken, account["imports"]),
        ):
            if entry not in listed:
                listed.append(entry)


def _account(found: dict[str, dict[str, Any]], name: str, run: str) -> dict[str, Any]:
    """The account of this name. Only that with the run's own name has streams."""
    if name not in found:
        found[name] = {"limits": LIMITS, "users": [], "exports": [], "imports": []}
        if name == run:
            found[name]["jetstream"] = STREAMS
    return found[name]


def _as_configured(user: User, own: Rights) -> dict[str, Any]:
    if user.role is Role.ADMIN:
        return {"nkey": user.public}
    permissions: dict[str, Any] = {"publish": list(own.publish), "subscribe": list(own.subscribe)}
    if own.answers:
        permissions["allow_responses"] = {"max": 1, "expires": ANSWER_WITHIN}
    return {"nkey": user.public, "permissions": permissions}
