"""The rules of examples/write-around: each prevents a stale read.

A script sends a sequence of frames through the switch. The read is stale if the rule is left out.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netkv.control.base import SECOND, Preload
from netkv.model.messages import Message, Op, decode, encode
from netkv.model.network import rack
from netkv.model.topology import SERVICE_IP, client_ip
from netkv.roles import sequence_stamp
from tests.control.switched_network import SwitchedNetwork, bundle
from tests.examples.write_around import files, install

KEY = bytes(range(16))
PROGRAM = "write_around/write_around.p4"
OLD, NEW = b"old value" * 3, b"new" * 20
SWITCH = "tor"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("write-around")
    install(folder)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "write_around"]:
        del sys.modules[name]


class SwitchUnderTest:
    """A switch with its control plane. The test sends and receives as client and server."""

    def __init__(self, program: str) -> None:
        control = importlib.import_module("write_around.control_plane").WriteAround
        self._switched = SwitchedNetwork(rack(clients=1, servers=2), bundle(program), control)
        self._switched.handle_at(SWITCH, Preload((KEY,)))
        self._switched.settle()
        self._ports = {at.host.ip: at.host.port for at in self._switched.network.hosts}
        self._request = 0

    def _pass(self, message: Message, source: int, destination: int) -> Message:
        """The message that the switch emits for this one."""
        frame = encode(message, source, destination)
        ((_, out),) = self._switched.switches[SWITCH].process(self._ports[source], frame)
        return decode(out).message

    def send(self, op: Op, value: bytes = b"") -> Message:
        """Sends a request of the client; returns the request at the server or the reply."""
        self._request += 1
        request = Message(op, KEY, self._request, 1, length=len(value), value=value)
        return self._pass(request, client_ip(1), SERVICE_IP)

    def reply(self, request: Message, sequence: int, value: bytes = b"") -> None:
        """Sends the reply of the server through the switch."""
        generation = request.stamp.generation if request.stamp else 0
        stamp = sequence_stamp(sequence, generation)
        reply = request.reply(length=len(value), value=value, stamp=stamp)
        self._pass(reply, self._switched.topology.owner(KEY).ip, client_ip(1))

    def restart_switch(self) -> None:
        self._switched.run(SECOND)
        self._switched.restart(SWITCH)

    def hit(self) -> bytes | None:
        """The value with which the switch answers a read; None if it forwards the read."""
        answer = self.send(Op.GET)
        return answer.value if answer.cache_hit else None


def late_reply(switch: SwitchUnderTest) -> None:
    """Rule 3: the reply to a read has the old value and arrives after that to a later write."""
    read = switch.send(Op.GET)
    switch.reply(switch.send(Op.PUT, NEW), sequence=7)
    switch.reply(read, sequence=5, value=OLD)


def late_reply_after_a_restart(switch: SwitchUnderTest) -> None:
    """Rule 3: the switch restarts before the late reply and loses the sequence of the write."""
    read = switch.send(Op.GET)
    switch.reply(switch.send(Op.PUT, NEW), sequence=7)
    switch.restart_switch()
    switch.reply(read, sequence=5, value=OLD)


def entry_filled_during_a_write(switch: SwitchUnderTest) -> None:
    """Rule 2: a read is answered between a write and the reply to the write."""
    write = switch.send(Op.PUT, NEW)
    switch.reply(switch.send(Op.GET), sequence=5, value=OLD)
    switch.reply(write, sequence=7)


SCRIPTS = (
    (late_reply, "hdr.stamp.sequence >= sequence", "true"),
    (late_reply_after_a_restart, "&& hdr.stamp.generation == meta.generation", ""),
    (
        entry_filled_during_a_write,
        "if (hdr.stamp.sequence > sequence) {",
        "if (false) {",
    ),
)


@pytest.mark.parametrize(
    ("script", "rule", "without"), SCRIPTS, ids=lambda it: getattr(it, "__name__", "")
)
def test_old_value_is_not_read(
    package: Path, script: Callable[[SwitchUnderTest], None], rule: str, without: str
) -> None:
    correct = SwitchUnderTest(str(package / PROGRAM.removesuffix(".p4")))
    script(correct)
    assert correct.hit() is None
    text = files()[PROGRAM]
    assert text.count(rule) == 1
    (package / f"{script.__name__}.p4").write_text(text.replace(rule, without))
    mutant = SwitchUnderTest(str(package / script.__name__))
    script(mutant)
    assert mutant.hit() == OLD, "without the rule the old value is read"


@pytest.mark.parametrize("size", [1, 16, 17, 127, 128])
def test_answer_fills_the_entry_and_a_write_makes_it_invalid(package: Path, size: int) -> None:
    switch = SwitchUnderTest(str(package / PROGRAM.removesuffix(".p4")))
    value = bytes(range(1, size + 1))
    switch.reply(switch.send(Op.GET), sequence=0, value=value)
    assert switch.hit() == value
    forwarded = switch.send(Op.PUT, NEW)
    assert (forwarded.value, forwarded.stamp) == (NEW, None)
    assert switch.hit() is None
    switch.reply(forwarded, sequence=7)
    switch.reply(switch.send(Op.GET), sequence=7, value=NEW)
    assert switch.hit() == NEW


def test_longer_value_and_a_deleted_key_are_not_cached(package: Path) -> None:
    switch = SwitchUnderTest(str(package / PROGRAM.removesuffix(".p4")))
    switch.reply(switch.send(Op.GET), sequence=0, value=bytes(129))
    assert switch.hit() is None
    switch.reply(switch.send(Op.GET), sequence=9)
    assert switch.hit() is None
