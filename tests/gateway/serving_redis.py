"""A gateway in a process of its own, as users run it, and its requests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.waiting import PATIENCE_S

GATEWAY = [sys.executable, "-m", "netkv", "gateway", "--port", "0", "--json"]


@dataclass
class Running:
    """A gateway process."""

    process: subprocess.Popen[str]
    port: int

    def ended(self) -> tuple[int, str]:
        """Waits for the end of the process; returns its exit status and stderr."""
        status = self.process.wait(PATIENCE_S)
        assert self.process.stderr is not None
        return status, self.process.stderr.read()


@contextmanager
def gateway(*options: str) -> Iterator[Running]:
    """A gateway until the end of the block."""
    with subprocess.Popen(
        [*GATEWAY, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            document = ""
            while not document.endswith("}\n"):
                line = process.stdout.readline()
                assert line, process.stderr and process.stderr.read()
                document += line
            yield Running(process, json.loads(document)["port"])
        finally:
            process.kill()


def request(*words: bytes | str) -> bytes:
    """A request in the Redis protocol."""
    data = [word.encode() if isinstance(word, str) else word for word in words]
    return b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%b\r\n" % (len(d), d) for d in data)
