"""Keys that wait for a place, and entries that are to go: what is begun next."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

from netkv.control.messages import MAX_CACHED_BYTES
from netkv.control.topology import KEY_BYTES
from netkv.schemes.farreach.admission import Admission
from netkv.schemes.farreach.contention import Contention
from netkv.schemes.farreach.context import Shared
from netkv.schemes.farreach.entries import Candidate, State
from netkv.schemes.farreach.eviction import Eviction
from netkv.schemes.farreach.record import Record


class Queue:
    """What is begun next.

    Rules
    -----
    1. What is in flight or waits is bounded. An offer that is dropped for that is answered
       "rejected"; the server offers the key again while it is hot.
    2. A key that somebody asked to have cached (preload, recovery) waits as long as it takes, and
       evicts nobody.
    3. Evictions that a silent server holds up keep nobody else from coming in.
    """

    def __init__(self, shared: Shared, settled: Callable[[bytes, bool], None]) -> None:
        """`settled` hears of keys that are cached (True), or will not be for now."""
        self._shared = shared
        self._hears = settled
        self._waiting: OrderedDict[bytes, Candidate] = OrderedDict()
        self._unwelcome: deque[int] = deque()  # generations of entries that are to go
        self._wanted: set[bytes] = set()

    def connect(self, admission: Admission, eviction: Eviction, contention: Contention) -> None:
        """Who does it."""
        self._admission, self._eviction, self._contention = admission, eviction, contention

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def wanted(self) -> int:
        """How many preloaded keys are not settled."""
        return len(self._wanted)

    def preload(self, keys: Iterable[bytes]) -> None:
        """Cache `keys` in this order, as far as there is room."""
        for key in keys:
            if len(key) != KEY_BYTES:
                raise ValueError(f"Cannot preload {key.hex()}: a key has {KEY_BYTES} bytes.")
            if key not in self._shared.places and key not in self._wanted:
                self._wanted.add(key)
                self._waiting.setdefault(key, Candidate(key))

    def readmit(self, candidate: Candidate) -> None:
        """Cache a key that was cached before."""
        self._waiting[candidate.key] = candidate

    def offer(self, record: Record, *, serving: bool) -> bool:
        """A hot key with its record: whether it comes in, or may contend for a place."""
        shared, key = self._shared, record.key
        if record.deleted or len(record.value) > MAX_CACHED_BYTES:
            return False
        if key in shared.places or key in self._waiting or key in self._contention:
            return True
        if not serving or len(self._waiting) >= shared.parameters.max_waiting:
            return False
        self._waiting[key] = Candidate(key, record, shared.parameters.hot_threshold)
        return True

    def dismiss(self, generation: int) -> None:
        """An entry is to go, and nobody comes in its place."""
        self._unwelcome.append(generation)

    def switch_restarted(self) -> None:
        """The switch has lost everything: only what was asked for still waits."""
        waiting = [each for each in self._waiting.values() if each.count is None]
        lost = [entry.candidate for entry in self._shared.places if entry.key in self._wanted]
        self._waiting.clear()
        self._unwelcome.clear()
        for candidate in (*lost, *waiting):
            self._waiting[candidate.key] = candidate

    def settled(self, candidate: Candidate, reason: str) -> None:
        """The candidate is cached or given up: count why, and wait for it no longer."""
        self._shared.counts[reason] += 1
        self._wanted.discard(candidate.key)
        self._hears(candidate.key, reason in ("insertions", "cached_already"))

    def start(self) -> None:
        """Begin evictions and admissions, as many as may be in flight."""
        places = self._shared.places
        while self._unwelcome and self._has_hands():
            entry = places.get(self._unwelcome.popleft())
            if entry is not None and entry.state is State.CACHED:
                self._shared.counts["evicted_doubtful"] += 1
                self._eviction.begin(entry)
        while self._waiting and self._has_hands():
            key, candidate = self._waiting.popitem(last=False)
            if key in places:
                self.settled(candidate, "cached_already")
            elif places.free_entries:
                self._admission.begin(candidate)
            elif candidate.count is None:
                self.settled(candidate, "without_room")
            elif not self._contention.contend(candidate):
                self._shared.counts["offers_dropped"] += 1

    def _has_hands(self) -> bool:
        held_up = self._eviction.held_up(self._shared.questions.silent)
        busy = self._shared.places.in_flight - held_up
        return busy < self._shared.parameters.max_in_flight
