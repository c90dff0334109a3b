import random

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from common.lean import BadContext, Context, Place, ProofTree, Theorem
from common.proofs import transitions_of
from common.protocol import attempts
from common.protocol.attempts import AttemptResult, PartialResults, ResultPart, Transition, divide, joined
from common.protocol.messages import MAX_MESSAGE_BYTES, LeanRunRequest, MalformedMessage, decode, encode
from tests.message_values import example_of

TACTIC, NONE = st.sampled_from("ab"), st.just(())
TREES = st.recursive(
    st.builds(ProofTree, TACTIC, NONE, NONE, st.sampled_from(["", "s", "t"])),
    lambda inner: st.builds(ProofTree, TACTIC, NONE, st.lists(inner, max_size=3).map(tuple), st.sampled_from("stu")),
    max_leaves=12,
)


def test_every_step_has_the_length_of_its_longest_branch() -> None:
    right = ProofTree("intro", ((0,),), (ProofTree("exact h", state="R2"),), "R1")
    proof = ProofTree("constructor", ((0,), (1,)), (ProofTree("rfl", state="L"), right), "root")
    steps = (("root", "constructor", 3), ("L", "rfl", 1), ("R1", "intro", 2), ("R2", "exact h", 1))
    assert transitions_of(proof) == tuple(Transition(*step) for step in steps)
    # A step without a state teaches nothing.
    assert transitions_of(ProofTree("intro", ((0,),), (ProofTree("rfl", state="s"),))) == (Transition("s", "rfl", 1),)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(TREES)
def test_each_state_and_tactic_is_listed_once_with_the_fewest_steps_of_its_places(proof: ProofTree) -> None:
    places: dict[tuple[str, str], set[int]] = {}

    def walk(node: ProofTree) -> None:
        places.setdefault((node.state, node.tactic), set()).add(node.remaining_steps)
        for child in node.children:
            walk(child)

    walk(proof)
    found = transitions_of(proof)
    assert len(found) == len({key for key in places if key[0]})
    assert all(each.remaining_steps == min(places[each.state, each.tactic]) for each in found)


def test_a_context_of_ten_thousand_lines_fits_into_a_message_many_times():
    text = "".join(f"theorem t{n} (a b : Nat) (h : a + {n} = b) : b = a + {n} := h.symm\n" for n in range(10_000))
    theorem = Theorem("t", "", "True", place=Place(Context.of(text), "theorem t : True := ", "\n", tactic=False))
    payload = encode(LeanRunRequest(theorem=theorem))
    assert len(payload) < MAX_MESSAGE_BYTES / 3 and decode(payload, LeanRunRequest).theorem.place.context.text == text


def test_equal_texts_have_equal_keys_and_others_do_not():
    place = Place(Context.of("def a := 1\n"), "theorem t : a = 1 := by\n  ", "\n")
    assert place.key == Place(Context.of("def a := 1\n"), place.before, place.after).key
    assert place.key != Place(Context.of("def a := 2\n"), place.before, place.after).key and place.column == 2


@pytest.mark.parametrize("changes", [{"digest": "00"}, {"packed": b"no zlib"}, {"packed": Context.of("b text").packed}])
def test_a_context_that_is_not_what_its_digest_says_is_refused(changes):
    with pytest.raises(BadContext):
        _ = msgspec.structs.replace(Context.of("a text"), **changes).text


def test_what_a_theorem_states_is_its_place_where_it_has_one():
    alone = Theorem("a", "(p : Prop)", "p")
    assert alone.stated == Theorem("b", "(p : Prop)", "p", "open Nat").stated != Theorem("a", "", "p").stated
    one, other = (
        Theorem("gap", "", "p", place=Place(Context.of(text), "theorem t : p := by\n  ", "\n"))
        for text in ("variable (p : Prop)\n", "variable (p : Nat → Prop)\n")
    )
    assert one.stated != other.stated and one.stated != Theorem("gap", "", "p").stated


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
    assert divide(whole) == divide(whole, len(msgspec.msgpack.encode(whole))) == [whole]
    # A small limit: a hundred bytes in each part, beside the ids.
    large = result(ProofTree("simp" * 400))
    assert len(parts_of(large, attempts.HEADROOM + 102)) == -(-len(msgspec.msgpack.encode(large)) // 100)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 900), max_size=80), st.integers(4_000, 9_000), st.randoms(use_true_random=False))
def test_parts_fit_and_make_the_result_again_in_any_order(sizes: list[int], limit: int, rng: random.Random) -> None:
    whole = result(chain(sizes))
    divided = parts_of(whole, limit)
    if not divided:
        assert divide(whole, limit) == [whole]
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
    assert only.outcome is attempts.AttemptOutcome.ERROR and only.proof is None and "bytes" in only.message


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
