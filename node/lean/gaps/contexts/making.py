"""Creates `ContextModules` from the settings of Lean processes."""

from __future__ import annotations

from node.lean.gaps.contexts.modules import ContextModules
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain


def context_modules(settings: LeanProcessSettings, toolchain: LeanToolchain) -> ContextModules:
    """Context modules with the limits of a header, because a context is the header of a gap."""
    memory_mb = settings.verify_memory_mb + settings.memory_mb
    return ContextModules(toolchain, seconds=settings.lean.header_seconds, memory_mb=memory_mb)
