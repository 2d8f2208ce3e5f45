"""The CPU time of FarReach's control plane in microseconds, without I/O and without a rack.

`python -m tests.schemes.farreach.measure_farreach` prints a preload of 10,000 keys,
snapshots of them with one client, and a recovery. The answers of switch, server and client are
prepared outside of the measured time.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from time import thread_time

from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Event,
    PacketIn,
    Preload,
    Save,
    Saved,
    SendFrame,
    Started,
    SwitchRestarted,
    TableWritten,
    Timer,
)
from netkv.kits.write_back.record import Record, pack
from netkv.model.messages import Bit, Message, Op, Stamp, decode, encode
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP, Topology, client_ip
from netkv.schemes.farreach.control_plane import FarReach
from tests.schemes.farreach.farreach_rack import DEFAULTS
from tests.schemes.scripted_rack import key_of

KEYS = 10_000
STEP = 1_000  # of the clock, in nanoseconds, for each event
VALUE = bytes(128)
BITS = Bit.VALID | Bit.LATEST | Bit.DIRTY
PIECE = 6


class Script:
    """Answers everything at once; counts the time spent in the control plane."""

    def __init__(self, keys: int, period: float) -> None:
        self.configuration = DEFAULTS.changed(
            cache_entries=keys, snapshot_period=period, epoch=1000.0, numbers_per_second=1 << 24
        )
        self.control = FarReach(Topology.of_ports([1], range(2, 130)), *self.configuration)
        self.keys = [key_of(number) for number in range(keys)]
        self.now = SECOND
        self.seconds = 0.0
        self.events = 0
        self.generations: dict[bytes, int] = {}
        self.handle(Started())
        self.handle(PacketIn(1, self._from_client(Message(Op.HELLO, bytes(16), 1, 1))))
        self.handle(Preload(tuple(self.keys)))

    def _from_client(self, message: Message) -> bytes:
        return encode(message, client_ip(1), CONTROLLER_IP)

    def handle(self, event: Event) -> None:
        """Handle an event and all events that follow from it."""
        events = deque([event])
        while events:
            self.now += STEP
            self.events += 1
            began = thread_time()
            actions = self.control.handle(self.now, events.popleft())
            self.control.deadline()
            self.seconds += thread_time() - began
            events.extend(answer for action in actions for answer in self._answer(action))
            due = self.control.deadline()
            if not events and due is not None and due < self.now + 50 * MILLISECOND:
                self.now = max(self.now, due)
                events.append(Timer())

    def _answer(self, action: object) -> Iterator[Event]:
        match action:
            case SendFrame(frame):
                message = decode(frame).message
                if message.op in (Op.OFFER_REPLY, Op.HELLO_REPLY):
                    return
                yield PacketIn(1, encode(self._reply(message), SERVICE_IP, CONTROLLER_IP))
            case Save(save):
                yield Saved(save, True)
            case _ if hasattr(action, "write"):
                yield TableWritten(action.write, True)

    def _reply(self, message: Message) -> Message:
        stamp = message.stamp or Stamp()
        carried = {"value": VALUE, "length": len(VALUE)}
        match message.op:
            case Op.LOAD | Op.EVICT:
                stamp = Stamp(2, 7, stamp.generation, BITS)
                return message.reply(stamp=stamp, slot=message.slot, **carried)
            case Op.FETCH:
                return message.reply(stamp=Stamp(0, 0), **carried)
            case Op.COLLECT:
                total = len(self.keys)
                some = self.keys[stamp.number : stamp.number + PIECE]
                value = pack(Record(key, 2, 9, 0, VALUE) for key in some)
                total_stamp = replace(stamp, number=total)
                return message.reply(stamp=total_stamp, value=value, length=len(value))
            case _:
                return message.reply(stamp=message.stamp, slot=message.slot)

    def measure(self, event: Event) -> float:
        """Microseconds for each key, for an event and all events that follow."""
        self.seconds = 0.0
        self.events = 0
        self.handle(event)
        return self.seconds / len(self.keys) * 1e6


def snapshot(script: Script) -> float:
    """One snapshot, saved and released; microseconds for each entry."""
    before = script.control.statistics().get("snapshots", 0)
    script.now += script.configuration.options.snapshot_period_ns
    micros = script.measure(Timer())
    assert script.control.statistics()["snapshots"] == before + 1
    return micros


def main() -> None:
    """Measure and print."""
    script = Script(KEYS, 10.0)
    print(f"preload {script.seconds / KEYS * 1e6:.1f} us a key")
    assert script.control.statistics()["cached"] == KEYS
    for _ in range(5):
        print(f"snapshot {snapshot(script):.1f} us an entry, {script.events} events")
    print(f"recovery {script.measure(SwitchRestarted()):.1f} us a key")
    assert script.control.statistics()["recoveries"] == 1


if __name__ == "__main__":
    main()
