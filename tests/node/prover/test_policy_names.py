"""Policies of a mesh by name, and the settings that hold one."""

import pytest

from node.llm.address import parse_hub_address
from node.prover.policies.names import INFERENCE, OWN, BadPolicy, joined, parse


@pytest.mark.parametrize(
    ("text", "network", "again"),
    [
        ("inference", INFERENCE, "inference"),
        ("fixed", INFERENCE, "tactics"),
        ("inference+fixed", INFERENCE, "inference+tactics"),
        ("tactics:a+b+inference", INFERENCE, "tactics:a+b+inference"),
        ("inference+neighbours:runs/a*0.5", INFERENCE, "inference+neighbours:runs/a*0.5"),
        (" inference+tactics:my list ", INFERENCE, "inference+tactics:my list"),
        ("own:runs/demo+tactics", OWN, "own:runs/demo+tactics"),
        ("hf:a/model+an/adapter@stp+fixed", OWN, "hf:a/model+an/adapter@stp+tactics"),
        ("hf:model*0.5+hf:model+adapter*2+tactics", OWN, "hf:model*0.5+hf:model+adapter*2+tactics"),
        ("inference, fixed", INFERENCE, "inference,tactics"),
        ("own:a,b/c+tactics*2,own:a,b/c,tactics:x,y", OWN, "own:a,b/c+tactics*2,own:a,b/c,tactics:x,y"),
    ],
)
def test_names_are_read_and_written(text: str, network: str, again: str) -> None:
    assert joined(parse(text, network)) == again
    assert parse(again, network) == parse(text, network)


def test_a_plus_joins_an_adapter_to_its_model_and_parts_of_a_policy_to_each_other() -> None:
    first, second, third = parse("hf:a/model*0.5+hf:b/model+./tactics@stp*2+tactics:list", OWN)
    assert (first.where, first.share) == ("a/model", 0.5)
    assert (second.where, second.share) == ("b/model+./tactics@stp", 2.0)
    assert (third.kind, third.where) == ("tactics", "list")
    address = parse_hub_address(second.where)
    assert (address.model, address.adapter, address.template) == ("b/model", "./tactics", "stp")


@pytest.mark.parametrize(
    ("text", "network", "says"),
    [
        ("inferense", INFERENCE, "there is no policy `inferense`; there are `inference`, `openai:MODEL`"),
        ("own:runs/demo", INFERENCE, "proofmesh up --policy own:PATH"),
        ("inference+own:runs/demo", INFERENCE, "a mesh cannot use `own:PATH`"),
        ("inference", OWN, "name the mesh with --url"),
        ("inference:7", INFERENCE, "a mesh has one network"),
        ("tactics:", INFERENCE, "names no file"),
        ("inference+neighbours:", INFERENCE, "names no run or data with proofs; write `neighbours:RUN`"),
        ("fixed+tactics", INFERENCE, "twice"),
        ("inference,tactics+tactics", INFERENCE, "twice"),
        ("inference+tactics,tactics+inference", INFERENCE, "two searches that take turns have the same policy"),
        ("inference*0,tactics", INFERENCE, "with share 0 a network gives only its values"),
        ("inference,", INFERENCE, "there is no policy `inference,`"),
        ("", INFERENCE, "there is no policy"),
    ],
)
def test_names_that_cannot_be_had_there_are_refused(text: str, network: str, says: str) -> None:
    with pytest.raises(BadPolicy, match=says):
        parse(text, network)
