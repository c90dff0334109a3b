"""Views of theorems, attempts and kept searches."""

from __future__ import annotations

from ui.views import View

VIEWS: dict[str, View] = {}
