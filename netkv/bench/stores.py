"""Redis and memcached, started for a benchmark and stopped after it, as alternatives to a switch.

Both run on one core, as a switch does, and keep nothing on disk.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from netkv.errors import NetkvError
from netkv.live.ports import free_ports

_START_TIMEOUT = 10.0
_STOP_TIMEOUT = 5.0
_LOAD_BATCH = 500
"""Keys that are written before their replies are read."""


class NotInstalledError(NetkvError):
    """A program that the benchmark compares with is not installed."""


@dataclass(frozen=True)
class Memcached:
    """A memcached that runs."""

    port: int
    """Of TCP, and of UDP if it listens there."""
    pid: int

    def core_ns(self) -> int:
        """Time on a core of all its threads, since it started."""
        threads = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


@dataclass(frozen=True)
class Percentiles:
    """Rate and latency under a load."""

    rate: float
    ns_p50: float
    ns_p99: float


def key(number: int) -> bytes:
    """A key of 16 bytes as `redis-benchmark -r` makes them."""
    return b"key:%012d" % number


def value(size: int) -> bytes:
    """A value; its content does not matter."""
    return b"v" * size


@contextlib.contextmanager
def redis(entries: int, value_size: int) -> Iterator[int]:
    """A Redis server with `entries` keys; yields its port. Raises `NotInstalledError`."""
    server = find_program("redis-server", "redis-server")
    find_program("redis-benchmark", "redis-tools")
    with tempfile.TemporaryDirectory(prefix="netkv-redis-") as folder:
        (port,) = free_ports(1)
        command = [server, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
        command += ["--save", "", "--appendonly", "no", "--daemonize", "no"]
        command += ["--loglevel", "warning"]
        with _running("redis-server", command, port):
            fill(port, entries, value_size)
            yield port


def fill(port: int, entries: int, value_size: int) -> None:
    """Writes `entries` keys to a server with the Redis protocol."""
    content = value(value_size)
    _store(
        port,
        [
            b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n"
            % (len(key(number)), key(number), len(content), content)
            for number in range(entries)
        ],
        b"+OK\r\n",
    )


@contextlib.contextmanager
def memcached(entries: int, value_size: int, *, udp: bool = False) -> Iterator[Memcached]:
    """A memcached with `entries` keys. Raises `NotInstalledError`.

    `udp`: it listens at the UDP port of the same number, too.
    """
    program = find_program("memcached", "memcached")
    (port,) = free_ports(1)
    megabytes = 64 + entries * (value_size + 200) // 500_000
    command = [program, "-p", str(port), "-l", "127.0.0.1", "-m", str(megabytes)]
    command += ["-U", str(port if udp else 0), "-t", "1"]
    command += ["-u", "nobody"]  # matters to root only
    with _running("memcached", command, port) as pid:
        content = value(value_size)
        _store(
            port,
            [
                b"set %s 0 0 %d\r\n%s\r\n" % (key(number), len(content), content)
                for number in range(entries)
            ],
            b"STORED\r\n",
        )
        yield Memcached(port, pid)


def redis_benchmark(
    port: int,
    *,
    requests: int,
    connections: int,
    pipeline: int,
    entries: int,
    value_size: int,
    command: str = "get",
) -> Percentiles:
    """GETs or SETs of random keys by `redis-benchmark`: `requests` of them, or more."""
    program = [find_program("redis-benchmark", "redis-tools"), "-h", "127.0.0.1", "-p", str(port)]
    program += ["-t", command, "-c", str(connections), "-P", str(pipeline)]
    program += ["-r", str(entries), "-d", str(value_size), "--csv"]
    try:
        while True:
            done = subprocess.run(
                [*program, "-n", str(requests)],
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
            found = percentiles(done.stdout)
            if found is not None:
                return found
            requests *= 10
    except (subprocess.SubprocessError, ValueError, KeyError) as error:
        raise NetkvError(f"redis-benchmark has not answered as expected: {error}.") from error


def percentiles(table: str) -> Percentiles | None:
    """The figures that `redis-benchmark --csv` printed; None if its run was too short.

    It divides by whole milliseconds: for a run below one it prints a rate of `inf`.
    """
    (row,) = csv.DictReader(io.StringIO(table))
    rate = float(row["rps"])
    if not math.isfinite(rate):
        return None
    return Percentiles(
        rate=rate,
        ns_p50=float(row["p50_latency_ms"]) * 1e6,
        ns_p99=float(row["p99_latency_ms"]) * 1e6,
    )


def memcached_get(numbers: Sequence[int]) -> bytes:
    """One request for these keys."""
    return b"get %s\r\n" % b" ".join(key(number) for number in numbers)


def memcached_reply_bytes(keys: int, value_size: int) -> int:
    """Bytes of the reply to `memcached_get`."""
    each = len(b"VALUE %s 0 %d\r\n" % (key(0), value_size)) + value_size + len(b"\r\n")
    return keys * each + len(b"END\r\n")


def find_program(name: str, package: str) -> str:
    """The path of a program that a Debian package installs; raises `NotInstalledError`."""
    found = shutil.which(name)
    if found is None:
        raise NotInstalledError(
            f"{name} is not installed, so its rows are left out; "
            f"'apt-get install {package}' installs it."
        )
    return found


@contextlib.contextmanager
def _running(name: str, command: Sequence[str], port: int) -> Iterator[int]:
    """Runs the process, from when it listens; ends it afterwards. Yields its id."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Its own process group: Ctrl-C reaches only netkv, which then ends it.
        process_group=0,
    )
    try:
        _wait_until_listening(name, process, port)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _wait_until_listening(name: str, process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    if process.poll() is None:
        raise NetkvError(f"{name} does not listen on port {port} after {_START_TIMEOUT:.0f} s.")
    output = process.stdout.read().decode(errors="replace") if process.stdout is not None else ""
    lines = output.strip().splitlines()[-3:]
    raise NetkvError("\n  ".join([f"{name} ended at once, status {process.returncode}:", *lines]))


def _store(port: int, commands: Sequence[bytes], answer: bytes) -> None:
    """Sends commands; raises `NetkvError` unless each is answered by `answer`."""
    with socket.create_connection(("127.0.0.1", port), _START_TIMEOUT) as connection:
        for start in range(0, len(commands), _LOAD_BATCH):
            batch = commands[start : start + _LOAD_BATCH]
            connection.sendall(b"".join(batch))
            expected = answer * len(batch)
            got = b""
            while len(got) < len(expected):
                more = connection.recv(len(expected) - len(got))
                if not more:
                    break
                got += more
            if got != expected:
                raise NetkvError(f"A store did not accept its keys: it answered {got[:60]!r}.")
