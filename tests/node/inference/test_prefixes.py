"""What is kept of prompts: exact matches alone, least recently used dropped first, bounded in bytes."""

import torch

from node.inference.engine.network import Prefilled, Prefixes


def prefilled(value: float) -> Prefilled:
    """96 + 4 bytes."""
    return Prefilled(torch.zeros(1, 3, 2, 1, 4), torch.zeros(1), value)


def test_only_exactly_the_same_prompt_is_found() -> None:
    kept = Prefixes(1000)
    kept.keep([1, 2, 3], prefilled(-1.0))
    found = kept.find([1, 2, 3])
    assert found is not None and found.value == -1.0
    for other in ([1, 2], [1, 2, 3, 4], [3, 2, 1], []):
        assert kept.find(other) is None


def test_the_least_recently_used_goes_first() -> None:
    kept = Prefixes(300)
    for number in range(3):
        kept.keep([number], prefilled(-number))
    kept.find([0])
    kept.keep([3], prefilled(-3))
    assert [kept.find([number]) is not None for number in range(4)] == [True, False, True, True]
    assert (kept.size, len(kept), kept.dropped) == (300, 3, 1)
