"""Bookkeeping of the announced, the loaded and the served weight versions of a node, without I/O."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from common.protocol.messages import WeightsState


class WeightsId(NamedTuple):
    """A version with its digest: after a learner went back to a checkpoint, one number can stand for two different
    weights."""

    version: int
    digest: str


@dataclass
class Shelf:
    """Announced versions with their objects, and those that are loaded, least recently used first."""

    limit: int
    """Versions kept loaded at most. The latest always is."""
    latest: WeightsId | None = None
    """Announced as the one to serve; perhaps not loaded yet."""
    objects: dict[WeightsId, str] = field(default_factory=dict)
    """Name in the object store of every announced version."""
    loaded: OrderedDict[WeightsId, None] = field(default_factory=OrderedDict)
    serving: WeightsId | None = None
    """The loaded version that answers requests for "latest"."""

    def announce(self, state: WeightsState) -> None:
        """Set the latest and the pinned versions from an announcement; other versions are removed."""
        self.latest = WeightsId(state.version, state.digest)
        self.objects = {WeightsId(pin.version, pin.digest): pin.object_name for pin in state.pinned}
        self.objects[self.latest] = state.object_name

    def find(self, version: int) -> WeightsId | None:
        """The announced weights with this version number; None: not announced. The latest is preferred to pinned
        ones."""
        if self.latest is not None and self.latest.version == version:
            return self.latest
        return next((weights for weights in self.objects if weights.version == version), None)

    def add(self, weights: WeightsId) -> None:
        """Mark weights as loaded."""
        self.loaded[weights] = None
        self.touch(weights)

    def touch(self, weights: WeightsId) -> None:
        """Mark weights as the most recently used."""
        if weights in self.loaded:
            self.loaded.move_to_end(weights)

    def serve_latest(self) -> bool:
        """Serve the latest announced version from now on, if it is loaded. Returns True if that is a change."""
        if self.latest is None or self.latest not in self.loaded or self.serving == self.latest:
            return False
        self.serving = self.latest
        return True

    def tidy(self) -> set[WeightsId]:
        """Remove loaded versions that are not announced, and the least recently used beyond the limit. Returns the
        remaining ones."""
        for weights in list(self.loaded):
            announced = weights in self.objects
            if weights != self.serving and (not announced or len(self.loaded) > self.limit):
                del self.loaded[weights]
        return set(self.loaded)
