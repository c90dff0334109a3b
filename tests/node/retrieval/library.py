"""A made-up library with traced theorems: words of states and of lemmas differ, so that only training joins them."""

import json
import random

SUBJECTS = [f"{first}{second}" for first in ("ka", "lo", "mi", "ne", "pu", "ro") for second in ("ba", "do", "fi", "gu")]
"""Words of states; the lemma about a word has another word, at the same place in ANSWERS."""

ANSWERS = [f"{first}{second}" for first in ("sa", "te", "vi", "wo", "xu", "zy") for second in ("ch", "nd", "rm", "st")]


def premise(name, line, statement="True", kind="theorem"):
    code = f"{kind} {name} : {statement} := by\n  trivial"
    return {"full_name": name, "code": code, "start": [line, 9], "end": [line, 20], "kind": f"command{kind}"}


def corpus_rows():
    lemmas = [premise(f"Lib.{answer}_law", line, f"{answer} x = {answer} y") for line, answer in enumerate(ANSWERS, 1)]
    return [
        {"path": "Lib/Basic.lean", "imports": [], "premises": lemmas},
        {"path": "Lib/Other.lean", "imports": [], "premises": [premise("Lib.unseen", 1, "unseen = unseen")]},
        {"path": "Main.lean", "imports": ["Lib/Basic.lean"], "premises": [premise("late", 900)]},
    ]


def theorem(name, subject, rng, line):
    number = SUBJECTS.index(subject)
    lemma = f"Lib.{ANSWERS[number]}_law"
    provenance = {"full_name": lemma, "def_path": "Lib/Basic.lean", "def_pos": [1, 1], "def_end_pos": [1, 2]}
    others = " ".join(rng.choice("abcdefgh") for _ in range(3))
    state = f"x y : Nat\n⊢ {subject} {others} = {subject} y"
    tactic = {"tactic": f"rw [{lemma}]", "annotated_tactic": [f"rw [<a>{lemma}</a>]", [provenance]]}
    traced = {"traced_tactics": [tactic | {"state_before": state, "state_after": "no goals"}]}
    return {"file_path": "Main.lean", "full_name": name, "start": [line, 1], "end": [line, 9], **traced}


def write_library(folder, count=240):
    """corpus.jsonl and theorems.json, as `proofmesh trace --format leandojo` writes them."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus_rows()))
    theorems = [theorem(f"main.t{line}", rng.choice(SUBJECTS), rng, line) for line in range(1, count + 1)]
    (folder / "theorems.json").write_text(json.dumps(theorems))
    return folder
