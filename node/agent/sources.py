"""Opens repositories at a commit: clones of the agent, or folders of the user without uncommitted changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from common.output.visible import without_credentials
from node.agent.errors import AgentError
from node.lean.trace.clones import clone, remote_of
from node.lean.trace.sources import Group, groups
from node.lean.trace.worktrees import NoSource, changed

SHOWN_FILES = 3
"""Most changed files that a message names."""


@dataclass(frozen=True)
class Source:
    """A repository at a commit."""

    name: str
    source: str
    """The folder, or the URL without credentials."""
    commit: str
    group: Group
    own: bool
    """True for a folder of the user, False for a clone of the agent."""


def open_source(text: str, written: Mapping[str, str]) -> Source:
    """Opens a folder or `URL@COMMIT`. `written`: for files that the agent wrote, their digests with those before.

    Raises AgentError if nothing is there, there is no .lean file, or changes are not committed.
    """
    try:
        remote = remote_of(text)
        place = Path(text) if remote is None else clone(remote)
        lean_groups = groups([place])
    except NoSource as error:
        raise AgentError(str(error)) from error
    (group,) = lean_groups
    if remote is not None:
        url = without_credentials(remote.url)
        return Source(_last(url), url, place.name, group, own=False)
    if not group.commit:
        return Source(_last(str(group.root)), str(group.root), _contents(group, written), group, own=True)
    changes = [each for each in changed(group.root) if not _ours(group.root, each, written)]
    if changes:
        more = f" and {len(changes) - SHOWN_FILES} more" if len(changes) > SHOWN_FILES else ""
        raise AgentError(
            f"{text}: has uncommitted changes ({', '.join(changes[:SHOWN_FILES])}{more}); commit them, or name "
            f"{text}@{group.commit[:12]}... (in full), to use the commit without them"
        )
    return Source(_last(str(group.root)), str(group.root), group.commit, group, own=True)


def digest_of(content: bytes) -> str:
    """A digest of a file's content."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _ours(root: Path, name: str, written: Mapping[str, str]) -> bool:
    """Whether a changed file is exactly as the agent wrote it. `name`: its path in the worktree, as git prints it."""
    candidates = [folder / name.strip('"') for folder in (root, *root.parents)]
    file = next((each for each in candidates if each.is_file()), None)
    return file is not None and digest_of(file.read_bytes()) in written


def _contents(group: Group, written: Mapping[str, str]) -> str:
    """A digest instead of a commit, for a folder without git: of its files before the agent wrote proofs."""
    digest = hashlib.blake2b(digest_size=16)
    for file in group.files:
        content = digest_of(file.read_bytes())
        digest.update(f"{group.name(file)}\0{written.get(content, content)}".encode())
    return f"files:{digest.hexdigest()}"


def _last(text: str) -> str:
    return text.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2] or "repository"
