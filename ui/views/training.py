"""Views of training, evaluations, data and self-play."""

from __future__ import annotations

from ui.views import View

VIEWS: dict[str, View] = {}
