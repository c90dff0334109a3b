"""Tables of agent.sqlite. MIGRATIONS[n] takes schema version n to n + 1."""

MIGRATIONS = (
    """
    CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE repositories (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        source TEXT NOT NULL,            -- the folder, or the URL without credentials
        "commit" TEXT NOT NULL,          -- git commit; of a folder without git: a digest of its files
        root TEXT NOT NULL,              -- where the files are
        own INTEGER NOT NULL,            -- 1: a folder of the user; 0: a clone of the agent
        lean TEXT NOT NULL DEFAULT '',
        place INTEGER,                   -- in the curriculum, from 1; NULL: not in it yet
        UNIQUE (source, "commit")
    );
    CREATE TABLE files (
        repository INTEGER NOT NULL REFERENCES repositories (id),
        path TEXT NOT NULL,
        digest TEXT NOT NULL,
        error TEXT NOT NULL,             -- why it could not be traced
        PRIMARY KEY (repository, path)
    );
    CREATE TABLE theorems (
        id INTEGER PRIMARY KEY,
        repository INTEGER NOT NULL REFERENCES repositories (id),
        path TEXT NOT NULL,
        line INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        statement TEXT NOT NULL,
        proof TEXT NOT NULL,             -- the tactics as written
        steps INTEGER NOT NULL,
        difficulty REAL,                 -- e^steps; NULL: no proof
        class TEXT NOT NULL DEFAULT '',  -- easy, medium, hard; empty: not in the curriculum
        held_out INTEGER NOT NULL DEFAULT 0,
        problem TEXT NOT NULL            -- why it is not used: an error, or it uses `sorry`
    );
    CREATE INDEX theorems_by_repository ON theorems (repository);
    CREATE TABLE stages (
        repository INTEGER NOT NULL,     -- 0: a stage of the agent itself
        stage TEXT NOT NULL,
        seconds REAL NOT NULL,
        details TEXT NOT NULL,           -- JSON
        PRIMARY KEY (repository, stage)
    );
    CREATE TABLE trained_in (
        theorem INTEGER NOT NULL REFERENCES theorems (id),
        training INTEGER NOT NULL REFERENCES repositories (id), -- the repository whose training read it first
        PRIMARY KEY (theorem, training)
    ) WITHOUT ROWID;
    CREATE TABLE evaluations (
        training INTEGER NOT NULL,       -- after which repository; 0: the first network
        repository INTEGER NOT NULL,     -- repository of the held-out theorems; 0: the first network's data
        loss REAL NOT NULL,              -- nats a token of the tactic
        accuracy REAL NOT NULL,          -- share of tactics whose every token is the most likely one
        tokens INTEGER NOT NULL,
        PRIMARY KEY (training, repository)
    );
    CREATE TABLE sorries (
        id INTEGER PRIMARY KEY,
        repository INTEGER NOT NULL REFERENCES repositories (id),
        path TEXT NOT NULL,
        line INTEGER NOT NULL,
        "column" INTEGER NOT NULL,
        name TEXT NOT NULL,
        goal TEXT NOT NULL,
        UNIQUE (repository, path, line, "column")
    );
    CREATE TABLE attempts (
        sorry INTEGER NOT NULL REFERENCES sorries (id),
        phase TEXT NOT NULL,             -- baseline, network, last
        policy TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        script TEXT NOT NULL,            -- the verified proof; empty: none
        rests TEXT NOT NULL,             -- open gaps that the proof depends on; empty: it is complete
        found_by TEXT NOT NULL,
        seconds REAL NOT NULL,
        simulations INTEGER NOT NULL,
        PRIMARY KEY (sorry, phase)
    );
    CREATE TABLE patches (
        repository INTEGER NOT NULL REFERENCES repositories (id),
        path TEXT NOT NULL,
        phase TEXT NOT NULL,
        old TEXT NOT NULL,               -- digest of the file without the proofs
        new BLOB NOT NULL,               -- the file with the proofs
        diff TEXT NOT NULL,
        PRIMARY KEY (repository, path, phase)
    );
    """,
)
