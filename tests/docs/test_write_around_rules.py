"""The rules of the scheme of docs/add-a-scheme.md, frame by frame, and without each of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netkv.control.base import SECOND, Preload, SwitchRestarted
from netkv.control.messages import Message, Op, decode, encode
from netkv.control.network import rack
from netkv.control.topology import SERVICE_IP, client_ip
from netkv.roles import sequence_stamp
from tests.control.fabric import Fabric, bundle
from tests.docs.write_around import files, install

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


class Story:
    """A switch with its control plane. The test plays client and server."""

    def __init__(self, program: str) -> None:
        control = importlib.import_module("write_around.control_plane").WriteAround
        self._program = program
        self._fabric = Fabric(rack(clients=1, servers=2), program, control)
        self._fabric.handle(SWITCH, Preload((KEY,)))
        self._ports = {at.host.ip: at.host.port for at in self._fabric.network.hosts}
        self._request = 0

    def _pass(self, message: Message, source: int, destination: int) -> Message:
        """The message as it leaves the switch."""
        frame = encode(message, source, destination)
        ((_, out),) = self._fabric.switches[SWITCH].process(self._ports[source], frame)
        return decode(out).message

    def ask(self, op: Op, value: bytes = b"") -> Message:
        """A request of the client as the server gets it, or the answer of the switch."""
        self._request += 1
        request = Message(op, KEY, self._request, 1, length=len(value), value=value)
        return self._pass(request, client_ip(1), SERVICE_IP)

    def answer(self, request: Message, sequence: int, value: bytes = b"") -> None:
        """An answer of the server passes the switch."""
        generation = request.stamp.generation if request.stamp else 0
        stamp = sequence_stamp(sequence, generation)
        reply = request.reply(length=len(value), value=value, stamp=stamp)
        self._pass(reply, self._fabric.owner(KEY).host.ip, client_ip(1))

    def restart_switch(self) -> None:
        self._fabric.now += SECOND
        self._fabric.switches[SWITCH].load(bundle(self._program))
        self._fabric.handle(SWITCH, SwitchRestarted())

    def hit(self) -> bytes | None:
        """What the switch answers a read with, if it does."""
        answer = self.ask(Op.GET)
        return answer.value if answer.cache_hit else None


def old_answer_comes_late(story: Story) -> None:
    """Rule 3: a read has the old value, and a write is answered before it."""
    read = story.ask(Op.GET)
    story.answer(story.ask(Op.PUT, NEW), sequence=7)
    story.answer(read, sequence=5, value=OLD)


def old_answer_comes_after_a_restart(story: Story) -> None:
    """Rule 3: the same, and the switch forgets meanwhile that there was a write."""
    read = story.ask(Op.GET)
    story.answer(story.ask(Op.PUT, NEW), sequence=7)
    story.restart_switch()
    story.answer(read, sequence=5, value=OLD)


def entry_is_filled_while_a_write_is_under_way(story: Story) -> None:
    """Rule 2: the write passes the switch, a read overtakes it, and then the write is answered."""
    write = story.ask(Op.PUT, NEW)
    story.answer(story.ask(Op.GET), sequence=5, value=OLD)
    story.answer(write, sequence=7)


STORIES = (
    (old_answer_comes_late, "hdr.stamp.sequence >= sequence", "true"),
    (old_answer_comes_after_a_restart, "&& hdr.stamp.generation == meta.generation", ""),
    (
        entry_is_filled_while_a_write_is_under_way,
        "if (hdr.stamp.sequence > sequence) {",
        "if (false) {",
    ),
)


@pytest.mark.parametrize(
    ("story", "rule", "without"), STORIES, ids=lambda it: getattr(it, "__name__", "")
)
def test_old_value_is_not_read(
    package: Path, story: Callable[[Story], None], rule: str, without: str
) -> None:
    whole = Story(str(package / PROGRAM.removesuffix(".p4")))
    story(whole)
    assert whole.hit() is None
    text = files()[PROGRAM]
    assert text.count(rule) == 1
    (package / f"{story.__name__}.p4").write_text(text.replace(rule, without))
    mutant = Story(str(package / story.__name__))
    story(mutant)
    assert mutant.hit() == OLD, "the rule is what keeps it away"


@pytest.mark.parametrize("size", [1, 16, 17, 127, 128])
def test_answer_fills_the_entry_and_a_write_makes_it_invalid(package: Path, size: int) -> None:
    story = Story(str(package / PROGRAM.removesuffix(".p4")))
    value = bytes(range(1, size + 1))
    story.answer(story.ask(Op.GET), sequence=0, value=value)
    assert story.hit() == value
    passed = story.ask(Op.PUT, NEW)
    assert (passed.value, passed.stamp) == (NEW, None)
    assert story.hit() is None
    story.answer(passed, sequence=7)
    story.answer(story.ask(Op.GET), sequence=7, value=NEW)
    assert story.hit() == NEW


def test_longer_value_and_a_deleted_key_are_not_cached(package: Path) -> None:
    story = Story(str(package / PROGRAM.removesuffix(".p4")))
    story.answer(story.ask(Op.GET), sequence=0, value=bytes(129))
    assert story.hit() is None
    story.answer(story.ask(Op.GET), sequence=9)
    assert story.hit() is None
