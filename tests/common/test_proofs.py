from hypothesis import given, settings, strategies as st

from common.lean import ProofTree
from common.proofs import transitions_of
from common.protocol.attempts import LONGEST_FAILED, MOST_FAILED, Transition

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


def test_a_step_without_a_state_teaches_nothing() -> None:
    assert transitions_of(ProofTree("intro", ((0,),), (ProofTree("rfl", state="s"),))) == (Transition("s", "rfl", 1),)


def test_failed_tactics_are_bounded() -> None:
    failed = ("x" * (LONGEST_FAILED + 1), *(f"simp [h{number}]" for number in range(MOST_FAILED + 3)))
    (step,) = transitions_of(ProofTree("rfl", state="s", failed=failed))
    assert step.failed == failed[1 : MOST_FAILED + 1]


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
