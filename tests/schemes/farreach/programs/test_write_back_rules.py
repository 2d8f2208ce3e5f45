"""FarReach's switch against a model of its rules (docs/schemes/farreach.md), on random frames."""

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest

from netkv.control import base
from netkv.model.messages import Bit, Message, Op, Slot, Stamp, Status, encode
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP, client_ip, key_hash
from tests.p4programs.stf import packet_out
from tests.schemes.farreach.programs import write_back_model as model
from tests.schemes.farreach.programs.write_back import (
    INCARNATION,
    REDIRECTED,
    TAKING_7,
    TAKING_8,
    TOPOLOGY,
    about,
    owned_by,
    write,
)
from tests.schemes.farreach.programs.write_back_switch import FarReachSwitch

PORTS = {1: 0, 2: 0, **dict.fromkeys(TAKING_7, 7), **dict.fromkeys(TAKING_8, 8)}
"""Port → number of the snapshot that its pipeline takes, or 0."""
PORTS |= dict.fromkeys(REDIRECTED, 9)

KEYS = [owned_by(server, 900 + i) for server in range(3) for i in range(3)]
ENTRIES = [0, 5, 6, 7, 1000, 32767]
LENGTHS = [0, 1, 15, 16, 17, 40, 64, 100, 127, 128, 128, 129, 300]


class SwitchAndModel:
    """The switch and the model, side by side. The model has one instance for each pipeline."""

    def __init__(self, pipelines: int) -> None:
        self.pipelines = pipelines
        self.switch = FarReachSwitch(pipelines).open()
        self.models = [model.Switch(INCARNATION) for _ in range(pipelines)]

    def instance(self, key: bytes) -> model.Switch:
        return self.models[TOPOLOGY.owner(key).port % self.pipelines]

    def cached(self, key: bytes, entry: int, generation: int) -> None:
        """Insert or modify the lookup entry of a key."""
        known = key in self.instance(key).lookup
        params = {"entry": entry, "generation": generation}
        kind = base.ModifyEntry if known else base.InsertEntry
        table, action = "NetkvIngress.lookup.cache", "NetkvIngress.lookup.cached"
        self.switch.write(kind(0, table, {"key": int.from_bytes(key)}, action, params))
        self.instance(key).lookup[key] = (entry, generation)

    def compare(self, port: int, message: Message) -> str:
        """Send a frame through tested, compare the outputs byte by byte, return the outcome."""
        owner, client = TOPOLOGY.owner(message.key), client_ip(1)
        route = (owner.ip, client) if message.op & 1 else (client, SERVICE_IP)
        if message.slot is not None:
            found = self.switch.process(port, packet_out(0) + encode(message))
            route = (CONTROLLER_IP, SERVICE_IP)
        else:
            found = self.switch.process(port, encode(message, *route))
        outcome = self.instance(message.key).process(message, PORTS.get(port, 0))
        expected = []
        for receiver, out in outcome:
            if receiver == model.SERVER:
                expected.append((owner.port, encode(out, client, owner.ip)))
            elif receiver == model.CONTROLLER and out.op is Op.ORIGINAL:
                expected.append((CPU_PORT, encode(out, client, CONTROLLER_IP)))
            elif out is message:
                expected.append((1, encode(out, *route)))
            else:
                expected.append((port, encode(out, SERVICE_IP, route[0])))
        assert found == expected, message
        return " ".join(f"{receiver}:{out.op.name}" for receiver, out in outcome)


