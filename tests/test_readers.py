"""What reads data that other programs, models and people have written: whatever comes, it is read or refused with the
error that the reader's docstring names. One row for each reader; its files are right at first, and then damaged.
"""

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from common import config, curves
from common.lean import BadContext, Context, Theorem
from common.records.database import RunDirectoryError
from common.records.store import Store
from common.settings import NodeSettings
from node.agent.settings import AgentError
from node.agent.store import AgentStore
from node.bank import bank, sources, statements
from node.bank.bank import BankError
from node.data import grammar, rows
from node.data.errors import InputError
from node.eval import folder as evaluations
from node.llm import outputs, templates
from node.llm.sampling import Sample
from node.progress import data as progress
from node.retrieval.corpus import RetrievalError, read_corpus
from node.rewards import reading
from node.stp.readers import open_run
from node.stp.records import StpError
from tests.hostile import HOSTILE
from tests.message_values import CHARACTERS

STATEMENT = {"name": "t", "binders": "", "conclusion": "True", "family": "f", "level": 1, "header": ""}
STEP = {"theorem": "t", "state": "⊢ True", "tactic": "simp", "remaining_steps": 1, "block": 0, "step": 0, "parent": -1}
PROOF = {"name": "t", "statement": "theorem t : True", "proof": "by trivial", "header": "", "weight": 1.0}
CONJECTURE = {**PROOF, "lemma": "theorem l : True", "conjecture": "theorem c : 1 = 1"}
TRACED = {"theorems": [{"name": "t", "blocks": [{"steps": [{"state": "⊢ p", "tactic": "x", "remaining_steps": 1}]}]}]}
LEANPROGRESS = {"goal": "⊢ p", "tactic": "x", "prefix": "", "steps_remaining": 1}
PREMISE = {"full_name": "a", "code": "theorem a : True", "start": [1, 1], "end": [1, 9], "kind": "theorem"}
CORPUS = {"path": "A.lean", "imports": ["B.lean"], "premises": [PREMISE]}
REWARD = {"theorem": "theorem t : True", "header": "", "state": "⊢ True", "steps": ["skip"], "remaining": ["rfl"]}
POINT = {"time": 1.0, "step": 3, "loss": 0.5}
CONFIG = b'[run]\nname = "a"\n[bus]\nurl = "nats://x:1"\n'
LEAN = "import A\n/-- d -/\ntheorem t (n : Nat) : n = n := by\n  rfl\n\ntheorem u : True := by sorry\n"
WRITTEN = "<think>so</think>\n```lean4\ntheorem t : True := by\n  trivial\n```\n"

NONE: tuple[type[Exception], ...] = ()

# --- damage -----------------------------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from([0, -1, 2**70, 1e308, float("nan"), "", "\0", HOSTILE, "by", "theorem", "⊢", "sorry", "-/"]),
        st.text(CHARACTERS, max_size=8),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "steps", "state"]), inner),
    max_leaves=4,
)
"""A value where another one is expected."""


def damaged_row(row: dict[str, Any]) -> st.SearchStrategy[Any]:
    """A row with one field of any value, or without one; or something else."""
    changed = st.tuples(st.sampled_from(sorted(row)), ANYTHING).map(lambda change: {**row, change[0]: change[1]})
    shorter = st.sampled_from(sorted(row)).map(lambda name: {each: row[each] for each in row if each != name})
    return st.one_of(changed, shorter, ANYTHING)


def damaged_bytes(content: bytes) -> st.SearchStrategy[bytes]:
    """Content that is cut, overwritten, or has something in the middle; or any bytes."""
    place = st.integers(0, len(content))
    piece = st.one_of(st.binary(max_size=6), st.sampled_from([HOSTILE.encode(), b"[" * 5000, b"\n", b'"', b"/-", b"`"]))
    cuts = st.tuples(place, piece, st.integers(0, 9))
    changed = cuts.map(lambda cut: content[: cut[0]] + cut[1] + content[cut[0] + cut[2] :])
    return st.one_of(place.map(lambda end: content[:end]), changed, st.binary(max_size=40))


def damaged_text(text: str) -> st.SearchStrategy[str]:
    """The same of a text."""
    return damaged_bytes(text.encode()).map(lambda content: content.decode("utf-8", "replace"))


