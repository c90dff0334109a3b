import random

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from common.lean import ProofTree
from common.protocol import attempts
from common.protocol.attempts import AttemptOutcome, AttemptResult, PartialResults, ResultPart, divide, joined
from common.protocol.messages import MAX_MESSAGE_BYTES, MalformedMessage, decode, encode
from tests.message_values import example_of


def result(proof: ProofTree | None, message: str = "") -> AttemptResult:
    plain: AttemptResult = example_of(AttemptResult)
    return msgspec.structs.replace(plain, message=message, proof=proof)


def chain(sizes: list[int]) -> ProofTree:
    """A proof with states of these sizes, the last one first."""
    proof = ProofTree("done", state="⊢ True")
    for index, size in enumerate(sizes):
        proof = ProofTree(f"t{index}", ((0,),), (proof,), "p" * size)
    return proof


def parts_of(whole: AttemptResult, limit: int = MAX_MESSAGE_BYTES) -> list[ResultPart]:
    pieces = divide(whole, limit)
    assert all(len(encode(piece)) <= limit for piece in pieces)
    return [piece for piece in pieces if isinstance(piece, ResultPart)]


def test_a_small_result_is_one_message() -> None:
    whole = result(ProofTree("simp"))
    assert divide(whole) == [whole]
    # A small limit: a hundred bytes in each part, beside the ids.
    large = result(ProofTree("simp" * 400))
    assert len(parts_of(large, attempts.HEADROOM + 102)) == -(-len(msgspec.msgpack.encode(large)) // 100)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 900), max_size=80), st.integers(4_000, 9_000), st.randoms(use_true_random=False))
def test_parts_fit_and_make_the_result_again_in_any_order(sizes: list[int], limit: int, rng: random.Random) -> None:
    whole = result(chain(sizes))
    pieces = divide(whole, limit)
    assert all(len(encode(piece)) <= limit for piece in pieces)
    divided = [piece for piece in pieces if isinstance(piece, ResultPart)]
    if not divided:
        assert pieces == [whole]
        return
    assert [part.part for part in divided] == list(range(len(divided)))
    rng.shuffle(divided)
    kept = PartialResults()
    found = [kept.add(part) for part in [divided[0], *divided]]  # one of them comes twice
    assert found[-1] == whole and not any(found[:-1])


def test_megabytes_and_the_greatest_depth_travel_in_messages_of_the_real_limit() -> None:
    whole = result(chain([20_000] * 100))
    divided = parts_of(whole)
    assert len(divided) >= 3
    received = [decode(encode(part), ResultPart) for part in divided]
    assert joined([part.payload for part in received], received[0].digest) == whole
    assert len(parts_of(result(None, message="x" * (MAX_MESSAGE_BYTES + 1)))) == 2
    deepest = result(chain([100] * 256))
    assert decode(encode(deepest), AttemptResult) == deepest


def test_a_result_of_too_many_parts_becomes_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "MAX_PARTS", 2)
    (only,) = divide(result(chain([1000] * 20)), limit=6_000)
    assert isinstance(only, AttemptResult)
    assert only.outcome is AttemptOutcome.ERROR and only.proof is None and "bytes" in only.message


def test_parts_of_two_plays_are_not_mixed() -> None:
    first, second = (parts_of(result(chain([1000] * 10), message=text), 6_000) for text in ("one", "two"))
    kept = PartialResults()
    found = [kept.add(part) for part in (*first[:-1], *second[1:], second[0])]
    assert found[-1] is not None and found[-1].message == "two" and not any(found[:-1])


def test_parts_that_are_not_what_their_digest_or_numbers_say_are_malformed() -> None:
    divided = parts_of(result(chain([1000] * 10)), 6_000)
    with pytest.raises(MalformedMessage, match="digest"):
        joined([part.payload for part in reversed(divided)], divided[0].digest)
    nonsense = b"\xc1"
    with pytest.raises(MalformedMessage):
        joined([nonsense], attempts.digest_of(nonsense))
    for changes in ({"part": 2**62}, {"part": -1}, {"parts": 0}, {"parts": 2**62}):
        with pytest.raises(MalformedMessage, match="ResultPart: Expected"):
            decode(encode(msgspec.structs.replace(divided[0], **changes)), ResultPart)
