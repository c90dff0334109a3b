"""The tables of proofs.sqlite, as migrations: each one upgrades the file from one schema version to the next.

Only append migrations, never change one: a run directory may be years old. `PRAGMA user_version` holds the version.
"""

from __future__ import annotations

_INITIAL = """
CREATE TABLE theorems (
    theorem_id TEXT PRIMARY KEY,
    split TEXT NOT NULL,            -- train, test: attempts of purpose train and disprove use train alone
    binders TEXT NOT NULL,
    conclusion TEXT NOT NULL,
    header TEXT NOT NULL,
    family TEXT NOT NULL,
    level INTEGER NOT NULL
) STRICT;
CREATE TABLE evaluations (
    evaluation_id INTEGER PRIMARY KEY,
    label TEXT NOT NULL UNIQUE,
    weights INTEGER NOT NULL,
    simulations INTEGER NOT NULL,
    created REAL NOT NULL,
    finished REAL
) STRICT;
CREATE TABLE attempts (             -- everything ever dispatched
    number INTEGER PRIMARY KEY,     -- counts up; seeds derive from it
    attempt_id TEXT NOT NULL UNIQUE,
    theorem_id TEXT NOT NULL REFERENCES theorems,
    purpose TEXT NOT NULL,
    simulations INTEGER NOT NULL,
    weights INTEGER,
    evaluation_id INTEGER REFERENCES evaluations,
    created REAL NOT NULL
) STRICT;
CREATE INDEX attempts_by_evaluation ON attempts (evaluation_id) WHERE evaluation_id IS NOT NULL;
CREATE TABLE outbox (               -- what is outstanding: written with the attempt, removed with its result
    attempt_id TEXT PRIMARY KEY REFERENCES attempts (attempt_id),
    payload BLOB NOT NULL,          -- the Attempt message
    published REAL,                 -- when the broker acknowledged it; NULL: to be published (again)
    tries INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE parts (                -- results that came in several messages and are not complete yet
    attempt_id TEXT NOT NULL,
    prover_id TEXT NOT NULL,
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (attempt_id, prover_id, part)
) STRICT, WITHOUT ROWID;
CREATE TABLE results (              -- the first result of each attempt, after verification
    attempt_id TEXT PRIMARY KEY REFERENCES attempts (attempt_id),
    prover_id TEXT NOT NULL,
    outcome TEXT NOT NULL,          -- proved, rejected, failed, bad-statement, error, poisoned
    message TEXT NOT NULL,
    simulations INTEGER NOT NULL,
    expansions INTEGER NOT NULL,
    seconds REAL NOT NULL,
    weights_first INTEGER NOT NULL,
    weights_last INTEGER NOT NULL,
    recorded REAL NOT NULL
) STRICT;
CREATE TABLE proofs (               -- verified ones only
    proof_id INTEGER PRIMARY KEY,
    attempt_id TEXT NOT NULL UNIQUE REFERENCES results,
    theorem_id TEXT NOT NULL REFERENCES theorems,
    disproof INTEGER NOT NULL,
    script TEXT NOT NULL,
    axioms TEXT NOT NULL,
    lean_version TEXT NOT NULL
) STRICT;
CREATE TABLE transitions (          -- of verified proofs of train statements and of negations
    transition_id INTEGER PRIMARY KEY AUTOINCREMENT,
    attempt_id TEXT NOT NULL REFERENCES results,
    state TEXT NOT NULL,
    tactic TEXT NOT NULL,
    remaining_steps INTEGER NOT NULL
) STRICT;
CREATE TABLE weights (
    version INTEGER PRIMARY KEY,
    step INTEGER NOT NULL,
    digest TEXT NOT NULL,
    object_name TEXT NOT NULL,
    created REAL NOT NULL
) STRICT;
CREATE TABLE notes (                -- small facts of the run: phase, clocks, counters (JSON)
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
"""

