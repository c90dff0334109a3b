"""Opens the repositories that the command line names, each with its files and its Lean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from node.agent.errors import AgentError
from node.agent.records import Phase, Repository
from node.agent.settings import AgentSettings
from node.agent.sources import Source, digest_of, open_source
from node.agent.store import AgentStore
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.toolchain.problems import LeanProblem
from node.lean.trace.sources import toolchain_of


@dataclass
class Opened:
    """A repository of this run."""

    repository: Repository
    source: Source
    toolchain: LeanToolchain


def open_all(
    settings: AgentSettings, store: AgentStore, say: Callable[[str], None], skip: Callable[[str], None]
) -> list[Opened]:
    """The named repositories without duplicates. `skip` gets a message for each one that cannot be used. Raises
    AgentError."""
    opened: list[Opened] = []
    written = {
        digest_of(patch.new): patch.old
        for known in store.repositories()
        for phase in Phase
        for patch in store.patches(known.number, phase)
    }
    for text in settings.projects:
        try:
            source = open_source(text, written)
            toolchain = _toolchain(settings, source, say)
        except (AgentError, LeanProblem, OSError) as error:
            skip(f"{text}: {str(error).removeprefix(f'{text}: ')}")
            continue
        root = source.group.root
        known = store.repository(source.source, source.commit, root, own=source.own, name=source.name)
        if all(known.number != each.repository.number for each in opened):
            opened.append(Opened(known, source, toolchain))
    return opened


def _toolchain(settings: AgentSettings, source: Source, say: Callable[[str], None]) -> LeanToolchain:
    """Raises LeanProblem."""
    toolchain = toolchain_of(source.group, settings.lean)
    for note in toolchain.notes:
        say(f"{source.name}: {note}")
    return asyncio.run(toolchain.confined()) if settings.sandbox else toolchain
