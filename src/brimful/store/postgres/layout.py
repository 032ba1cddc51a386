"""The tables of a store on PostgreSQL, and the roles that may see their rows.

All corpora share a few tables. Each row says whose it is, and row-level security shows a role only the rows of the
corpora that it owns. A transaction names one corpus (`brimful.corpus`), and views of the tables' plain names show that
one, so that the statements of every engine are alike. The setting chooses, it permits nothing: another's number shows
no rows. Names of corpora are read by a function that gives a role its own: a table that hides rows still counts them
where a filter removes them (EXPLAIN ANALYZE). The planner keeps no statistics of any column: its estimates (EXPLAIN)
are for everybody to read, and would tell which paths, titles and words others have. What is held for longer than a
statement is a row that others can't see, no advisory lock: pg_locks lists such locks, and every role that can connect
may take them.
"""

from __future__ import annotations

VERSION = 5
LEAST_SERVER = 150_000
"""PostgreSQL 15: views that are read with the rights of the caller."""

LONGEST_PATH_BYTES = 2_000
"""The longest path that PostgreSQL's index takes, with room to spare."""

HELD = {"segments": 0, "merging": 1, "answers": 2, "writing": 3}
"""Rows of `counters`: the number of the last segment, and one to lock while merging, keeping answers, committing."""
FIRST_TURN = 16
"""From this number on a row says until when a process brings a place up to date."""

_CHOSEN = "nullif(current_setting('brimful.corpus', true), '')::int"

COLUMNS = {
    "meta": 'key text COLLATE "C" NOT NULL, value bytea NOT NULL, seal bytea NOT NULL',
    "roots": 'path text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, seal bytea NOT NULL',
    "documents": (
        'number bigint NOT NULL, path text COLLATE "C" NOT NULL, id bytea NOT NULL, content_hash bytea NOT NULL, '
        "leaf bytea NOT NULL, bucket int NOT NULL, length bigint NOT NULL, time bigint, kind text NOT NULL, "
        'language text, rule text NOT NULL, title text, origin text COLLATE "C", stamp text, seal bytea NOT NULL'
    ),
    "maps": "document bigint NOT NULL, data bytea NOT NULL, seal bytea NOT NULL",
    "segments": (
        "number bigint NOT NULL, length bigint NOT NULL, live bigint NOT NULL, dead bigint NOT NULL, "
        "lowest bigint NOT NULL, highest bigint NOT NULL, seal bytea NOT NULL"
    ),
    "blobs": "key bigint NOT NULL, data bytea NOT NULL, seal bytea NOT NULL",
    "buckets": "number int NOT NULL, root bytea NOT NULL",
    "vector_models": "number int NOT NULL, name text NOT NULL, width int NOT NULL, seal bytea NOT NULL",
    "vectors": "model int NOT NULL, key bytea NOT NULL, numbers bytea NOT NULL, seal bytea NOT NULL",
    "counters": "number int NOT NULL, segments bigint NOT NULL",
    "partials": "key bytea NOT NULL, text bytea NOT NULL, seal bytea NOT NULL",
    "places": (
        'recipe bytea NOT NULL, source bytea NOT NULL, start bigint NOT NULL, "end" bigint NOT NULL, key bytea NOT NULL'
    ),
    "limits": (
        'endpoint text COLLATE "C" NOT NULL, model text COLLATE "C" NOT NULL, kind text NOT NULL, '
        "tokens bigint NOT NULL"
    ),
    "captures": (
        'name text COLLATE "C" NOT NULL, model text NOT NULL, status text NOT NULL, message bytea NOT NULL, '
        "original bytea NOT NULL, digest bytea NOT NULL, "
        "sources bytea NOT NULL, seal bytea NOT NULL"
    ),
}
"""The columns of each table as the statements of every engine know them; the corpus comes before them."""

_KEYS = {
    "meta": "key",
    "roots": "path",
    "documents": "number",
    "maps": "document",
    "segments": "number",
    "blobs": "key",
    "buckets": "number",
    "vector_models": "number",
    "vectors": "model, key",
    "counters": "number",
    "partials": "key",
    "places": 'recipe, source, start, "end"',
    "limits": "endpoint, model, kind",
    "captures": "name",
}

_PACKED = {"maps": ["data"], "blobs": ["data"], "partials": ["text"], "captures": ["original", "digest", "sources"]}
"""Columns that are compressed already, or large."""

_MINE = """
    SELECT known.number, known.name FROM corpora AS known,
        coalesce(nullif(current_setting('role'), 'none'), session_user) AS caller
    WHERE pg_has_role(caller, current_user, 'USAGE') OR EXISTS (
        SELECT FROM pg_roles AS holder WHERE holder.rolname IN (known.role, known.readers)
        AND pg_has_role(caller, holder.oid, 'MEMBER'))"""
_FUNCTION = "LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT"

_CORPORA = f"""
CREATE TABLE IF NOT EXISTS versions (version int NOT NULL);
CREATE TABLE IF NOT EXISTS corpora (
    number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    role name NOT NULL DEFAULT current_user,
    readers name
);
ALTER TABLE corpora DROP COLUMN IF EXISTS channel, DROP COLUMN IF EXISTS turn;
DROP TABLE IF EXISTS all_terms CASCADE;
ALTER TABLE corpora ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own ON corpora;
CREATE OR REPLACE FUNCTION own_corpora() RETURNS TABLE (number int, name text) {_FUNCTION} AS $${_MINE}$$;
CREATE OR REPLACE FUNCTION chosen_corpus() RETURNS int {_FUNCTION} AS $$
    SELECT mine.number FROM ({_MINE}) AS mine WHERE mine.number = {_CHOSEN}
$$;
"""  # noqa: S608
"""A corpus belongs to a role and its members, and a second role may ask it. Both functions run as the tables' owner,
for the role that calls them: the one that it was set to, or the session's. Neither takes a value to guess with."""

