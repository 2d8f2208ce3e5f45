"""Random operations of clients, and faults at random times."""

from functools import partial
from typing import Any

from netkv.control.base import MILLISECOND, SECOND
from netkv.model.messages import Op
from netkv.schemes.farreach.control_plane import FarReach
from tests.schemes.farreach.farreach_rack import DEFAULTS, FarReachConfiguration, Rack
from tests.schemes.scripted_rack import key_of
from tests.schemes.write_back_rack import WriteBackRack

KEYS = [key_of(number) for number in range(24)]
SMALL = DEFAULTS.changed(
    cache_entries=6,
    sample_rate=1.0,
    hot_threshold=2,
    epoch=0.2,
    drawn=3,
    snapshot_period=0.15,
    original_patience=20 * MILLISECOND,
    collect_patience=SECOND,
    incarnation_length=2 * SECOND,
    max_in_flight=4,
    max_bulk=3,
)


def stocked_rack(
    configuration: FarReachConfiguration,
    seed: int = 0,
    keys: list[bytes] = KEYS,
    control: type[FarReach] = FarReach,
    **changes: Any,
) -> Rack:
    """A rack with this changed configuration, whose servers have a record of each key."""
    rack = Rack(configuration.changed(**changes), seed, control_type=control)
    for key in keys:
        rack.store(key, b"first " + key[:4])
    return rack


class Load:
    """Three sequences of operations for each client, with keys of different popularity."""

    def __init__(self, rack: WriteBackRack[Any], keys: list[bytes] = KEYS) -> None:
        self.rack = rack
        self.keys = keys
        self.running = True
        self.done = 0
        self._value = 0
        for client in rack.processes:
            for _ in range(3):
                rack.after(rack.random.randrange(5 * MILLISECOND), partial(self._next, client))

    def _next(self, client: int) -> None:
        rack = self.rack
        process = rack.processes[client]
        random = rack.random
        if not self.running:
            return
        if process.up and process.incarnation:
            # The hottest key changes every 50 ms, so that keys are admitted and evicted.
            rank = int(random.expovariate(0.4)) + rack.now // (50 * MILLISECOND)
            key = self.keys[rank % len(self.keys)]
            draw = random.random()
            if draw < 0.5:
                pending = process.begin(Op.GET, key, timeout=SECOND)
            elif draw < 0.85:
                self._value += 1
                size = 200 if random.random() < 0.1 else 12
                value = b"%d" % self._value * (size // 6)
                pending = process.begin(Op.PUT, key, value, timeout=SECOND)
            else:
                pending = process.begin(Op.DELETE, key, timeout=SECOND)

            def poll() -> None:
                if pending.ended:
                    self.done += 1
                    self._next(client)
                elif process.up and rack.processes[client] is process:
                    rack.after(MILLISECOND, poll)
                else:
                    self._next(client)

            rack.after(random.randrange(1, 4 * MILLISECOND), poll)
        else:
            rack.after(20 * MILLISECOND, lambda: self._next(client))
