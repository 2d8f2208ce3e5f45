"""A false assertion of a P4 program is told with its place, and ends the switch on demand."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from netkv import _engine
from netkv.live.ports import free_ports
from netkv.switch.assertions import AssertionWatch
from tests.cli.commands import ROOT, Netkv
from tests.waiting import PATIENCE_S, until

PROGRAM, TEST = (f"tests/p4/asserting.{ending}" for ending in ("p4", "stf"))
PLACE = "tests/p4/asserting.p4:20:9"
GOOD, FALSE = b"\x01\x0c", b"\x01\x0d"


@pytest.mark.parametrize("executor", ["compiled", "interpreter"])
def test_packet_test_tells_a_false_assertion(netkv_in_process: Netkv, executor: str) -> None:
    told = netkv_in_process("p4", "stf", PROGRAM, TEST, "--executor", executor)
    assert told.status == 0
    assert told.out == f"The assertion at {PLACE} was false 2 times.\n"
    command = ("p4", "stf", PROGRAM, TEST, "--executor", executor, "--stop-on-assert")
    stopped = netkv_in_process(*command)
    assert stopped.status == 1
    assert f"The assertion at {PLACE} was false once." in stopped.out
    document = json.loads(netkv_in_process(*command, "--json").out)
    assert not document["ok"]
    assert document["failed_assertions"] == [{"place": PLACE, "times": 1}]
    assert document["mismatched_packets"] == [3, 5]


def test_stop_fails_a_test_that_expects_no_more_packets(
    netkv_in_process: Netkv, tmp_path: Path
) -> None:
    test = tmp_path / "last.stf"
    test.write_text("packet 1 02 0d\n")
    assert netkv_in_process("p4", "stf", PROGRAM, str(test), "--stop-on-assert").status == 1


def test_folder_of_packet_tests_tells_false_assertions(
    netkv_in_process: Netkv, tmp_path: Path
) -> None:
    for file in (PROGRAM, TEST):
        shutil.copy(ROOT / file, tmp_path)
    for options, outcome in ((), "passed"), (("--stop-on-assert",), "failed"):
        run = netkv_in_process("p4", "stf", str(tmp_path), "--json", *options)
        (found,) = json.loads(run.out)["tests"]
        assert found["outcome"] == outcome
    told = netkv_in_process("p4", "stf", str(tmp_path))
    assert "was false 2 times" in " ".join(told.out.split())


@contextmanager
def switch(
    options: Sequence[str], log: Path
) -> Iterator[tuple[subprocess.Popen[str], socket.socket]]:
    """A switch with the program; yields its process and a socket at its port 1."""
    command = [sys.executable, "-m", "netkv", "switch", "run", PROGRAM, "--json"]
    (port,) = free_ports(1)
    command += ["--port", f"1=udp:127.0.0.1:{port}", "--grpc", "127.0.0.1:0", *options]
    with (
        log.open("w") as err,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=err, text=True
        ) as process,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host,
    ):
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line == "}\n":  # the end of the JSON document: the switch runs
                    break
            host.connect(("127.0.0.1", port))
            host.settimeout(PATIENCE_S)
            yield process, host
        finally:
            process.terminate()


def padded(content: bytes) -> bytes:
    """A frame that a switch takes: of 14 bytes at least."""
    return content.ljust(20, b"\0")


def test_switch_warns_once_about_a_false_assertion(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with switch([], log) as (_, host):
        for content in (GOOD, FALSE, FALSE):
            host.send(padded(content))
            assert host.recv(2048) == padded(content)
        until(lambda: "assertion" in log.read_text(), "the warning is there")
        host.send(padded(FALSE))
        assert host.recv(2048) == padded(FALSE)
    assert log.read_text().count(f"Warning: The assertion at {PLACE} was false.") == 1


def test_switch_that_stops_on_assertions_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with switch(["--stop-on-assert"], log) as (process, host):
        host.send(padded(GOOD))
        assert host.recv(2048) == padded(GOOD)
        host.send(padded(FALSE))
        assert process.wait(PATIENCE_S) == 1
    text = " ".join(log.read_text().split())
    assert f"The assertion at {PLACE} was false. The switch has ended, as" in text


def test_each_assertion_is_told_once() -> None:
    switch = _engine.Switch(_engine.compile_p4(str(ROOT / PROGRAM), [str(ROOT / "p4")], {}))
    watch = AssertionWatch(switch)
    switch.process(1, GOOD)
    assert watch.new() == []
    switch.process(1, FALSE)
    (text,) = watch.new()
    assert text.endswith("asserting.p4:20:9 was false.")
    switch.process(1, FALSE)
    assert watch.new() == []
