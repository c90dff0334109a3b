"""Run folders that are made up: all that a learner writes, with numbers that follow from a seed and times that never
change. For measurements and tests of what reads runs; nothing was proved here.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from common import curves
from common.curves import Evaluated, Part, encode_line
from common.lean import Theorem
from common.protocol.attempts import (
    Attempt,
    AttemptOutcome,
    AttemptResult,
    AttemptStatistics,
    KeptSearch,
    PlayParts,
    Purpose,
    Transition,
)
from common.protocol.messages import Span
from common.records import searches
from common.records.readers import DATABASE
from common.records.rows import Arrival, Planned, TheoremRow, Verdict, VerifiedProof, WeightsRow
from common.records.searches import FailedTactic, KeptSearches, SearchState, SearchTree, TakenTactic
from common.records.store import Store
from common.watch import nodes, spans
from common.watch.nodes import NodeSample

BEGAN = 1_790_000_000.0
"""Unix time at which the run begins."""

SECONDS = 3600.0
"""How long it lasts."""

FAMILIES = ("propositional", "nat-order", "induction", "lists")
LEVELS = (1, 2, 3, 4)
NODES = {"learner": 1, "inference": 1, "lean-proxy": 1, "prover": 2}
"""Nodes by role."""

TACTICS = ("intro h", "exact h.2", "constructor", "simp", "rw [Nat.add_comm]", "omega", "cases h", "induction n with")


def make_run(folder: Path, *, theorems: int = 60, attempts: int = 200, seed: int = 0, finished: bool = True) -> None:
    """Make the folder of a run with so many train theorems, a quarter as many test theorems, and so many attempts on
    train theorems; each of its evaluations tries all test theorems. `finished`: it has a summary."""
    folder.mkdir(parents=True)
    chance = random.Random(seed)
    train = [_theorem(chance, f"train_{n:05d}", "train") for n in range(theorems)]
    test = [_theorem(chance, f"test_{n:05d}", "test") for n in range(max(4, theorems // 4))]
    evaluated = _write_records(folder, chance, train, test, attempts)
    (folder / curves.EVALUATIONS).write_bytes(b"".join(map(curves.evaluation_line, evaluated)))
    (folder / curves.METRICS).write_bytes(b"".join(_points(chance, evaluated)))
    _write_nodes(folder, chance)
    (folder / "config.toml").write_text(f'[run]\nname = "{folder.name}"\n\n[learner]\nseed = {seed}\n')
    if finished:
        first, last = evaluated[0], evaluated[-1]
        summary = {
            **{
                "run": folder.name,
                "kind": "rl",
                "lean_version": "4.35.0",
                "test_total": len(test),
                "compared": len(test),
            },
            **{
                "solved_before": first.solved,
                "solved_after": last.solved,
                "both_solved": min(first.solved, last.solved),
            },
            **{"undecided_before": 0, "undecided_after": 0, "simulations": 16, "wall_s": SECONDS, "seed": seed},
            **{"difference": last.solve_rate - first.solve_rate, "ci_low": 0.01, "ci_high": 0.4, "records_sound": True},
        }
        (folder / "summary.json").write_text(json.dumps(summary))


def multiply(folder: Path, copies: int) -> None:
    """Give the records of a made run so many times as many theorems, each with its own attempts, results, proofs and
    transitions, in so many times as many hours. In SQL, since a learner's way would take minutes for 100,000."""
    keys = {"theorem_id": "{} || '-' || n", "attempt_id": "{} || '-' || n"}
    keys |= {"created": f"{{}} + n * {SECONDS}", "recorded": f"{{}} + n * {SECONDS}"}
    counted = {"number": "attempts", "proof_id": "proofs", "transition_id": "transitions"}
    with sqlite3.connect(folder / DATABASE) as db:
        most = {key: db.execute(f"SELECT MAX({key}) FROM {table}").fetchone()[0] for key, table in counted.items()}
        for table in ("theorems", "attempts", "results", "proofs", "transitions", "theorem_statistics", "timelines"):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            made = [
                keys[each].format(each) if each in keys else f"{each} + n * {most[each]}" if each in most else each
                for each in columns
            ]
            db.execute(
                f"WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < {copies - 1})"
                f" INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(made)} FROM copies CROSS JOIN {table}"
            )
    db.close()


