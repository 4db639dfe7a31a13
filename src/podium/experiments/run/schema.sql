CREATE TABLE study (id INTEGER PRIMARY KEY CHECK (id = 1), configuration TEXT NOT NULL, facts TEXT NOT NULL);
CREATE TABLE trials (
    key TEXT PRIMARY KEY, method TEXT NOT NULL, fold TEXT NOT NULL, parameters TEXT NOT NULL, seed INTEGER,
    number INTEGER NOT NULL, validation REAL, seconds REAL NOT NULL, warnings TEXT NOT NULL, error TEXT, traceback TEXT,
    carried TEXT NOT NULL, validation_values BLOB
);
CREATE TABLE scores (trial TEXT PRIMARY KEY REFERENCES trials, arrays BLOB NOT NULL);
CREATE TABLE test_parts (digest TEXT PRIMARY KEY, arrays BLOB NOT NULL);
CREATE TABLE results (
    key TEXT PRIMARY KEY, method TEXT NOT NULL, fold TEXT NOT NULL, seed INTEGER NOT NULL, error TEXT, traceback TEXT,
    trial TEXT REFERENCES trials, seconds REAL NOT NULL, search_seconds REAL NOT NULL, test_fingerprint TEXT NOT NULL,
    metrics BLOB, curve BLOB, test_part TEXT REFERENCES test_parts
);
CREATE TABLE selections (
    result TEXT REFERENCES results, number INTEGER, trial TEXT REFERENCES trials, PRIMARY KEY (result, number)
);
