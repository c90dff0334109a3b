"""Collects the files to trace, with their names and their commit."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock

from common.files import cache_directory
from common.output.command import UserError
from common.output.visible import without_credentials
from common.settings import POCKET, LeanSettings
from node.lean.toolchain import lake
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain

# --- what git says about a folder -------------------------------------------------------------------------------------

LAKE_FILES = ("lakefile.toml", "lakefile.lean")

OF_LEAN = ("*.lean", "lakefile.toml", "lean-toolchain", "lake-manifest.json")
"""Files that determine the result of a trace."""


class NoSource(UserError, ValueError):
    """A given path or URL leads to no Lean files. The message says why, and what to do."""


def git(folder: Path, *arguments: str) -> str:
    """The output of git; empty if there is no git or no repository."""
    try:
        result = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip("\n") if result.returncode == 0 else ""


def commit_of(folder: Path) -> str:
    """The checked-out commit; empty for a folder without a repository."""
    return git(folder, "rev-parse", "HEAD")


def changed(folder: Path) -> list[str]:
    """Files below the folder that matter to Lean and differ from the commit, including new ones, as git's paths."""
    lines = git(folder, "status", "--porcelain", "--untracked-files=all", "--", *OF_LEAN).splitlines()
    return [line[3:] for line in lines]


# --- clones of repositories given as `URL@COMMIT` ---------------------------------------------------------------------

FETCH_SECONDS = 1800.0
"""Time limit of one git command. One commit of Mathlib has 100 MB."""

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PART_OF_COMMIT = re.compile(r"[0-9a-f]{7,63}")
_REPOSITORY = re.compile(r"(https?|ssh|git)://[^/\s]+/\S+|file:///\S+|[\w.-]+@[\w.-]+:\S+")
"""A URL with a path. So `https://NAME` in `https://NAME@HOST/PATH` is not taken for a URL."""

_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",  # fail instead of asking for a password
    "GIT_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20",
    "GIT_LFS_SKIP_SMUDGE": "1",  # Lean sources need no large files
}


@dataclass(frozen=True)
class Remote:
    """A commit of a repository."""

    url: str
    """URL for git: https://, ssh://, git@HOST:PATH, file://, or a local folder."""
    commit: str
    """A full commit id, a branch, or a tag."""

    def __str__(self) -> str:
        return f"{without_credentials(self.url)}@{self.commit}"


def remote_of(text: str) -> Remote | None:
    """Parse `URL@COMMIT`; None for a path. Raises NoSource for a URL without a commit."""
    if Path(text).exists():
        return None
    url, at, commit = text.rpartition("@")
    local = bool(at) and Path(url).is_dir()
    if local or _REPOSITORY.fullmatch(url):
        if not commit or commit.startswith("-"):
            raise NoSource(f"{text}: no commit behind the @: pass {url}@COMMIT")
        return Remote(str(Path(url).absolute()) if local else url, commit)
    if _REPOSITORY.fullmatch(text):
        raise NoSource(f"{text}: no commit given: pass {text}@COMMIT (all 40 characters, or a branch or tag)")
    return None


def clone(remote: Remote, folder: Path | None = None) -> Path:
    """The folder with this commit of a repository; cloned if it does not exist yet. Raises NoSource.

    `folder`: the folder of all clones; None: in the cache. Processes that clone the same commit wait for each other.
    """
    commit = _resolved(remote)
    name = re.sub(r"[^\w.-]", "-", remote.url.rstrip("/").removesuffix(".git").rpartition("/")[2]) or "repository"
    digest = hashlib.blake2b(remote.url.encode(), digest_size=6).hexdigest()
    target = (folder or cache_directory() / "repositories") / f"{name}-{digest}" / commit
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f"{commit}.lock")):
            if not target.exists():
                _fetch(remote, commit, target)
            _check(target, commit)
    except OSError as error:
        raise NoSource(f"{remote}: cannot be cloned into {target}: {error.strerror or error}") from error
    return target


def _resolved(remote: Remote) -> str:
    """The commit id; branches and tags are looked up at the remote. Raises NoSource."""
    if _COMMIT.fullmatch(remote.commit):
        return remote.commit
    names = [f"refs/tags/{remote.commit}^{{}}", f"refs/tags/{remote.commit}", f"refs/heads/{remote.commit}"]
    result = _git(["ls-remote", "--", remote.url, *names], None)
    if result.returncode != 0:
        raise NoSource(f"{remote}: the repository cannot be reached: {_reason(result)}")
    commits = {name: commit for commit, _, name in (line.partition("\t") for line in result.stdout.splitlines())}
    for name in names:
        if name in commits:
            return commits[name]
    hint = "; for a commit, pass all 40 characters of its id" if _PART_OF_COMMIT.fullmatch(remote.commit) else ""
    raise NoSource(f"{remote}: the repository has no branch or tag `{remote.commit}`{hint}")


def _fetch(remote: Remote, commit: str, target: Path) -> None:
    """Clone into a temporary folder next to the target, and rename it. Raises NoSource, OSError."""
    part = target.with_name(f".{commit}.part")
    shutil.rmtree(part, ignore_errors=True)  # may be left by a process that was killed
    try:
        part.mkdir()
        for arguments in (
            ["init", "--quiet", "--template="],
            ["remote", "add", "origin", without_credentials(remote.url)],
        ):
            _require_success(remote, _git(arguments, part))
        _fetch_commit(remote, commit, part)
        checkout = ["-c", "advice.detachedHead=false", "-c", "core.autocrlf=false", "checkout", "--quiet", "--detach"]
        _require_success(remote, _git([*checkout, commit], part))
        _check(part, commit)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _fetch_commit(remote: Remote, commit: str, part: Path) -> None:
    """Fetch the commit, alone if the server allows fetching single commits. Raises NoSource."""
    alone = _git(["fetch", "--quiet", "--no-tags", "--depth", "1", "--", remote.url, commit], part)
    if alone.returncode == 0:
        return
    everything = _git(["fetch", "--quiet", "--no-tags", "--", remote.url, "+refs/heads/*:refs/remotes/origin/*"], part)
    if everything.returncode != 0:
        raise NoSource(f"{remote}: the repository cannot be reached: {_reason(everything)}")
    if _git(["cat-file", "-e", f"{commit}^{{commit}}"], part).returncode != 0:
        raise NoSource(f"{remote}: the repository has no commit {commit}: {_reason(alone)}")


