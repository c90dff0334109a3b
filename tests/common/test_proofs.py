import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from common.lean import BadContext, Context, Place, ProofTree, Theorem
from common.proofs import transitions_of
from common.protocol.attempts import Transition
from common.protocol.messages import MAX_MESSAGE_BYTES, LeanRunRequest, decode, encode

TREES = st.recursive(
    st.builds(ProofTree, st.sampled_from("ab"), st.just(()), st.just(()), st.sampled_from(["", "s", "t"])),
    lambda children: st.builds(
        ProofTree, st.sampled_from("ab"), st.just(()), st.lists(children, max_size=3).map(tuple), st.sampled_from("stu")
    ),
    max_leaves=12,
)


def test_every_step_has_the_length_of_its_longest_branch() -> None:
    right = ProofTree("intro", ((0,),), (ProofTree("exact h", state="R2"),), "R1")
    proof = ProofTree("constructor", ((0,), (1,)), (ProofTree("rfl", state="L"), right), "root")
    assert transitions_of(proof) == (
        Transition("root", "constructor", 3),
        Transition("L", "rfl", 1),
        Transition("R1", "intro", 2),
        Transition("R2", "exact h", 1),
    )
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
    assert len(payload) < MAX_MESSAGE_BYTES / 3
    assert decode(payload, LeanRunRequest).theorem.place.context.text == text


def test_equal_texts_have_equal_keys_and_others_do_not():
    place = Place(Context.of("def a := 1\n"), "theorem t : a = 1 := by\n  ", "\n")
    assert place.key == Place(Context.of("def a := 1\n"), place.before, place.after).key
    assert place.key != Place(Context.of("def a := 2\n"), place.before, place.after).key
    assert place.column == 2


@pytest.mark.parametrize(
    "changes", [{"digest": "00"}, {"packed": b"no zlib"}, {"packed": Context.of("another text").packed}]
)
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