_REST = """
CREATE UNIQUE INDEX IF NOT EXISTS documents_by_path ON all_documents (corpus, path);
CREATE INDEX IF NOT EXISTS documents_by_bucket ON all_documents (corpus, bucket);
CREATE UNIQUE INDEX IF NOT EXISTS vector_models_by_name ON all_vector_models (corpus, name);
INSERT INTO all_counters (corpus, number, segments)
    SELECT known.number, held, 0 FROM corpora AS known, generate_series(0, 3) AS held ON CONFLICT DO NOTHING;
DO $$
DECLARE known record;
BEGIN
    FOR known IN SELECT nspname, relname, attname FROM pg_catalog.pg_attribute
        JOIN pg_catalog.pg_class ON pg_class.oid = attrelid
        JOIN pg_catalog.pg_namespace AS place ON place.oid = relnamespace
        WHERE relnamespace = (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = 'versions'::regclass)
        AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER %I SET STATISTICS 0', known.relname, known.attname);
        IF to_regproc('pg_catalog.pg_clear_attribute_stats') IS NOT NULL THEN  -- PostgreSQL 18 and later
            EXECUTE 'SELECT pg_catalog.pg_clear_attribute_stats($1, $2, $3, false)'
                USING known.nspname::text, known.relname::text, known.attname::text;
        END IF;
    END LOOP;
    FOR known IN SELECT rolname, rolname IN (SELECT role FROM corpora) AS writes FROM pg_catalog.pg_roles
        WHERE rolname IN (SELECT role FROM corpora UNION SELECT readers FROM corpora)
        AND NOT pg_catalog.pg_has_role(oid, current_user, 'USAGE')
    LOOP
        EXECUTE format('REVOKE ALL ON corpora FROM %I', known.rolname);
        EXECUTE format('GRANT SELECT ON {tables} TO %I', known.rolname);
        IF known.writes THEN
            EXECUTE format('GRANT INSERT, UPDATE, DELETE ON {tables} TO %I', known.rolname);
        END IF;
    END LOOP;
END $$;
DELETE FROM versions;
INSERT INTO versions VALUES ({version});
"""
"""Indexes, rows to lock, no statistics of any column, and the rights of roles that have a corpus already."""


def tables() -> str:
    """The statements that make all tables, or bring older ones up to date, in the schema that is first in the path.

    >>> "ENABLE ROW LEVEL SECURITY" in tables() and "security_invoker" in tables()
    True
    """
    listed = ", ".join(table for name in COLUMNS for table in (name, f"all_{name}"))
    closing = _REST.replace("{tables}", listed).replace("{version}", str(VERSION))
    return _CORPORA + "".join(map(_table, COLUMNS)) + closing


def _table(name: str) -> str:
    columns = ", ".join(column.split()[0] for column in COLUMNS[name].split(", "))
    mine = "corpus = (SELECT chosen_corpus())"
    view = f"SELECT {columns} FROM all_{name} WHERE corpus = {_CHOSEN}"  # noqa: S608
    storage = "".join(f"ALTER TABLE all_{name} ALTER {it} SET STORAGE EXTERNAL;\n" for it in _PACKED.get(name, []))
    return f"""
CREATE TABLE IF NOT EXISTS all_{name} (
    corpus int NOT NULL DEFAULT {_CHOSEN}, {COLUMNS[name]}, PRIMARY KEY (corpus, {_KEYS[name]})
);
{storage}ALTER TABLE all_{name} ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own ON all_{name};
CREATE POLICY own ON all_{name} USING ({mine}) WITH CHECK ({mine});
CREATE OR REPLACE VIEW {name} WITH (security_invoker = true) AS {view};
"""


def roles(schema: str, corpus: str, role: str, *, readers: str | None = None) -> str:
    """SQL for an administrator: a role that owns nothing and may use one corpus, another that may only ask it.

    >>> print(roles("brimful", "notes", "notes_team").splitlines()[0])
    CREATE ROLE "notes_team" NOLOGIN;
    """
    place, who = _quoted(schema), _quoted(role)
    tables = ", ".join(f"{place}.{table}" for name in COLUMNS for table in (name, f"all_{name}"))
    lines = [
        f"CREATE ROLE {who} NOLOGIN;",
        f"GRANT USAGE ON SCHEMA {place} TO {who};",
        f"GRANT SELECT ON {place}.versions TO {who};",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {who};",
    ]
    if readers is not None:
        asking = _quoted(readers)
        lines += [
            f"CREATE ROLE {asking} NOLOGIN;",
            f"GRANT USAGE ON SCHEMA {place} TO {asking};",
            f"GRANT SELECT ON {place}.versions, {tables} TO {asking};",
        ]
    values = ", ".join("NULL" if text is None else _literal(text) for text in (corpus, role, readers))
    lines += [
        f"INSERT INTO {place}.corpora (name, role, readers) VALUES ({values})",  # noqa: S608
        "    ON CONFLICT (name) DO UPDATE SET role = excluded.role, readers = excluded.readers;",
        f"-- Then, for each person or program: GRANT {who} TO somebody;",
    ]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    """A string of the standard: backslashes mean themselves."""
    return "'" + text.replace("'", "''") + "'"