class FrameGenerator:
    """Random frames about few keys, entries, clients and incarnations, so that they interact.

    Most entries are filled, validated, evicted and retired in this order. Copies of all messages
    arrive at any time.
    """

    def __init__(self, tested: SwitchAndModel, random: Random) -> None:
        self.tested, self.random = tested, random
        self.generation = 0
        self.new_requests = 0
        self.sent: dict[tuple[int, int], Message] = {}

    def step(self) -> tuple[int, Message]:
        """The next frame, and its ingress port."""
        key = self.random.choice(KEYS)
        rules = self.tested.instance(key)
        entry = rules.ours(key)
        generation = entry.generation if entry else 0
        draw = self.random.random()
        if not entry:
            if self.random.random() < 0.1:
                return CPU_PORT, self.fill(key)
        elif entry.validity == model.INVALID and not entry.retired and draw < 0.5:
            return CPU_PORT, self.control(Op.VALIDATE, key, generation)
        elif draw < 0.03:
            return CPU_PORT, self.control(Op.EVICT, key, generation)
        elif entry.validity == model.TO_BE_EVICTED and draw < 0.1:
            return CPU_PORT, self.control(Op.RETIRE, key, generation)
        elif draw < 0.15:
            return CPU_PORT, self.control(Op.LOAD, key, generation)
        if self.random.random() < 0.06:
            old_generation = max(0, self.generation - self.random.randrange(6))
            ops = [Op.FILL, Op.VALIDATE, Op.EVICT, Op.LOAD, Op.RETIRE, Op.COUNT]
            return CPU_PORT, self.control(self.random.choice(ops), key, old_generation)
        port = self.random.choice(list(PORTS))
        if draw < 0.4:
            return port, self.read(key)
        if draw < 0.7:
            return port, self.write(key)
        home = TOPOLOGY.owner(key).port
        ports = [at for at in (home, 11, 12, 31, 32) if at % 4 == home % 4]
        near_number = (
            entry.max_sequence[1] if entry and self.random.random() < 0.8 else rules.numbers[key]
        )
        return self.random.choice(ports), self.reply(key, near_number, generation)

    def incarnation(self) -> int:
        past = [INCARNATION - 1] * 2 + [INCARNATION - 2]
        return self.random.choice([INCARNATION] * 10 + [*past, 0, INCARNATION + 1])

    def value(self) -> bytes:
        return self.random.randbytes(self.random.choice(LENGTHS))

    def ignored_fields(self) -> dict[str, Any]:
        """Values of fields that the switch ignores in requests."""
        status = self.random.choice([Status.OK] * 9 + list(Status))
        return {"status": status, "cache_hit": self.random.random() < 0.1}

    def fill(self, key: bytes) -> Message:
        """A FILL of a random entry, which may belong to another key so far."""
        self.generation += 1
        number = self.random.choice(ENTRIES)
        self.tested.cached(key, number, self.generation)
        return self.control(Op.FILL, key, self.generation)

    def control(self, op: Op, key: bytes, generation: int) -> Message:
        rules = self.tested.instance(key)
        number, _ = rules.lookup.get(key, (self.random.choice(ENTRIES), 0))
        near_number = max(0, rules.numbers[key] + self.random.randrange(-2, 3))
        bits = Bit(self.random.choice([0, 0, Bit.DELETED, self.random.randrange(256)]))
        value = b"" if op is not Op.FILL or bits & Bit.DELETED else self.value()[:128]
        stamp = Stamp(self.incarnation(), near_number, generation, bits)
        slot = Slot(number, self.random.choice([0, 7, 8, 9]))
        return Message(
            op,
            key,
            9,
            stamp=stamp,
            slot=slot,
            length=len(value),
            value=value,
            **self.ignored_fields(),
        )

    def read(self, key: bytes) -> Message:
        stamp = Stamp(
            self.incarnation(), 0, self.random.randrange(3), Bit(self.random.randrange(256))
        )
        return Message(Op.GET, key, 1, 1, stamp=stamp, **self.ignored_fields())

    def write(self, key: bytes) -> Message:
        op = self.random.choice([Op.PUT] * 3 + [Op.DELETE])
        value = self.value() if op is Op.PUT else b""
        request = self.random.choice([0, 1, 2, 3]) + 1024 * self.random.choice([0, 1, 2, 1 << 18])
        sender = self.random.choice([1, 2, 3, 4, 5, 6, 7, 8, 64, 65, 0])
        if self.random.random() < 0.7:  # a new write
            self.new_requests += 1
            request, sender = self.new_requests, 9
        fields = {"length": len(value), "value": value, **self.ignored_fields()}
        message = Message(op, key, request, sender, stamp=Stamp(self.incarnation(), 0), **fields)
        return self.sent.setdefault((sender, request), message)  # or a copy of an earlier one

    def reply(self, key: bytes, near_number: int, generation: int) -> Message:
        op = self.random.choice([Op.GET_REPLY] * 4 + [Op.PUT_REPLY, Op.DELETE_REPLY])
        status = self.random.choice([Status.OK] * 12 + [Status.NOT_FOUND] * 3 + list(Status))
        value = self.value() if op is Op.GET_REPLY and status is Status.OK else b""
        number = max(0, near_number + self.random.randrange(-2, 4))
        if self.random.random() < 0.2:
            generation = self.random.randrange(self.generation + 1)
        bits = Bit(self.random.choice([0] * 6 + [Bit.EMBEDDED, Bit.DELETED]))
        stamp = Stamp(self.incarnation(), number, generation, bits)
        return Message(op, key, 3, 1, status, length=len(value), value=value, stamp=stamp)


@pytest.mark.parametrize("pipelines", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_switch_and_model_agree_on_random_frames(pipelines: int, seed: int) -> None:
    assert len({key_hash(key) & 0x7FFF for key in KEYS}) == len(KEYS)
    tested = SwitchAndModel(pipelines)
    frames = FrameGenerator(tested, Random(seed))
    outcomes: Counter[str] = Counter()
    for _ in range(6000):
        outcomes[tested.compare(*frames.step())] += 1
    # Each outcome is frequent.
    expected = ["server:GET", "server:PUT", "server:DELETE", "client:GET_REPLY", "client:PUT_REPLY"]
    expected += ["client:DELETE_REPLY", "controller:EVICT_REPLY", "controller:FILL_REPLY", ""]
    expected += ["controller:ORIGINAL " * 3 + "client:PUT_REPLY"]
    assert min(outcomes[each] for each in expected) > 50, outcomes


def test_original_and_new_value_may_have_any_lengths() -> None:
    tested, key = SwitchAndModel(1), KEYS[0]
    tested.cached(key, 5, 1)
    for op in (Op.FILL, Op.VALIDATE):
        tested.compare(CPU_PORT, about(op, key, 5, Stamp(INCARNATION, 1, 1)))
    for request, (before, after) in enumerate(product(range(9), repeat=2)):
        tested.compare(1, write(key, bytes([1]) * 16 * before, 2 * request, 1, Stamp(INCARNATION)))
        port = (TAKING_7, TAKING_8)[request % 2][0]
        second = write(key, bytes([2]) * 16 * after, 2 * request + 1, 1, Stamp(INCARNATION))
        outcome = tested.compare(port, second)
        assert outcome == "controller:ORIGINAL " * 3 + "client:PUT_REPLY"
