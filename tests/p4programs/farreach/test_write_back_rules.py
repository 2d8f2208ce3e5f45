"""The switch against the rules of docs/farreach.md, on random frames."""

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest

from netkv.control import base
from netkv.control.messages import Bit, Message, Op, Slot, Stamp, Status, encode
from netkv.control.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP, client_ip, key_hash
from tests.p4programs.farreach import write_back_model as model
from tests.p4programs.farreach.write_back import (
    INCARNATION,
    REDIRECTED,
    TAKING_7,
    TAKING_8,
    TOPOLOGY,
    about,
    owned_by,
    write,
)
from tests.p4programs.farreach.write_back_switch import FarReachSwitch
from tests.p4programs.stf import packet_out

PORTS = {1: 0, 2: 0, **dict.fromkeys(TAKING_7, 7), **dict.fromkeys(TAKING_8, 8)}
"""Ports of clients, and the snapshot that their pipeline takes."""
PORTS |= dict.fromkeys(REDIRECTED, 9)

KEYS = [owned_by(server, 900 + i) for server in range(3) for i in range(3)]
ENTRIES = [0, 5, 6, 7, 1000, 32767]
LENGTHS = [0, 1, 15, 16, 17, 40, 64, 100, 127, 128, 128, 129, 300]


class Both:
    """The switch and the rules, side by side. Each pipeline has an instance of the state."""

    def __init__(self, pipelines: int) -> None:
        self.pipelines = pipelines
        self.switch = FarReachSwitch(pipelines).open()
        self.rules = [model.Switch(INCARNATION) for _ in range(pipelines)]

    def instance(self, key: bytes) -> model.Switch:
        return self.rules[TOPOLOGY.owner(key).port % self.pipelines]

    def cached(self, key: bytes, entry: int, generation: int) -> None:
        """The lookup entry of a key comes in, or is changed."""
        known = key in self.instance(key).lookup
        params = {"entry": entry, "generation": generation}
        kind = base.ModifyEntry if known else base.InsertEntry
        table, action = "NetkvIngress.lookup.cache", "NetkvIngress.lookup.cached"
        self.switch.write(kind(0, table, {"key": int.from_bytes(key)}, action, params))
        self.instance(key).lookup[key] = (entry, generation)

    def compare(self, port: int, message: Message) -> str:
        """One frame through both, byte by byte; what became of it."""
        owner, client = TOPOLOGY.owner(message.key), client_ip(1)
        route = (owner.ip, client) if message.op & 1 else (client, SERVICE_IP)
        if message.slot is not None:
            found = self.switch.process(port, packet_out(0) + encode(message))
            route = (CONTROLLER_IP, SERVICE_IP)
        else:
            found = self.switch.process(port, encode(message, *route))
        outcome = self.instance(message.key).process(message, PORTS.get(port, 0))
        expected = []
        for whom, out in outcome:
            if whom == model.SERVER:
                expected.append((owner.port, encode(out, client, owner.ip)))
            elif whom == model.CONTROLLER and out.op is Op.ORIGINAL:
                expected.append((CPU_PORT, encode(out, client, CONTROLLER_IP)))
            elif out is message:
                expected.append((1, encode(out, *route)))
            else:
                expected.append((port, encode(out, SERVICE_IP, route[0])))
        assert found == expected, message
        return " ".join(f"{whom}:{out.op.name}" for whom, out in outcome)