_PARTS_ARE_BYTES = """
DROP TABLE parts;                   -- what it held is asked for again: those attempts are outstanding
CREATE TABLE parts (                -- results that came in several messages and are not complete yet
    attempt_id TEXT NOT NULL,
    prover_id TEXT NOT NULL,
    digest TEXT NOT NULL,           -- of the whole result: another play of the attempt has other parts
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    payload BLOB NOT NULL,          -- this part's share of the encoded result
    PRIMARY KEY (attempt_id, prover_id, digest, parts, part)
) STRICT, WITHOUT ROWID;
"""

_COSTS_OF_ATTEMPTS = """
ALTER TABLE results ADD COLUMN nodes INTEGER NOT NULL DEFAULT 0;            -- of the search's tree
ALTER TABLE results ADD COLUMN tactics_tried INTEGER NOT NULL DEFAULT 0;
ALTER TABLE results ADD COLUMN tactics_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE results ADD COLUMN expansions_lost INTEGER NOT NULL DEFAULT 0;  -- given up: infrastructure lost them
ALTER TABLE results ADD COLUMN seconds_policy REAL NOT NULL DEFAULT 0;      -- summed over expansions, which overlap
ALTER TABLE results ADD COLUMN seconds_lean REAL NOT NULL DEFAULT 0;
"""
"""Results of earlier versions have no values for these columns; they count as 0."""

_PLACES_OF_THEOREMS = """
CREATE TABLE contexts (             -- texts that stand above theorems in files, each once
    digest TEXT PRIMARY KEY,
    packed BLOB NOT NULL            -- as `common.lean.Context` has it
) STRICT;
ALTER TABLE theorems ADD COLUMN context TEXT REFERENCES contexts;  -- NULL: the theorem stands by itself
ALTER TABLE theorems ADD COLUMN place TEXT;                        -- the command around the gap (JSON)
"""

_EVALUATIONS_BESIDE = """
ALTER TABLE results ADD COLUMN lean_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE results ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;           -- 0: the policy does not tell
ALTER TABLE evaluations ADD COLUMN beside INTEGER NOT NULL DEFAULT 0;       -- beside learning, and no phase of its own
ALTER TABLE evaluations ADD COLUMN worked REAL;                             -- seconds at work of the run, at its end
ALTER TABLE evaluations ADD COLUMN given_up REAL;                           -- ended without a result, and why
ALTER TABLE evaluations ADD COLUMN reason TEXT;
"""

_STATISTICS_OF_THEOREMS = """
CREATE TABLE theorem_statistics (   -- of train theorems with a result; written with every result
    theorem_id TEXT PRIMARY KEY REFERENCES theorems,
    attempts INTEGER NOT NULL,      -- decided ones, to prove or to disprove
    failures INTEGER NOT NULL,      -- of these
    tries INTEGER NOT NULL,         -- of the attempts: to prove
    proofs INTEGER NOT NULL,        -- of the tries: that did
    disproved INTEGER NOT NULL,
    refused INTEGER NOT NULL,       -- Lean does not accept the statement
    in_a_row INTEGER NOT NULL,      -- latest tries that all proved it
    shortest INTEGER,               -- tactics on the longest branch of the shortest proof; NULL: none, or not told
    last_budget INTEGER NOT NULL,   -- simulations, of the latest result
    last_weights INTEGER NOT NULL,  -- weight version of the latest result; 0: none
    expansions INTEGER NOT NULL,    -- of all results
    lean_attempts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO theorem_statistics
WITH told AS (                      -- what results have said so far, as `common.records.rows.learn` takes it
    SELECT theorem_id, attempt_id, purpose, outcome, results.rowid AS place, attempts.simulations AS budget,
        weights_last, expansions, lean_attempts, outcome IN ('proved', 'failed', 'rejected') AS decided,
        MAX(CASE WHEN purpose = 'train' AND outcome IN ('failed', 'rejected') THEN results.rowid END)
            OVER (PARTITION BY theorem_id) AS lost
    FROM results JOIN attempts USING (attempt_id) WHERE purpose IN ('train', 'disprove')
), lengths AS (
    SELECT theorem_id, MIN(steps) AS shortest FROM (
        SELECT theorem_id, MAX(remaining_steps) AS steps FROM transitions JOIN attempts USING (attempt_id)
        WHERE purpose = 'train' GROUP BY attempt_id
    ) GROUP BY theorem_id
), summed AS (
    SELECT theorem_id, SUM(decided) AS attempts, SUM(decided AND outcome <> 'proved') AS failures,
        SUM(decided AND purpose = 'train') AS tries,
        SUM(outcome = 'proved' AND purpose = 'train') AS proofs,
        MAX(outcome = 'proved' AND purpose = 'disprove') AS disproved, MAX(outcome = 'bad-statement') AS refused,
        SUM(outcome = 'proved' AND purpose = 'train' AND place > COALESCE(lost, -1)) AS in_a_row,
        SUM(expansions) AS expansions, SUM(lean_attempts) AS lean_attempts, MAX(place) AS place
    FROM told GROUP BY theorem_id
)
SELECT theorem_id, attempts, failures, tries, proofs, disproved, refused, in_a_row, shortest, told.budget,
    told.weights_last, summed.expansions, summed.lean_attempts
FROM summed JOIN told USING (theorem_id, place) LEFT JOIN lengths USING (theorem_id);
"""
"""The new table is filled once from the recorded results."""

