import msgspec
import pytest

from common.lean import BadContext, Context, Place, Theorem
from common.protocol.messages import MAX_MESSAGE_BYTES, LeanRunRequest, decode, encode


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