def _check(folder: Path, commit: str) -> None:
    """Check that a clone is at the commit and unchanged. Raises NoSource."""
    result = _git(["rev-parse", "HEAD"], folder)
    if result.stdout.strip() != commit:
        raise NoSource(f"{folder}: the clone is not at commit {commit}: remove the folder to clone it again")
    if files := changed(folder):
        raise NoSource(f"{folder}: the clone was changed ({files[0]}): remove the folder to clone it again")


def _require_success(remote: Remote, result: subprocess.CompletedProcess[str]) -> None:
    if result.returncode != 0:
        raise NoSource(f"{remote}: cannot be cloned: {_reason(result)}")


def _git(arguments: Sequence[str], folder: Path | None) -> subprocess.CompletedProcess[str]:
    """Run one git command. Raises NoSource if there is no git or it takes too long."""
    in_folder = ["-C", str(folder)] if folder is not None else []
    try:
        return subprocess.run(
            ["git", *in_folder, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=FETCH_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **_QUIET},
        )
    except FileNotFoundError:
        raise NoSource("`git` is not installed: install it to clone URL@COMMIT") from None
    except subprocess.TimeoutExpired:
        raise NoSource(f"`git {arguments[0]}` did not finish within {FETCH_SECONDS:g} s: try again") from None


def _reason(result: subprocess.CompletedProcess[str]) -> str:
    """The error message of git in one line, without passwords."""
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    message = next(
        (line for line in lines if line.startswith(("fatal:", "error:", "ERROR:", "ssh:"))), lines[-1] if lines else ""
    )
    return without_credentials(message) or f"git ended with code {result.returncode}"


# --- files to trace ---------------------------------------------------------------------------------------------------

_BUILT = frozenset({".lake", "lake-packages", "build", ".git"})
"""Folders of a project that contain no sources of the project itself."""


@dataclass(frozen=True)
class Group:
    """Files to trace with the same Lean."""

    root: Path
    """The Lake project, or the given folder. Paths are relative to it."""
    files: tuple[Path, ...]
    lake: bool
    commit: str = ""
    url: str = ""

    def name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()

    def warning(self) -> str:
        """A warning if files differ from the commit that the results name; empty if none does."""
        files = changed(self.root) if self.commit else []
        if not files:
            return ""
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return (
            f"{self.root} differs from its commit ({files[0]}{more}), but the results name that commit: "
            f"to trace the commit itself, pass {self.root}@{self.commit}"
        )


def groups(names: Iterable[str | Path]) -> list[Group]:
    """The files below the given paths, grouped by project. `URL@COMMIT` is cloned into the cache. Raises NoSource."""
    files_by_root: dict[Path, dict[Path, None]] = {}
    for path in names:
        place = place_of(path).absolute()
        if not place.exists():
            raise NoSource(f"{path}: no such file or folder")
        files = [place] if place.is_file() else sorted(_below(place))
        if not files:
            raise NoSource(f"{path}: no .lean file in it")
        root = lake_project(place) or (place if place.is_dir() else place.parent)
        files_by_root.setdefault(root, {}).update(dict.fromkeys(files))
    return [_group(root, tuple(files)) for root, files in files_by_root.items()]


def place_of(name: str | Path) -> Path:
    """The folder or file of a path, or the clone of `URL@COMMIT`. Raises NoSource."""
    remote = remote_of(str(name))
    return Path(name) if remote is None else clone(remote)


def toolchain_of(group: Group, lean: LeanSettings) -> LeanToolchain:
    """The toolchain for a group of files: its project's, unless the settings name one. It is pocket Lean if the project
    pins no toolchain and there is no `lake`. Raises LeanProblem."""
    if lean.project or lean.toolchain or not group.lake:
        return find(lean)
    if lake.pinned_toolchain(group.root) is None:
        try:
            lake.find_lake(os.environ)
        except LeanProblem:
            return find(replace(lean, toolchain=POCKET))
    return find(replace(lean, project=str(group.root)))


def lake_project(path: Path) -> Path | None:
    """The Lake project that contains a path, or is this path; None if there is none."""
    for folder in (path, *path.parents):
        if any((folder / name).is_file() for name in LAKE_FILES):
            return folder
    return None


def _group(root: Path, files: tuple[Path, ...]) -> Group:
    commit = commit_of(root)
    url = without_credentials(git(root, "remote", "get-url", "origin")) if commit else ""
    return Group(root, files, lake_project(root) == root, commit, url.removesuffix(".git"))


def _below(folder: Path) -> Iterator[Path]:
    try:
        entries = [*folder.iterdir()]
    except OSError as error:
        raise NoSource(f"{folder}: cannot be read ({error.strerror})") from error
    for entry in entries:
        if entry.is_dir() and entry.name not in _BUILT and not entry.is_symlink():
            yield from _below(entry)
        elif entry.suffix == ".lean" and entry.name not in LAKE_FILES and entry.is_file():
            yield entry
