from collections.abc import Iterator

import pytest
import stamina

from common.bus import BusError, Unanswered, persistently


@pytest.fixture(autouse=True)
def without_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=50):
        yield


class Sender:
    """An operation that fails a number of times, then succeeds."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.tries = 0
        self._failures = failures
        self._error = error or Unanswered("no broker")

    async def __call__(self) -> str:
        self.tries += 1
        if self.tries <= self._failures:
            raise self._error
        return "sent"


async def test_it_is_tried_until_it_succeeds() -> None:
    send = Sender(30)
    assert await persistently(send, "not sent yet", subject="x") == "sent"
    assert send.tries == 31


async def test_it_ends_when_nobody_waits_any_more() -> None:
    send = Sender(30)
    with pytest.raises(Unanswered, match="no broker"):
        await persistently(send, "not sent yet", until=lambda: send.tries == 4)
    assert send.tries == 4


async def test_other_errors_are_not_waited_out() -> None:
    send = Sender(30, ValueError("nonsense"))
    with pytest.raises(ValueError, match="nonsense"):
        await persistently(send, "not sent yet")
    assert send.tries == 1


async def test_it_ends_after_so_many_tries_with_the_last_error() -> None:
    stamina.set_testing(False)
    send = Sender(30)
    with pytest.raises(BusError):
        await persistently(send, "not sent yet", tries=2)
    assert send.tries == 2
