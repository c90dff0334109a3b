"""Which weight versions this node has, wants and may serve: bookkeeping without I/O."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from common.messages import WeightsState


class WeightsId(NamedTuple):
    """A version with its content: a number that was given out twice (a learner that went back) is not the same
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
        """The learner's word on what is latest and what is pinned. What is no longer listed is forgotten."""
        self.latest = WeightsId(state.version, state.digest)
        self.objects = {WeightsId(pin.version, pin.digest): pin.object_name for pin in state.pinned}
        self.objects[self.latest] = state.object_name

    def find(self, version: int) -> WeightsId | None:
        """The announced weights of a version number: the latest if it has it, else a pinned one."""
        if self.latest is not None and self.latest.version == version:
            return self.latest
        return next((weights for weights in self.objects if weights.version == version), None)

    def add(self, weights: WeightsId) -> None:
        """These are loaded now."""
        self.loaded[weights] = None
        self.touch(weights)

    def touch(self, weights: WeightsId) -> None:
        """These were used."""
        if weights in self.loaded:
            self.loaded.move_to_end(weights)

    def serve_latest(self) -> bool:
        """Answer with the latest announced version from now on, if it is loaded. True when that is a change."""
        if self.latest is None or self.latest not in self.loaded or self.serving == self.latest:
            return False
        self.serving = self.latest
        return True

    def tidy(self) -> set[WeightsId]:
        """Forget loaded versions that are not announced, and the least recently used beyond the limit; what remains."""
        for weights in list(self.loaded):
            announced = weights in self.objects
            if weights != self.serving and (not announced or len(self.loaded) > self.limit):
                del self.loaded[weights]
        return set(self.loaded)
