"""What Lean lets pass and nobody should pay for is an error message; what is proved is accepted, with its axioms."""

import pytest

from tests.node.serve.conftest import ACCEPTED, SECONDS

pytestmark = pytest.mark.lean

CHEATS = {
    "axiom magic : 1 = 2\ntheorem t : 1 = 2 := magic": "other axioms than Lean's own: magic",
    "set_option warn.sorry false\naxiom magic (p : Prop) : p\ntheorem t : 1 = 2 := magic _": "Lean's own: magic",
    "set_option debug.skipKernelTC true\ntheorem t : 1 = 2 := by decide +kernel": "the kernel rejects",
    "theorem t : 1 = 2 := by\n  exact sorryAx _ false": "does not stand in the text as such",
    "theorem u : 1 = 1 := rfl\naxiom bad : False\ntheorem t : 1 = 2 := bad.elim": "t: it uses other axioms",
    'notation "QED" => sorry\ntheorem t : 1 = 2 := QED': "",
    'macro "cheat" : tactic => `(tactic| exact sorryAx _ false)\ntheorem t : 1 = 2 := by cheat': "",
    "instance : Inhabited (1 = 2) := ⟨by native_decide⟩\ntheorem t : 1 = 2 := default": "native_decide",
}

HONEST = {
    "theorem t : 1 = 1 := rfl": [],
    "theorem t (p : Prop) : p ∨ ¬p := Classical.em p": ["Classical.choice", "Quot.sound", "propext"],
    "example (p q : Prop) (h : p ∧ q) : q ∧ p := by\n  constructor\n  · exact h.2\n  · exact h.1": [],
    "def f (n : Nat) := n + 1\ntheorem t : f 1 = 2 := rfl\ntheorem u : f 2 = 3 := by decide": [],
    "theorem t : 1 = 2 ∨ 1 = 1 := by\n  -- no sorry, no axiom\n  right; rfl": [],
}


async def test_a_cheat_is_no_proof_to_any_reader(wire):
    for result, says in zip(await wire.check(*CHEATS), CHEATS.values(), strict=True):
        messages = result["response"]["messages"]
        errors = [item["data"] for item in messages if item["severity"] == "error"]
        shown_as_sorry = result["response"].get("sorries") and any("uses 'sorry'" in item["data"] for item in messages)
        assert errors or shown_as_sorry, result
        assert any(says in text for text in errors) or not says, result
        assert result["verdict"]["accepted"] is False and result["verdict"]["reason"], result


async def test_its_honest_twin_is_accepted_with_its_axioms(wire):
    for result, (code, axioms) in zip(await wire.check(*HONEST), HONEST.items(), strict=True):
        assert set(result) == {"id", "time", "response", "verdict"} and result["response"] == {"env": 0}
        depends = ["f (def, line 1)"] if "def f" in code else []
        assert result["verdict"] == ACCEPTED | {"axioms": axioms, "depends": depends}


OWN_SYNTAX = [
    ('notation "ONE" => 1\ntheorem t : ONE = 1 := rfl', ['notation "ONE" => 1 (notation, line 1)'], []),
    ("#eval 1\ntheorem t : 1 = 1 := rfl\n", [], ["#eval (#eval, line 1)"]),
    ("instance : Add Bool := ⟨or⟩\ntheorem t : true + true = true := rfl", ["instAddBool_main (instance, line 1)"], []),
    (
        "namespace A\ndef Nat := Bool\ntheorem t (a : Nat) (h : a = true) : a = true := h\nend A",
        ["A.Nat (def, line 2)"],
        [],
    ),
]


async def test_what_may_change_the_meaning_of_a_statement_needs_a_permission(wire):
    codes = [code for code, _, _ in OWN_SYNTAX]
    for results, allowed in (
        (await wire.check(*codes), False),
        (await wire.check(*codes[:2], allow_own_syntax=True), True),
    ):
        for result, (_, depends, runs_code) in zip(results, OWN_SYNTAX, strict=False):
            if allowed:
                assert result["verdict"] == ACCEPTED | {"depends": depends, "runs_code": runs_code}
                continue
            own = (depends + runs_code)[0]
            assert not result["verdict"]["accepted"] and own in result["verdict"]["reason"], result
            assert result["verdict"]["depends"] == depends and result["verdict"]["runs_code"] == runs_code
            assert any(own in item["data"] for item in result["response"]["messages"] if item["severity"] == "error")


async def test_a_snippet_is_compared_with_a_statement_of_the_request(wire):
    two = "def two := 2\ntheorem t : two = 2 := rfl"
    syntax = 'local notation "ONE" => 1\ntheorem t : ONE = 1 := rfl'
    compared = [
        (two, "def two := 2\ntheorem t : two = 2 := sorry", ""),
        (two, "def two := 3\ntheorem t : two = 2 := sorry", "definition of two differs"),
        (syntax, "theorem t : 1 = 1", ""),
        (syntax, "theorem t : 1 = 2", "the type of t differs"),
        (syntax, "theorem u : 1 = 1", "missing"),
        (syntax, "theorem t : No.such = 1", "`against` cannot be used"),
    ]
    snippets = [{"id": str(n), "code": code, "against": against} for n, (code, against, _) in enumerate(compared)]
    status, answer = await wire.post("/api/check", {"snippets": snippets, "timeout": SECONDS})
    assert status == 200
    for result, (_, _, reason) in zip(answer["results"], compared, strict=True):
        assert (result["verdict"] == ACCEPTED) is not bool(reason), result
        assert reason in result["verdict"]["reason"] + result.get("error", ""), result
