"""The library: sessions, and every example of docs/python.md, run in its order with real Lean."""

import asyncio
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import proofmesh
from node.proving import fill
from node.rewards.asking import close
from proofmesh.engine import BackgroundLoop

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def session():
    with proofmesh.Session(workers=1) as session:
        yield session


@pytest.mark.process
def test_importing_it_loads_nothing_else():
    heavy = "[name for name in ('torch', 'node', 'tyro') if name in sys.modules]"
    script = f"import sys, proofmesh; proofmesh.__version__; print({heavy})"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.lean
async def test_calls_work_where_a_loop_runs_and_from_threads_at_once(session):
    first = session.verify(text="theorem t : 2 + 2 = 4 := rfl")  # a plain call inside a coroutine, as in a notebook
    second, third = await asyncio.gather(
        session.averify(text="theorem t : 2 + 2 = 5 := rfl"),
        asyncio.to_thread(session.verify, text="axiom a : 1 = 2\ntheorem t : 1 = 2 := a"),
    )
    assert first.accepted and not second.accepted and second.rejected[0].theorem == "t"
    assert [verdict.axioms for verdict in third.rejected] == [("a",)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.prove("theorem t : True", seconds=-1), "prove: seconds = -1: must be more than 0"),
        (lambda s: s.prove("theorem t : True", seconds="soon"), "prove: seconds: expected `float`, got `str`"),
        (lambda s: s.prove("theorem t : True", method="magic"), "prove: proving.method: invalid enum value 'magic'"),
        (lambda s: s.prove("theorem t : True", fixed=True, checkpoint="x"), "--checkpoint and --fixed and --policy"),
        (lambda s: s.prove("nowhere.lean:3"), "nowhere.lean"),
        (lambda s: s.prove(), "nothing to prove: give a statement"),
        (lambda s: list(s.prove_many("nowhere.jsonl")), "nowhere.jsonl: cannot be read"),
        (lambda s: s.verify(), "verify: name files and folders, or give `text`, not both"),
        (lambda s: s.fill(), "fill: no paths; name files or folders"),
        (lambda s: s.trace(), "trace: no paths; name files, folders or projects"),
        (lambda s: s.trace("nowhere.lean"), "nowhere.lean: no such file or folder"),
        (lambda s: s.verify("x.lean", lean={"projct": "y"}), "did you mean `project`?"),
    ],
)
def test_what_cannot_be_is_one_clear_error(session, call, message):
    with pytest.raises(proofmesh.BadInput) as caught:
        call(session)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_whoever_stops_listening_ends_a_generator_in_the_background_loop():
    ended = threading.Event()

    async def numbers():
        try:
            for number in range(1000):
                yield number
        finally:
            ended.set()

    loop = BackgroundLoop()
    found = loop.each(numbers())
    assert next(found) == 0
    found.close()
    assert ended.is_set()
    loop.close()


def test_a_call_has_the_configuration_of_its_session_where_it_reads_one(tmp_path):
    with proofmesh.Session(config=tmp_path / "mesh.toml") as own, proofmesh.Session() as plain:
        assert own._with_own({"seed": 1}) == {"seed": 1, "config": tmp_path / "mesh.toml"}
        assert own._with_own({}, config=False) == plain._with_own({}) == {}


@pytest.mark.usefixtures("lent_lean")
def test_the_examples_of_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fill, "cache_directory", lambda: tmp_path)  # it recalls no proof of an earlier run
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    try:
        for number, example in enumerate(examples, 1):
            exec(compile(example, f"python.md, example {number}", "exec"), names)
    finally:
        close()
    said = capsys.readouterr().out
    assert "theorem swap (p q : Prop) : p ∧ q → q ∧ p := by\n" in said
    assert "one proved" in said and "u proved" in said
    assert "1 t accepted () " in said and "2 u rejected ('sorryAx',)" in said
    assert "+  " in said and "sorry" not in Path("Proofs.lean").read_text()
    assert "p : Prop\nh : p\n⊢ p" in said and "corpus.jsonl" in said and "paid: [1.0, 0.0]" in said
    assert "prove: no setting `secnds`; did you mean `seconds`?" in said