class Story:
    """Frames that meet: few keys, entries, clients and incarnations, numbers near each other.

    Most of the time entries are filled, made valid, and taken away again in order; copies of all
    messages come at any time.
    """

    def __init__(self, both: Both, random: Random) -> None:
        self.both, self.random = both, random
        self.generation = 0
        self.fresh = 0
        self.sent: dict[tuple[int, int], Message] = {}

    def step(self) -> tuple[int, Message]:
        """The next frame, and the port at which it comes in."""
        key = self.random.choice(KEYS)
        rules = self.both.instance(key)
        entry = rules.ours(key)
        generation = entry.generation if entry else 0
        lot = self.random.random()
        if not entry:
            if self.random.random() < 0.1:
                return CPU_PORT, self.fill(key)
        elif entry.validity == model.INVALID and not entry.retired and lot < 0.5:
            return CPU_PORT, self.control(Op.VALIDATE, key, generation)
        elif lot < 0.03:
            return CPU_PORT, self.control(Op.EVICT, key, generation)
        elif entry.validity == model.TO_BE_EVICTED and lot < 0.1:
            return CPU_PORT, self.control(Op.RETIRE, key, generation)
        elif lot < 0.15:
            return CPU_PORT, self.control(Op.LOAD, key, generation)
        if self.random.random() < 0.06:
            late = max(0, self.generation - self.random.randrange(6))
            ops = [Op.FILL, Op.VALIDATE, Op.EVICT, Op.LOAD, Op.RETIRE, Op.COUNT]
            return CPU_PORT, self.control(self.random.choice(ops), key, late)
        port = self.random.choice(list(PORTS))
        if lot < 0.4:
            return port, self.read(key)
        if lot < 0.7:
            return port, self.write(key)
        home = TOPOLOGY.owner(key).port
        ports = [at for at in (home, 11, 12, 31, 32) if at % 4 == home % 4]
        near = entry.floor if entry and self.random.random() < 0.8 else rules.numbers[key]
        return self.random.choice(ports), self.reply(key, near, generation)

    def incarnation(self) -> int:
        past = [INCARNATION - 1] * 2 + [INCARNATION - 2]
        return self.random.choice([INCARNATION] * 10 + [*past, 0, INCARNATION + 1])

    def value(self) -> bytes:
        return self.random.randbytes(self.random.choice(LENGTHS))

    def nonsense(self) -> dict[str, Any]:
        """What a request may say, and nobody minds."""
        status = self.random.choice([Status.OK] * 9 + list(Status))
        return {"status": status, "cache_hit": self.random.random() < 0.1}

    def fill(self, key: bytes) -> Message:
        """A new filling of an entry, whose last one belongs to another key maybe."""
        self.generation += 1
        number = self.random.choice(ENTRIES)
        self.both.cached(key, number, self.generation)
        return self.control(Op.FILL, key, self.generation)

    def control(self, op: Op, key: bytes, generation: int) -> Message:
        rules = self.both.instance(key)
        number, _ = rules.lookup.get(key, (self.random.choice(ENTRIES), 0))
        near = max(0, rules.numbers[key] + self.random.randrange(-2, 3))
        bits = Bit(self.random.choice([0, 0, Bit.DELETED, self.random.randrange(256)]))
        value = b"" if op is not Op.FILL or bits & Bit.DELETED else self.value()[:128]
        stamp = Stamp(self.incarnation(), near, generation, bits)
        slot = Slot(number, self.random.choice([0, 7, 8, 9]))
        return Message(
            op, key, 9, stamp=stamp, slot=slot, length=len(value), value=value, **self.nonsense()
        )

    def read(self, key: bytes) -> Message:
        stamp = Stamp(
            self.incarnation(), 0, self.random.randrange(3), Bit(self.random.randrange(256))
        )
        return Message(Op.GET, key, 1, 1, stamp=stamp, **self.nonsense())

    def write(self, key: bytes) -> Message:
        op = self.random.choice([Op.PUT] * 3 + [Op.DELETE])
        value = self.value() if op is Op.PUT else b""
        request = self.random.choice([0, 1, 2, 3]) + 1024 * self.random.choice([0, 1, 2, 1 << 18])
        sender = self.random.choice([1, 2, 3, 4, 5, 6, 7, 8, 64, 65, 0])
        if self.random.random() < 0.7:  # most writes are new ones
            self.fresh += 1
            request, sender = self.fresh, 9
        fields = {"length": len(value), "value": value, **self.nonsense()}
        message = Message(op, key, request, sender, stamp=Stamp(self.incarnation(), 0), **fields)
        return self.sent.setdefault((sender, request), message)  # or a copy of it

    def reply(self, key: bytes, near: int, generation: int) -> Message:
        op = self.random.choice([Op.GET_REPLY] * 4 + [Op.PUT_REPLY, Op.DELETE_REPLY])
        status = self.random.choice([Status.OK] * 12 + [Status.NOT_FOUND] * 3 + list(Status))
        value = self.value() if op is Op.GET_REPLY and status is Status.OK else b""
        number = max(0, near + self.random.randrange(-2, 4))
        if self.random.random() < 0.2:
            generation = self.random.randrange(self.generation + 1)
        bits = Bit(self.random.choice([0] * 6 + [Bit.EMBEDDED, Bit.DELETED]))
        stamp = Stamp(self.incarnation(), number, generation, bits)
        return Message(op, key, 3, 1, status, length=len(value), value=value, stamp=stamp)


@pytest.mark.parametrize("pipelines", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_random_frames_follow_the_rules(pipelines: int, seed: int) -> None:
    assert len({key_hash(key) & 0x7FFF for key in KEYS}) == len(KEYS)
    both = Both(pipelines)
    story = Story(both, Random(seed))
    outcomes: Counter[str] = Counter()
    for _ in range(6000):
        outcomes[both.compare(*story.step())] += 1
    # Each way that a frame can go is taken often.
    ways = ["server:GET", "server:PUT", "server:DELETE", "client:GET_REPLY", "client:PUT_REPLY"]
    ways += ["client:DELETE_REPLY", "controller:EVICT_REPLY", "controller:FILL_REPLY", ""]
    ways += ["controller:ORIGINAL " * 3 + "client:PUT_REPLY"]
    assert min(outcomes[way] for way in ways) > 50, outcomes


def test_an_original_of_any_length_before_a_value_of_any_length() -> None:
    both, key = Both(1), KEYS[0]
    both.cached(key, 5, 1)
    for op in (Op.FILL, Op.VALIDATE):
        both.compare(CPU_PORT, about(op, key, 5, Stamp(INCARNATION, 1, 1)))
    for request, (before, after) in enumerate(product(range(9), repeat=2)):
        both.compare(1, write(key, bytes([1]) * 16 * before, 2 * request, 1, Stamp(INCARNATION)))
        port = (TAKING_7, TAKING_8)[request % 2][0]
        second = write(key, bytes([2]) * 16 * after, 2 * request + 1, 1, Stamp(INCARNATION))
        way = both.compare(port, second)
        assert way == "controller:ORIGINAL " * 3 + "client:PUT_REPLY"