def lines_of(row: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """A file of JSON lines, of which one is damaged."""
    line = json.dumps(row).encode() + b"\n"
    rows_only = damaged_row(row).map(lambda wrong: line + json.dumps(wrong).encode() + b"\n" + line)
    return st.one_of(rows_only, damaged_bytes(line + line))


# --- the readers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reader:
    """What reads damaged data."""

    data: st.SearchStrategy[Any]
    read: Callable[[Any, Path], object]
    errors: tuple[type[Exception], ...] = NONE
    """The errors that it may raise; none: it passes over what it cannot read."""
    surely: tuple[Any, ...] = ()
    """Data that it reads in each run."""


def file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    """Reads a file of this name."""

    def reading_of(content: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
        return read(path)

    return reading_of


def in_folder(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    """Reads the folder in which a file has this name."""
    return file(name, lambda path: read(path.parent))


def row_of(row: dict[str, Any], read: Callable[[Any], object]) -> Reader:
    """A reader of one row of a data set, which is a dictionary at least."""
    return Reader(
        damaged_row(row).map(lambda wrong: wrong if isinstance(wrong, dict) else {"x": wrong}),
        lambda wrong, _: read(wrong),
        (rows.BadRow,),
    )


def opened(kind: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Opens a database, and closes it."""
    return lambda path: kind(path).close()


def parsed(sample: str, _: Path) -> None:
    """All that a model writes is parsed as what it may be asked for: by a quarter of the families each."""
    theorem = Theorem("t", "", "True")
    for template in [*templates.families()][len(sample) % 4 :: 4]:
        for cut in (False, True):
            outputs.parse_tactic(template, Sample(sample, cut=cut))
            outputs.parse_proof(template, Sample(sample, cut=cut), theorem)


LEAN_TEXTS, BANK = damaged_text(LEAN), (BankError,)
SQLITE = damaged_bytes(b"SQLite format 3\0" * 9)

READERS = {
    "config": Reader(
        damaged_bytes(CONFIG),
        file("a.toml", lambda path: config.load(NodeSettings, path, "run")),
        (config.ConfigError,),
    ),
    "metrics": Reader(lines_of(POINT), file("metrics.jsonl", lambda path: [*map(curves.decode_line, path.open("rb"))])),
    "evaluations.jsonl": Reader(lines_of(POINT), file("evaluations.jsonl", curves.read_evaluations)),
    "training.json": Reader(damaged_bytes(b'{"kind": 1}'), in_folder("training.json", curves.read_about)),
    "context": Reader(
        damaged_bytes(Context.of("def a := 1\n" * 9).packed),
        lambda packed, _: Context(Context.of("def a := 1\n" * 9).digest, packed).text,
        (BadContext,),
    ),
    "records": Reader(SQLITE, file("proofs.sqlite", opened(Store)), (RunDirectoryError,)),
    "agent": Reader(SQLITE, in_folder("agent.sqlite", opened(AgentStore)), (AgentError,)),
    "stp": Reader(SQLITE, in_folder("stp.sqlite", opened(open_run)), (StpError,)),
    "bank": Reader(lines_of(STATEMENT), in_folder("train.jsonl.gz", partial(bank.load_statements, "train")), BANK),
    "bank's transitions": Reader(
        lines_of({**STEP, "level": 1, "family": "f"}), in_folder("transitions.jsonl.gz", bank.load_transitions), BANK
    ),
    "statements of a file": Reader(lines_of(PROOF), file("a.jsonl", lambda p: [*sources.read_rows(str(p))]), BANK),
    "Lean text": Reader(LEAN_TEXTS, lambda text, _: [*statements.statements_of_lean(text)]),
    "text with statements": Reader(LEAN_TEXTS, lambda text, _: [*statements.statements_of_text(text)]),
    "a statement": Reader(LEAN_TEXTS, lambda text, _: statements.theorem(text), (statements.Refused,)),
    "a source": Reader(
        damaged_text("transitions:bank@all*2"),
        lambda name, _: grammar.parse(name, ("transitions", "proofs"), "proofs"),
        (InputError,),
    ),
    "steps": row_of(STEP, lambda row: [*rows.steps_of(row)]),
    "steps of theorems": row_of(TRACED, lambda row: [*rows.steps_of(row)]),
    "a proof": row_of(PROOF, rows.proof_of),
    "a conjecture": row_of(CONJECTURE, rows.conjecture_of),
    "a text": row_of({"text": "a"}, rows.text_of),
    "an evaluation": Reader(
        damaged_bytes(b'{"name": "a"}'), in_folder("evaluation.json", evaluations.read), (evaluations.FolderError,)
    ),
    "attempts of an evaluation": Reader(
        lines_of({"name": "t", "outcome": "proved"}),
        file("attempts.jsonl", lambda path: evaluations._lines(path, evaluations.AttemptRecord)),
        (evaluations.FolderError,),
    ),
    "a template": Reader(
        damaged_bytes((templates.FAMILIES / "kimina-prover.toml").read_bytes()),
        file("a.toml", lambda path: templates.load(str(path))),
        (templates.TemplateError,),
    ),
    "what a model writes": Reader(damaged_text(WRITTEN), parsed, surely=("```lean4\ntheorem t : True :=\n```\n",)),
    "progress": Reader(lines_of(LEANPROGRESS), file("a.jsonl", lambda p: progress.read(str(p))), (InputError,)),
    "progress of transitions": Reader(lines_of(STEP), file("a.jsonl", lambda p: progress.read(str(p))), (InputError,)),
    "a corpus": Reader(lines_of(CORPUS), file("corpus.jsonl", read_corpus), (RetrievalError,)),
    "a reward's row": Reader(
        damaged_row(REWARD).map(lambda row: row if isinstance(row, dict) else {}),
        lambda row, _: reading.rows_of("tactics", {name: [value] for name, value in row.items()}, 1),
        (reading.BadRow,),
        ({**REWARD, "steps": 3},),
    ),
    "a completion": Reader(ANYTHING, lambda completion, _: reading.text_of(completion), (reading.BadRow,)),
}


@pytest.mark.parametrize("examples", [15, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_damaged_data_is_read_or_refused_with_the_readers_own_error(name: str, examples: int, tmp_path: Path) -> None:
    reader, folder, calm = READERS[name], tmp_path / "data", list(HealthCheck)

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=calm)
    @given(reader.data)
    def damage(data: Any) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            reader.read(data, folder)
        except reader.errors as refused:
            assert str(refused)

    for data in reader.surely:
        damage = example(data)(damage)
    damage()
