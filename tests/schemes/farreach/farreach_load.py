"""Random operations of clients, and faults at random times."""

from functools import partial

from netkv.control.base import MILLISECOND, SECOND
from netkv.control.messages import Op
from netkv.schemes.farreach.parameters import FarReachParameters
from tests.schemes.farreach.farreach_rack import Rack, key_of

KEYS = [key_of(number) for number in range(24)]
SMALL = FarReachParameters(
    capacity=6,
    sample_rate=1.0,
    hot_threshold=2,
    epoch=200 * MILLISECOND,
    drawn=3,
    snapshot_period=150 * MILLISECOND,
    original_patience=20 * MILLISECOND,
    collect_patience=SECOND,
    incarnation_length=2 * SECOND,
    max_in_flight=4,
    max_bulk=3,
)


class Load:
    """Each client has one operation after the other, with keys of different popularity."""

    def __init__(self, rack: Rack, keys: list[bytes] = KEYS) -> None:
        self.rack = rack
        self.keys = keys
        self.on = True
        self.done = 0
        self._value = 0
        for client in rack.processes:
            for _ in range(3):
                rack.after(rack.random.randrange(5 * MILLISECOND), partial(self._next, client))

    def _next(self, client: int) -> None:
        rack = self.rack
        process = rack.processes[client]
        random = rack.random
        if not self.on:
            return
        if process.up and process.incarnation:
            # The hot keys shift by one every 50 ms, so that keys are admitted and evicted.
            rank = int(random.expovariate(0.4)) + rack.now // (50 * MILLISECOND)
            key = self.keys[rank % len(self.keys)]
            dice = random.random()
            if dice < 0.5:
                asked = process.begin(Op.GET, key, patience=SECOND)
            elif dice < 0.85:
                self._value += 1
                size = 200 if random.random() < 0.1 else 12
                value = b"%d" % self._value * (size // 6)
                asked = process.begin(Op.PUT, key, value, patience=SECOND)
            else:
                asked = process.begin(Op.DELETE, key, patience=SECOND)

            def look() -> None:
                if asked.over:
                    self.done += 1
                    self._next(client)
                elif process.up and rack.processes[client] is process:
                    rack.after(MILLISECOND, look)
                else:
                    self._next(client)

            rack.after(random.randrange(1, 4 * MILLISECOND), look)
        else:
            rack.after(20 * MILLISECOND, lambda: self._next(client))
