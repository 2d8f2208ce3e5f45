"""A PostgreSQL server of the tests: one for each pytest process, with an empty database for each
test that asks for one.

The server belongs to the user `postgres` if the tests run as root, which PostgreSQL refuses. It
ends with the process that has started it, however that ends (`setpriv --pdeathsig`).
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from netkv.live.ports import free_ports
from tests import programs
from tests.waiting import PATIENCE_S

PASSWORD = "correct-horse"
"""Of the user `scram`, who needs it; the others need none."""
_OPTIONS = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "max_wal_size": "256MB",
    "max_connections": "100",
    "password_encryption": "scram-sha-256",
}
_ACCESS = """\
local all all trust
host all scram 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""


def binaries() -> Path | None:
    """The folder of PostgreSQL's programs, which Debian does not put on PATH."""
    found = shutil.which("initdb")
    if found is not None and shutil.which("postgres") is not None:
        return Path(found).parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = max(installed, key=lambda path: int(path.parts[-3]), default=None)
    return None if newest is None else newest.parent


class Server:
    """A server in a directory of its own, on a port of the loopback interface."""

    def __init__(self) -> None:
        found = binaries()
        if found is None:
            pytest.skip(
                "postgres is not installed. 'make test-tools' installs what is missing, "
                "'apt-get install postgresql' this."
            )
        programs.need("setpriv")
        self._binaries = found
        self._directory = Path(tempfile.mkdtemp(prefix="netkv-pg-"))
        self._data = self._directory / "data"
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        self._unused: list[str] = []
        """Empty databases."""
        self._user: list[str] = []
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(self._directory, owner.pw_uid, owner.pw_gid)
            self._user = [f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
        initdb = [str(found / "initdb"), "--no-sync", "--no-instructions", "-U", "tests"]
        initdb += ["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-D", str(self._data)]
        done = subprocess.run(self._as_user(initdb), check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (self._data / "pg_hba.conf").write_text(_ACCESS)
        self.start()
        with self.connected() as connection:
            connection.execute("CREATE ROLE reader LOGIN")
            connection.execute(f"CREATE ROLE scram LOGIN SUPERUSER PASSWORD '{PASSWORD}'")

    def _as_user(self, command: list[str]) -> list[str]:
        return ["setpriv", *self._user, "--pdeathsig", "QUIT", "--", *command]

    def start(self) -> None:
        """Start it, on the port that it had before, and wait until it serves."""
        deadline = time.monotonic() + PATIENCE_S
        options = [each for item in _OPTIONS.items() for each in ("-c", "=".join(item))]
        while True:
            port = self.port or free_ports(1)[0]
            command = [str(self._binaries / "postgres"), "-D", str(self._data), "-p", str(port)]
            command += ["-k", str(self._directory), "-h", "127.0.0.1", *options]
            with (self._directory / "log").open("ab") as log:
                self._process = subprocess.Popen(
                    self._as_user(command), cwd=self._directory, stdout=log, stderr=log
                )
            if self._serves(port, deadline):
                self.port = port
                return
            # Another process has taken the port, or those of a killed server still end.
            assert time.monotonic() < deadline, (self._directory / "log").read_text()
            time.sleep(0.1)

    def _serves(self, port: int, deadline: float) -> bool:
        assert self._process is not None
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(
                    host=str(self._directory), port=port, user="tests", dbname="postgres"
                ).close()
                return True
            time.sleep(0.02)
        return False

    def crash(self) -> None:
        """Kill it without a chance to write anything."""
        self._end(signal.SIGKILL)

    @contextlib.contextmanager
    def as_standby(self) -> Iterator[None]:
        """Let it be a standby, which can only be read."""
        signal_file = self._data / "standby.signal"
        self._end(signal.SIGINT)
        signal_file.touch()
        self.start()
        try:
            yield
        finally:
            self._end(signal.SIGINT)
            signal_file.unlink()
            self.start()

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE_S)
            self._process = None

    def close(self) -> None:
        """End it, and delete its files."""
        self._end(signal.SIGQUIT)
        shutil.rmtree(self._directory, ignore_errors=True)

    @contextlib.contextmanager
    def connected(self, database: str = "postgres") -> Iterator[psycopg.Connection]:
        """A connection of a user who may do everything, without a transaction."""
        with psycopg.connect(
            host=str(self._directory),
            port=self.port,
            user="tests",
            dbname=database,
            autocommit=True,
        ) as connection:
            yield connection

    def url(self, database: str, user: str = "tests", password: str = "") -> str:
        """The URL of a database over TCP."""
        who = f"{user}:{password}" if password else user
        return f"postgresql+psycopg://{who}@127.0.0.1:{self.port}/{database}"

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """The name of an empty database. It is emptied for the next one: that is faster than to
        copy a new one."""
        if not self._unused:
            with self.connected() as connection:
                name = f"netkv_{next(self._numbers)}"
                connection.execute(f"CREATE DATABASE {name}".encode())
            self._unused.append(name)
        name = self._unused.pop()
        try:
            yield name
        finally:
            with contextlib.suppress(psycopg.OperationalError), self.connected(name) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                connection.execute("DROP SCHEMA public CASCADE")
                connection.execute("CREATE SCHEMA public")
                connection.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")
                self._unused.append(name)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """The server of this pytest process."""
    server = Server()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def database(postgresql: Server) -> Iterator[str]:
    """The name of an empty database on the server."""
    with postgresql.database() as name:
        yield name


@pytest.fixture
def server_url(postgresql: Server, database: str) -> str:
    """The URL of an empty database on the server."""
    return postgresql.url(database)
