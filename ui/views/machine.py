"""Views of where the time goes, of nodes, and of what they log."""

from __future__ import annotations

from ui.views import View

VIEWS: dict[str, View] = {}
