"""Writes verified proofs into the user's repositories. Repeated calls have the same result."""

from __future__ import annotations

from node.agent.records import Patch, Repository
from node.agent.sources import digest_of
from node.proving.fill_files import NotWritten, write_file


def write_patches(repository: Repository, patches: list[Patch]) -> list[str]:
    """Writes the files that have not changed since their gaps were searched. Returns one line for each file that was
    not written, with the reason; files that have the proofs already are not listed."""
    problems = []
    for patch in patches:
        path = repository.root / patch.path
        try:
            content = path.read_bytes()
            if content == patch.new:
                continue
            if digest_of(content) != patch.old:
                raise NotWritten("the file has changed since its gaps were searched; apply the report's diff by hand")
            write_file(path, content, patch.new)
        except NotWritten as error:
            problems.append(f"{repository.name}: {patch.path}: not written: {error}")
        except OSError as error:
            problems.append(f"{repository.name}: {patch.path}: not written: {error.strerror or error}")
    return problems
