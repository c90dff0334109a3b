"""Policies by name: what is understood, what is refused and with which words, what is opened."""

from pathlib import Path

import pytest

from common.bus import RemoteFailure
from common.settings import Sampling
from node.play import policies
from node.play.policies import check, check_for_mesh, label_of, of_the_demo, parse, weights_at
from node.prover.policies.fixed import MOST_LINES
from node.prover.policies.names import BadPolicy, PolicyName
from tests.node.play.opened import open_policy

STATE = "p q : Prop\nh₀ : p ∧ q\n⊢ q ∧ p"


def unheard(text: str) -> None:
    pytest.fail(f"nothing is to be said here: {text}")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tactics", [PolicyName("tactics")]),
        ("tactics:my list.txt", [PolicyName("tactics", "my list.txt")]),
        ("own:runs/demo", [PolicyName("own", "runs/demo")]),
        ("own:a+b/step-3+tactics", [PolicyName("own", "a+b/step-3"), PolicyName("tactics")]),
        ("tactics+own:a", [PolicyName("tactics"), PolicyName("own", "a")]),
        ("own:a+tactics:b+tactics", [PolicyName("own", "a"), PolicyName("tactics", "b"), PolicyName("tactics")]),
    ],
)
def test_names_are_read(text: str, names: list[PolicyName]) -> None:
    assert parse(text) == names


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no policy"),
        ("tactic", "there is no policy `tactic`; there are `own:PATH`"),
        ("own", "names no checkpoint"),
        ("own:", "names no checkpoint"),
        ("tactics:", "names no file"),
        ("inference", "name the mesh with --url"),
        ("own:a+gpt:b", "there is no policy `gpt:b`"),
        ("tactics+tactics", "twice"),
    ],
)
def test_names_of_no_kind_are_refused(text: str, says: str) -> None:
    with pytest.raises(BadPolicy, match=says):
        parse(text)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"simp\nsorry\n", "line 2: .*sorry"),
        (b"exact?\n", "line 1: .*searches the library"),
        (b"# nothing\n", "there is no tactic in it"),
        (b"\xff\xfe", "not text"),
        ("\n".join(f"exact h{n}" for n in range(MOST_LINES + 1)).encode(), f"at most {MOST_LINES}"),
    ],
)
def test_files_that_cannot_be_used_are_refused(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "list"
    file.write_bytes(content)
    with pytest.raises(BadPolicy, match=says):
        check(f"tactics:{file}")


async def test_damaged_checkpoints_are_passed_over_with_a_word_and_named_ones_and_weights_refused(
    run_folder: Path, tmp_path: Path
) -> None:
    newest = run_folder / "checkpoints/step-000007"
    (newest / "model.safetensors").write_bytes(b"short")
    notes: list[str] = []
    assert weights_at(run_folder, notes.append).name == "step-000003"
    assert len(notes) == 1 and "damaged checkpoint" in notes[0]
    with pytest.raises(BadPolicy, match=r"damaged checkpoint: .*model.safetensors has 5 bytes"):
        weights_at(newest, unheard)
    (run_folder / "checkpoints/step-000003/tokenizer.json").unlink()
    with pytest.raises(BadPolicy, match=r"all checkpoints under .* are damaged"):
        weights_at(run_folder, unheard)
    file = tmp_path / "weights.safetensors"
    file.write_bytes(b"no weights")
    with pytest.raises(BadPolicy, match=r"cannot use the network .*weights.safetensors"):
        async with open_policy(f"own:{file}"):
            pass


def test_the_demos_checkpoints_are_used_if_there_are_any(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "DEMO_RUN", run_folder / "none")
    assert of_the_demo(unheard) is None
    monkeypatch.setattr(policies, "DEMO_RUN", run_folder)
    found = of_the_demo(unheard)
    assert found is not None and found.name == "step-000007"
    for state in run_folder.glob("checkpoints/*/state.json"):
        state.write_text("{}")
    notes: list[str] = []
    assert of_the_demo(notes.append) is None and "are damaged" in notes[0]


async def test_a_network_answers_beside_the_list_what_it_drew_is_counted_and_one_that_fails_is_left_out(
    run_folder: Path,
) -> None:
    async with open_policy(f"own:{run_folder}") as opened:
        assert opened.network and label_of(parse(f"own:{run_folder}")) == "network"
        alone = await opened.policy.advise(STATE, 6, 1)
        assert alone == await opened.policy.advise(STATE, 6, 1) and not alone.exhausted
    async with open_policy(f"own:{run_folder}+tactics") as opened:
        both = await opened.policy.advise(STATE, 6, 1)
    assert both.value == pytest.approx(alone.value)
    proposed = {proposal.tactic for proposal in both.proposals}
    assert proposed >= {"simp_all", *(proposal.tactic for proposal in alone.proposals)}
    async with open_policy(f"own:{run_folder}") as opened:
        plain, other = [await opened.policy.advise(STATE, 6, seed) for seed in (1, 2)]
    assert plain != other and plain.samples == 6 and plain.tokens is not None and plain.tokens >= 6
    async with open_policy(f"own:{run_folder}", sampling=Sampling(temperature=0.0)) as opened:
        likeliest, same = [await opened.policy.advise(STATE, 6, seed) for seed in (1, 2)]
    assert likeliest == same != plain
    cannot = Sampling(stop=("no single token",))
    for name, strict in ((f"own:{run_folder}", False), (f"own:{run_folder}+tactics", True)):
        async with open_policy(name, sampling=cannot, strict=strict) as opened:
            with pytest.raises(RemoteFailure, match="no single token"):
                await opened.policy.advise(STATE, 6, 1)
    async with open_policy(f"own:{run_folder}+tactics", sampling=cannot) as opened:
        assert "simp_all" in {proposal.tactic for proposal in (await opened.policy.advise(STATE, 6, 1)).proposals}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("own:runs/demo", "a mesh cannot use `own:PATH`.*`proofmesh up --policy own:PATH`"),
        ("inference+tactics:list", "`tactics:list` is a file of this machine.*`proofmesh up --policy tactics:list`"),
        ("gpt", "there are `inference`"),
    ],
)
def test_policies_that_a_mesh_cannot_be_asked_for(text: str, says: str) -> None:
    with pytest.raises(BadPolicy, match=says):
        check_for_mesh(text)
