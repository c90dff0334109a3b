"""Waiting for conditions in tests: polled until a deadline, never slept for.

Deadlines cost nothing when a test passes: they are as long as a busy machine with two cores may need."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


async def eventually(condition: Callable[[], bool], timeout: float = 60.0, what: str = "the condition") -> None:
    """Wait until a condition holds; fails the test after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not hold within {timeout:g} s")
        await asyncio.sleep(0.01)


async def until(condition: Callable[[], Awaitable[bool]], timeout: float = 90.0, what: str = "the condition") -> None:
    """The same for a condition that has to be asked for, such as the broker's state."""
    await answered(condition, bool, timeout, what)


async def answered(
    ask: Callable[[], Awaitable[T]], enough: Callable[[T], object], timeout: float = 90.0, what: str = "the condition"
) -> T:
    """Ask until the answer is enough, and return it; fails the test after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not enough(answer := await ask()):
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not hold within {timeout:g} s; the last answer is {answer!r}"[:2000])
        await asyncio.sleep(0.05)
    return answer