# --- records ----------------------------------------------------------------------------------------------------------


def _theorem(chance: random.Random, name: str, split: str) -> TheoremRow:
    left, right = chance.sample(["a", "b", "c", "d", "n", "m"], 2)
    statement = Theorem(name, f"({left} {right} : Nat) (h : {left} ≤ {right})", f"{left} + 1 ≤ {right} + 1 ∧ True")
    return TheoremRow(statement, split, chance.choice(FAMILIES), chance.choice(LEVELS))


def _write_records(
    folder: Path, chance: random.Random, train: list[TheoremRow], test: list[TheoremRow], attempts: int
) -> list[Evaluated]:
    """Write proofs.sqlite, searches.sqlite and spans.jsonl; returns the evaluations."""
    store, kept = Store(folder / DATABASE), KeptSearches(folder, 2**24)
    for database in (store, kept):  # nothing is lost with a power cut that cannot be made again
        database._db.execute("PRAGMA synchronous = OFF")
    store.add_theorems([*train, *test])
    evaluated: list[Evaluated] = []
    number, labels = 0, ("before", "step-100", "step-200", "after")
    for place, label in enumerate(labels):
        weights, step = place + 1, 100 * place
        now = BEGAN + 300.0 + place * (SECONDS - 300.0) / len(labels)
        store.add_weights(WeightsRow(weights, step, f"{weights:064x}", f"weights-{weights:06d}"), now)
        opened = store.begin_evaluation(label, weights, 16, now, label.startswith("step"))
        outcomes = {}
        for row in test:
            number += 1
            hope = 0.2 + 0.15 * place - 0.04 * row.level
            outcomes[row] = _attempt(store, kept, folder, chance, row, number, now, Purpose.EVAL, hope, weights, opened)
        store.finish_evaluation(opened, now + 60.0, now + 60.0 - BEGAN)
        evaluated.append(_evaluated(label, step, weights, now + 60.0, outcomes))
        for index in range(attempts // len(labels)):
            number += 1
            purpose = Purpose.DISPROVE if index % 9 == 8 else Purpose.TRAIN
            at = now + 60.0 + index * 600.0 / attempts
            _attempt(
                store, kept, folder, chance, chance.choice(train), number, at, purpose, 0.2 + 0.15 * place, weights
            )
    number += 1
    store.dispatch([_planned(train[0], number, Purpose.TRAIN, None, None)], BEGAN + SECONDS)  # outstanding at the end
    store.close()
    kept.close()
    return evaluated


def _planned(row: TheoremRow, number: int, purpose: Purpose, weights: int | None, evaluation: int | None) -> Planned:
    attempt = Attempt(
        attempt_id=f"made-{number}",
        theorem_id=row.theorem.name,
        theorem=row.theorem,
        purpose=purpose,
        simulations=16,
        seed=number,
        weights=weights if purpose is Purpose.EVAL else None,
        keep_search=number % 5 == 0,
        traced=number % 10 == 0,
    )
    return Planned(number, attempt, evaluation)


def _attempt(
    store: Store,
    kept: KeptSearches,
    folder: Path,
    chance: random.Random,
    row: TheoremRow,
    number: int,
    now: float,
    purpose: Purpose,
    hope: float,
    weights: int,
    evaluation: int | None = None,
) -> AttemptOutcome:
    """Dispatch an attempt and record its result; returns the outcome. `hope`: the probability of a proof."""
    planned = _planned(row, number, purpose, weights, evaluation)
    attempt, proved = planned.attempt, chance.random() < hope
    others = (AttemptOutcome.FAILED, AttemptOutcome.FAILED, AttemptOutcome.FAILED, AttemptOutcome.UNDECIDED)
    outcome = AttemptOutcome.PROVED if proved else chance.choice(others if evaluation is None else others[:1])
    tree = _search(chance, row.theorem, proved)
    seconds = round(chance.uniform(0.5, 6.0), 3)
    parts = PlayParts(
        asked=now + 0.1,
        search=seconds * 0.1,
        policy_wait=seconds * 0.1,
        policy_run=seconds * 0.3,
        lean_wait=seconds * 0.1,
        lean_run=seconds * 0.35,
        bus=seconds * 0.05,
        idle=0.2,
    )
    simulations = chance.randint(1, 16)
    result = AttemptResult(
        attempt_id=attempt.attempt_id,
        theorem_id=attempt.theorem_id,
        purpose=purpose,
        prover_id=f"prover-made-{number % NODES['prover']}",
        outcome=outcome,
        message="" if proved else f"{simulations} simulations",
        statistics=AttemptStatistics(
            simulations=simulations,
            expansions=simulations,
            nodes=len(tree.states),
            tactics_tried=simulations * 6,
            tactics_failed=simulations * 4,
            seconds=seconds,
            seconds_policy=seconds * 0.4,
            seconds_lean=seconds * 0.45,
            weights_first=weights,
            weights_last=weights,
            solved_at_simulations=simulations if proved else 0,
            lean_attempts=simulations * 6,
            tokens=simulations * 40,
            parts=parts,
        ),
        search=KeptSearch(searches.packed([tree]), left=0.0 if proved else 2.5),
    )
    steps = tuple(
        Transition(f"h : {n} ≤ {n}\n⊢ {n} + {row.level} = {row.level} + {n}", chance.choice(TACTICS), 3 - n)
        for n in range(3)
    )
    script = "\n".join(f"  {step.tactic}" for step in steps)
    proof = VerifiedProof(script, steps, ("propext",), "4.35.0") if proved else None
    store.dispatch([planned], now)
    store.record(
        result,
        Verdict(outcome, proof=proof),
        now + seconds + 1.0,
        Arrival(now + seconds + 0.8, now + seconds + 0.9, 0.0, {"store": 0.01}),
    )
    kept.keep(attempt, result, outcome)
    if attempt.traced:
        _write_spans(folder, attempt.attempt_id, now, seconds)
    return outcome


def _search(chance: random.Random, theorem: Theorem, proved: bool) -> SearchTree:
    """A tree of twelve states, each with two tactics and one that failed; of a proof, its first branch is done."""
    states = []
    for place in range(12):
        below = tuple(child for child in (2 * place + 1, 2 * place + 2) if child < 12)
        done = proved and place in (0, 1, 3, 7)
        taken = [
            TakenTactic(
                TACTICS[(place + child) % len(TACTICS)], 0.6 / (1 + child % 2), 3, -2.0, (child,), 2 if done else None
            )
            for child in below
        ]
        states.append(
            SearchState(
                id=place,
                state=f"h : {place} ≤ n\n⊢ n + {place} = {place} + n",
                depth=(place + 1).bit_length() - 1,
                visits=12 - place,
                value=-float(chance.randint(1, 6)),
                expansions=1,
                parent=(place - 1) // 2 if place else None,
                tactic=TACTICS[((place - 1) // 2 + place) % len(TACTICS)] if place else "",
                steps=4 - (place + 1).bit_length() + 1 if done else None,
                dead=place == 11,
                best=0 if done and taken else None,
                tactics=tuple(taken),
                failed=(FailedTactic("ring", "error", "unknown tactic 'ring'"), FailedTactic("simp", "useless", "")),
                estimate=-chance.uniform(1.0, 6.0),
                at=0.2 * place,
                policy_seconds=0.1,
                lean_seconds=0.05,
            )
        )
    return SearchTree(theorem.name, 12, 36, 24, tuple(states))


def _evaluated(
    label: str, step: int, weights: int, now: float, outcomes: dict[TheoremRow, AttemptOutcome]
) -> Evaluated:
    def part(chosen: list[TheoremRow]) -> Part:
        solved = sum(outcomes[row] is AttemptOutcome.PROVED for row in chosen)
        return Part(statements=len(chosen), solved=solved, undecided=0, share=round(solved / max(1, len(chosen)), 4))

    rows, whole = list(outcomes), part(list(outcomes))
    return Evaluated(
        label=label,
        beside=label.startswith("step"),
        step=step,
        weights=weights,
        time=now,
        worked=now - BEGAN,
        statements=whole.statements,
        solved=whole.solved,
        undecided=0,
        simulations=16,
        simulations_used=9 * whole.statements,
        lean_attempts=50 * whole.statements,
        tokens=400 * whole.statements,
        levels={str(level): part([row for row in rows if row.level == level]) for level in LEVELS},
        families={family: part([row for row in rows if row.family == family]) for family in FAMILIES},
        banks={"pocket": part(rows[::2]), "words": part(rows[1::2])},
    )


def _write_spans(folder: Path, attempt_id: str, now: float, seconds: float) -> None:
    root = spans.root_id(attempt_id)
    parts = {"dispatch": 0.1, "queue": 0.2, "store": 0.05}
    found = list(spans.around(attempt_id, now, now + seconds + 1.0, parts))
    play = spans.root_id(f"play {attempt_id}")
    found.append(Span(attempt_id, play, "play", now + 0.3, seconds, parent=root))
    for n in range(6):
        name, node = ("policy", "inference-made-0") if n % 2 == 0 else ("lean", "lean-proxy-made-0")
        start, span_id = now + 0.3 + n * seconds / 6, spans.root_id(f"{n} {attempt_id}")
        found.append(Span(attempt_id, span_id, name, start, seconds / 7, play, node, 1, 0.01, 0.1))
    with (folder / spans.FILE).open("ab") as file:
        file.write(msgspec.json.encode(spans.as_otlp("prover", "prover-made-0", found)) + b"\n")


# --- the other files --------------------------------------------------------------------------------------------------


def _points(chance: random.Random, evaluated: list[Evaluated]) -> Iterator[bytes]:
    """The lines of metrics.jsonl."""
    for n in range(120):
        loss = 4.0 / (1 + n / 20) + chance.uniform(0, 0.1)
        values = {
            "loss": loss,
            "policy_loss": loss * 0.9,
            "value_loss": loss * 0.3,
            "solve_rate": min(0.9, 0.2 + n / 200),
        }
        values |= {"transitions": 20.0 * n, "expansions_per_s": 14 + chance.uniform(-2, 2), "pause_fraction": 0.05}
        if n % 10 == 0:
            values["valid_loss"] = loss * 1.1
        yield encode_line(BEGAN + n * SECONDS / 120, 3 * n, values)
    for each in evaluated:
        values = {"eval_solve_rate": each.solve_rate, "eval_statements": each.statements, "eval_solved": each.solved}
        values |= {"eval_undecided": 0, "eval_simulations": 16, "eval_beside": float(each.beside)}
        yield encode_line(each.time, each.step, values)


def _write_nodes(folder: Path, chance: random.Random) -> None:
    """Logs of all nodes, and their history."""
    logs, samples = folder / "logs", []
    logs.mkdir()
    for role, count in NODES.items():
        for index in range(count):
            node, lines = f"{role}-made-{index}", []
            for n in range(12):
                level = chance.choice(("info", "info", "info", "warning", "error"))
                record = {"time": BEGAN + n * 300.0 + index, "event": f"{role} did its part {n}", "level": level}
                lines.append(json.dumps(record | {"node": node, "count": n}) + "\n")
            (logs / f"{role}-{index}.log").write_text("".join(lines))
            for n in range(60):
                done = float(n * (20 + index))
                values = {"attempts": done, "expansions": 9 * done, "candidates": 30 * done, "states": 8 * done}
                values |= {"loop_lag_ms": chance.uniform(1, 30), "memory_mb": 300 + n, "cpu_share": 0.7}
                samples.append(NodeSample(BEGAN + n * SECONDS / 60, node, role, "running", values))
    lines = [msgspec.json.encode(each).decode() for each in sorted(samples, key=lambda each: each.time)]
    (folder / nodes.FILE).write_text("\n".join([*lines, ""]))
