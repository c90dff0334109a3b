"""Which of several servers is asked next: the least busy one that does not rest. Pure; the caller has the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_REST = 60.0
"""Seconds. A server that was restarted is found again within this time."""


@dataclass
class Place:
    """One server, and how it has been doing (a circuit breaker)."""

    url: str
    outstanding: int = 0
    """Requests that it is at work on."""
    asked: int = 0
    """Requests so far."""
    failures: int = 0
    """In a row."""
    rests: int = 0
    """In a row: each is twice as long."""
    free_at: float = 0.0
    """When it may be asked again."""
    trying: bool = False
    """It has rested, and one request finds out whether it is well again."""
    problem: str = ""
    """What it failed with; empty when it is well."""


class Fleet:
    """The servers of one model."""

    def __init__(self, urls: Sequence[str], *, failures: int, rest: float) -> None:
        """`failures`: in a row, after which a server rests; `rest`: seconds of the first rest."""
        self.places = [Place(url) for url in urls]
        self._failures = failures
        self._rest = rest

    def pick(self, now: float) -> Place | None:
        """The server to ask now, and counts the request; None: all rest, or are being tried."""
        free = [place for place in self.places if place.free_at <= now and not (place.rests and place.trying)]
        if not free:
            return None
        # Those that are well first: a server that has just failed is asked where nobody else has time.
        chosen = min(free, key=lambda place: (place.failures > 0, place.outstanding, place.asked))
        chosen.outstanding += 1
        chosen.asked += 1
        chosen.trying = chosen.rests > 0
        return chosen

    def wait(self, now: float) -> float:
        """Seconds until a server may be asked again."""
        return max(0.0, min(place.free_at for place in self.places) - now)

    def ended(self, place: Place) -> None:
        """A request has ended, however it did; before that, one of the others below says how."""
        place.outstanding -= 1
        place.trying = False

    def succeeded(self, place: Place) -> None:
        """The server has answered as it should."""
        place.failures = place.rests = 0
        place.problem = ""

    def failed(self, place: Place, now: float, problem: str) -> bool:
        """The server failed. Whether it rests now."""
        place.failures += 1
        place.problem = problem
        if place.failures < self._failures and not place.rests:
            return False
        if place.free_at <= now:  # else others that were on their way have failed, too
            place.free_at = now + min(LONGEST_REST, self._rest * 2**place.rests)
            place.rests += 1
        return True

    def asked_to_wait(self, place: Place, now: float, seconds: float, problem: str) -> None:
        """The server has too much to do, and says for how long; it is well otherwise."""
        place.problem = problem
        place.free_at = max(place.free_at, now + seconds)

    def has_a_well_one(self, now: float) -> bool:
        """Whether a server that did not fail last may be asked now."""
        return any(not place.problem and place.free_at <= now for place in self.places)

    @property
    def words(self) -> str:
        """What servers failed with."""
        return "; ".join(dict.fromkeys(place.problem for place in self.places if place.problem))

    @property
    def problem(self) -> str:
        """What is wrong where no server is well; empty as long as one is."""
        return self.words if all(place.problem for place in self.places) else ""
