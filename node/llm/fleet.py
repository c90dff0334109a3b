"""Chooses which of several servers gets the next request: the least busy one that is not resting after failures.

Pure; the caller passes the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_REST = 60.0
"""Seconds. A restarted server gets requests again within this time."""


@dataclass
class Place:
    """One server and its recent failures (a circuit breaker)."""

    url: str
    outstanding: int = 0
    """Requests in flight."""
    asked: int = 0
    """Requests so far."""
    failures: int = 0
    """Consecutive failures."""
    rests: int = 0
    """Consecutive rests; each is twice as long as the one before."""
    free_at: float = 0.0
    """Time from which the server may get requests again."""
    trying: bool = False
    """True while one request tests whether the server works again after a rest."""
    problem: str = ""
    """The last failure; empty when the server works."""


class Fleet:
    """The servers of one model."""

    def __init__(self, urls: Sequence[str], *, failures: int, rest: float) -> None:
        """`failures`: consecutive failures after which a server rests; `rest`: seconds of the first rest."""
        self.places = [Place(url) for url in urls]
        self._failures = failures
        self._rest = rest

    def pick(self, now: float) -> Place | None:
        """Choose the server for the next request, and count the request; None if all rest or are being tested."""
        free = [place for place in self.places if place.free_at <= now and not (place.rests and place.trying)]
        if not free:
            return None
        # Healthy servers first: a server that has just failed gets requests only when no other may.
        chosen = min(free, key=lambda place: (place.failures > 0, place.outstanding, place.asked))
        chosen.outstanding += 1
        chosen.asked += 1
        chosen.trying = chosen.rests > 0
        return chosen

    def wait(self, now: float) -> float:
        """Seconds until some server may get a request again."""
        return max(0.0, min(place.free_at for place in self.places) - now)

    def ended(self, place: Place) -> None:
        """A request has ended. Call `succeeded`, `failed` or `asked_to_wait` before this."""
        place.outstanding -= 1
        place.trying = False

    def succeeded(self, place: Place) -> None:
        """The server has sent a usable response."""
        place.failures = place.rests = 0
        place.problem = ""

    def failed(self, place: Place, now: float, problem: str) -> bool:
        """The server failed; returns whether it rests now."""
        place.failures += 1
        place.problem = problem
        if place.failures < self._failures and not place.rests:
            return False
        if place.free_at <= now:  # otherwise this request was sent before the rest began: do not lengthen the rest
            place.free_at = now + min(LONGEST_REST, self._rest * 2**place.rests)
            place.rests += 1
        return True

    def asked_to_wait(self, place: Place, now: float, seconds: float, problem: str) -> None:
        """The server is overloaded and asks for a pause; this does not count as a failure."""
        place.problem = problem
        place.free_at = max(place.free_at, now + seconds)

    def has_healthy_server(self, now: float) -> bool:
        """Whether some server whose last request did not fail may get a request now."""
        return any(not place.problem and place.free_at <= now for place in self.places)

    @property
    def words(self) -> str:
        """The last failures of the servers, joined."""
        return "; ".join(dict.fromkeys(place.problem for place in self.places if place.problem))

    @property
    def problem(self) -> str:
        """The failures if no server works; empty as long as one does."""
        return self.words if all(place.problem for place in self.places) else ""
