"""What joins a policy when a person waits."""

from common.lean import Context, Place, Theorem
from node.prover.policies.policy import Advice, Proposal
from node.prover.policies.premises import for_people, premises_of, with_premises

CONTEXT = Context.of("def double (n : Nat) : Nat := n + n\ntheorem double_zero : double 0 = 0 := rfl\n")
PLACED = Theorem("t", "", "?", place=Place(CONTEXT, "theorem t (n : Nat) : double n = n + n := by\n  ", "\n"))
ALONE = Theorem("t", "(n : Nat)", "n = n")
STATE = "n : Nat\n⊢ double n = n + n"


class Network:
    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        return Advice([Proposal("from the network", 1.0)], -3.0)


async def tactics(policy, state: str = STATE) -> list[str]:
    return [proposal.tactic for proposal in (await policy.advise(state, 6, 0)).proposals]


async def test_a_network_is_joined_by_the_list_and_its_value_counts():
    policy = for_people(Network(), ALONE)
    assert {"from the network", "rfl"} <= {*await tactics(policy)}
    assert (await policy.advise(STATE, 6, 0)).value == -3.0


async def test_at_a_place_in_a_file_its_own_names_join():
    assert {"from the network", "rfl", "simp [double]", "unfold double"} <= {
        *await tactics(for_people(Network(), PLACED))
    }
    known = with_premises(Network(), PLACED, has_values=True, unknown=lambda tactic: tactic.startswith("unfold"))
    assert "simp [double]" in await tactics(known) and "unfold double" not in await tactics(known)


async def test_a_theorem_that_stands_by_itself_has_no_premises():
    assert premises_of(ALONE) is None
    assert await tactics(with_premises(Network(), ALONE, has_values=True)) == ["from the network"]
