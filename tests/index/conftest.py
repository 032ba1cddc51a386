"""A connection to a real PostgreSQL with pg_trgm."""

import pytest


@pytest.fixture(scope="session")
def postgres(postgres_server):
    """A connection to a UTF-8 database with Unicode's letters (LC_CTYPE C.UTF-8)."""
    with postgres_server.connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        yield connection
