"""The switch against the rules of docs/farreach.md, on random frames."""

from random import Random
from typing import Any

import pytest

from netkv.control.messages import Bit, Message, Op, Place, Stamp, Status, encode
from netkv.control.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP, client_ip, key_hash
from tests.p4programs import write_back_model as model
from tests.p4programs.stf import packet_out
from tests.p4programs.write_back import LIFE, REDIRECTED, TAKING_7, TAKING_8, TOPOLOGY, owned_by
from tests.p4programs.write_back_switch import FarReachSwitch

PORTS = {1: 0, 2: 0, **dict.fromkeys(TAKING_7, 7), **dict.fromkeys(TAKING_8, 8)}
"""Ports of clients, and the snapshot that their pipeline takes."""
PORTS |= dict.fromkeys(REDIRECTED, 9)

CACHED = [owned_by(server, 900 + i) for server in range(3) for i in range(2)]
OTHERS = [owned_by(0, 950), owned_by(1, 950)]
ENTRIES = [5, 32767, 0]


class Traffic:
    """Frames that are likely to meet: few keys, entries, requests, numbers, lives."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.fresh = 0

    def life(self) -> int:
        return self.random.choice([LIFE] * 8 + [LIFE - 1, LIFE - 1, 0, LIFE - 2, LIFE + 1])

    def value(self) -> bytes:
        length = self.random.choice([0, 1, 15, 16, 17, 40, 64, 100, 127, 128, 128, 129, 300])
        return self.random.randbytes(length)

    def key(self) -> bytes:
        return self.random.choice(CACHED if self.random.random() < 0.9 else OTHERS)

    def read(self) -> Message:
        stamp = Stamp(self.life(), 0, self.random.randrange(3), Bit(self.random.randrange(256)))
        return Message(Op.GET, self.key(), 1, 1, stamp=stamp, **self.nonsense())

    def nonsense(self) -> dict[str, Any]:
        """What a request may say, and nobody minds."""
        status = self.random.choice([Status.OK] * 9 + list(Status))
        return {"status": status, "cache_hit": self.random.random() < 0.1}

    def write(self) -> Message:
        op = self.random.choice([Op.PUT] * 3 + [Op.DELETE])
        value = self.value() if op is Op.PUT else b""
        request = self.random.choice([0, 1, 2, 3]) + 1024 * self.random.choice([0, 1, 2, 1 << 18])
        sender = self.random.choice([1, 2, 3, 4, 5, 6, 7, 8, 64, 65, 0])
        if self.random.random() < 0.7:  # most writes are new ones
            self.fresh += 1
            request, sender = self.fresh, 9
        stamp = Stamp(self.life(), 0)
        return Message(op, self.key(), request, sender, stamp=stamp, length=len(value), value=value)

    def reply(self, near: int, generations: list[int]) -> Message:
        op = self.random.choice([Op.GET_REPLY] * 4 + [Op.PUT_REPLY, Op.DELETE_REPLY])
        status = self.random.choice([Status.OK] * 6 + [Status.NOT_FOUND] * 2 + list(Status))
        value = self.value() if op is Op.GET_REPLY and status is Status.OK else b""
        number = (near + self.random.randrange(-2, 4)) % (1 << 32)
        generation = self.random.choice([*generations, 0])
        bits = self.random.choice([Bit(0)] * 6 + [Bit.EMBEDDED, Bit.DELETED])
        stamp = Stamp(self.life(), number, generation, bits)
        return Message(op, self.key(), 3, 1, status, length=len(value), value=value, stamp=stamp)

    def control(self, near: int, generations: list[int]) -> Message:
        op = self.random.choice(
            [Op.LOAD, Op.LOAD, Op.VALIDATE, Op.VALIDATE, Op.EVICT, Op.RETIRE, Op.COUNT, Op.FILL]
        )
        generation = self.random.choice([*generations, 0, 1])
        bits = self.random.choice([Bit(0)] * 3 + [Bit.DELETED]) if op is Op.FILL else Bit(0)
        value = self.value()[:128] if op is Op.FILL and not bits else b""
        stamp = Stamp(self.life(), max(0, near + self.random.randrange(-2, 3)), generation, bits)
        place = Place(self.random.choice(ENTRIES), self.random.choice([0, 7, 8, 9]))
        key = self.key()
        return Message(op, key, 9, stamp=stamp, place=place, length=len(value), value=value)


class Both:
    """The switch and the rules, side by side. Each pipeline has an instance of the state."""

    def __init__(self, pipelines: int) -> None:
        self.pipelines = pipelines
        self.switch = FarReachSwitch(pipelines)
        self.rules = [model.Switch(LIFE) for _ in range(pipelines)]

    def instance(self, key: bytes) -> model.Switch:
        return self.rules[TOPOLOGY.owner(key).port % self.pipelines]

    def cached(self, key: bytes, entry: int, generation: int) -> None:
        self.switch.cached(key, entry, generation)
        self.instance(key).lookup[key] = (entry, generation)

    def compare(self, port: int, message: Message) -> str:
        """One frame through both, byte by byte; what became of it."""
        owner, client = TOPOLOGY.owner(message.key), client_ip(1)
        route = (owner.ip, client) if message.op & 1 else (client, SERVICE_IP)
        if message.place is not None:
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
        return " ".join(f"{whom}:{out.op.name}:{out.status.name}" for whom, out in outcome)


@pytest.mark.parametrize("pipelines", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_random_frames_do_what_the_rules_say(pipelines: int, seed: int) -> None:
    both, traffic = Both(pipelines), Traffic(seed)
    random = traffic.random
    assert len({key_hash(key) & 0x7FFF for key in (*CACHED, *OTHERS)}) == 8
    # Two keys for each of the entries: the generations of one are those of the past.
    generations = [100 + i for i in range(len(CACHED))]
    for i, key in enumerate(CACHED):
        both.cached(key, ENTRIES[i % len(ENTRIES)], generations[i])
    outcomes = set()
    for _ in range(6000):
        kind = random.random()
        near = max(both.instance(key).numbers[key] for key in CACHED)
        port = random.choice(list(PORTS))
        if kind < 0.3:
            message = traffic.read()
        elif kind < 0.7:
            message = traffic.write()
        elif kind < 0.9:
            message = traffic.reply(near, generations)
            home = TOPOLOGY.owner(message.key).port
            port = random.choice([p for p in (home, 11, 12, 31, 32) if p % 4 == home % 4])
        else:
            message = traffic.control(near, generations)
            port = CPU_PORT
        outcomes.add(both.compare(port, message))
    assert len(outcomes) >= 20, sorted(outcomes)