_FAILED_TACTICS = """
ALTER TABLE transitions ADD COLUMN failed TEXT NOT NULL DEFAULT '[]';  -- nothing reads or writes it any more
"""

_HEADERS_OF_PROOFS = """
ALTER TABLE proofs ADD COLUMN default_header TEXT;  -- of the Lean that verified it; NULL: not recorded
"""

_WEIGHTS_OF_EXAMPLES = """
ALTER TABLE transitions ADD COLUMN weight REAL NOT NULL DEFAULT 1;  -- how often training draws it; 0: never
"""

_RULES_OF_THEOREMS = """
ALTER TABLE theorems ADD COLUMN rule TEXT;  -- which tactics a proof may have (JSON of TacticRule); NULL: all
"""

_STATES_OFF_PROOFS = """
CREATE TABLE states_off_proof (     -- what only the value learns from
    number INTEGER PRIMARY KEY,
    attempt_id TEXT NOT NULL REFERENCES attempts (attempt_id),
    state TEXT NOT NULL,
    remaining_steps INTEGER NOT NULL -- of the shortest proof that the search knew; 0: it knew none
) STRICT;
"""
"""Nothing reads or writes it any more."""

_TIMELINES_OF_ATTEMPTS = """
CREATE TABLE timelines (            -- seconds from dispatch to record by part (`common.records.rows.Parts`)
    attempt_id TEXT PRIMARY KEY REFERENCES results (attempt_id),
    dispatch REAL NOT NULL,
    queue REAL NOT NULL,
    search REAL NOT NULL,
    policy_wait REAL NOT NULL,
    policy_run REAL NOT NULL,
    lean_wait REAL NOT NULL,
    lean_run REAL NOT NULL,
    verify_wait REAL NOT NULL,
    verify_run REAL NOT NULL,
    bus REAL NOT NULL,
    result_wait REAL NOT NULL,
    store REAL NOT NULL
) STRICT, WITHOUT ROWID;
"""
"""Results of earlier versions, and of earlier provers, have no timeline."""

_IDLE_SLOTS = """
ALTER TABLE timelines ADD COLUMN idle REAL NOT NULL DEFAULT 0;  -- seconds that the search slot was free before; no part
CREATE INDEX IF NOT EXISTS results_by_time ON results (recorded);
"""

MIGRATIONS: tuple[str, ...] = (
    *(_INITIAL, _PARTS_ARE_BYTES, _COSTS_OF_ATTEMPTS, _PLACES_OF_THEOREMS, _EVALUATIONS_BESIDE),
    *(_STATISTICS_OF_THEOREMS, _FAILED_TACTICS, _HEADERS_OF_PROOFS, _WEIGHTS_OF_EXAMPLES),
    *(_RULES_OF_THEOREMS, _STATES_OFF_PROOFS, _TIMELINES_OF_ATTEMPTS, _IDLE_SLOTS),
)
"""MIGRATIONS[n] takes schema version n to n + 1."""

SCHEMA_VERSION = len(MIGRATIONS)
