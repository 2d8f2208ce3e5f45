"""redis-server processes for tests."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import redis

from netkv.live.redis_start import Fsync, command_line
from netkv.servers.redis_places import Own
from tests.waiting import until


class OwnServer:
    """A redis-server with netkv's command line, and its records in a directory."""

    def __init__(self, directory: Path, fsync: Fsync = "never") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.place = Own(directory)
        self._fsync = fsync
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self, wait: bool = True) -> None:
        with (self.place.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command_line(self._fsync), cwd=self.place.directory, stdout=log, stderr=log
            )
        if wait:
            until(self.answers, "the redis-server answers")

    def answers(self) -> bool:
        try:
            connection = self.place.connect(2.0)
            connection.send_packed_command(connection.pack_commands([("PING",)]))
            assert connection.read_response() == b"PONG"
            connection.disconnect()
        except (OSError, redis.RedisError):
            return False
        return True

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
