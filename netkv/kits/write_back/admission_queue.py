"""The queue of keys to admit and of entries to evict: it chooses the next operation."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

from netkv.kits.write_back.admission import Admission
from netkv.kits.write_back.contention import Contention
from netkv.kits.write_back.context import Context
from netkv.kits.write_back.entries import Candidate, State
from netkv.kits.write_back.eviction import Eviction
from netkv.kits.write_back.record import Record
from netkv.model.messages import MAX_CACHED_BYTES
from netkv.model.topology import KEY_BYTES


class AdmissionQueue:
    """Keys that wait for admission, and entries that wait for eviction.

    Rules
    -----
    1. The number of keys in flight and of waiting keys is limited. An offer beyond the limit is
       rejected; the server offers the key again while it is hot.
    2. A key of a preload or a recovery waits without limit, and evicts no other key.
    3. Evictions that wait for a silent server do not count as in flight.
    4. A key that an oracle reports is reported only once: it waits without limit, also for a
       contest. Then it is like an offer whose record must be fetched.
    """

    def __init__(self, context: Context, settled: Callable[[bytes, bool], None]) -> None:
        """`settled` is called for each key that is cached (True) or given up (False)."""
        self._context = context
        self._on_settled = settled
        self.max_in_flight = context.parameters.max_in_flight
        self._waiting: OrderedDict[bytes, Candidate] = OrderedDict()
        self._to_evict: deque[int] = deque()  # generations
        self._preloads: set[bytes] = set()  # neither cached nor given up
        self._reported: OrderedDict[bytes, None] = OrderedDict()  # by an oracle

    def connect(self, admission: Admission, eviction: Eviction, contention: Contention) -> None:
        """Set the parts that carry out admissions, evictions and contests."""
        self._admission, self._eviction, self._contention = admission, eviction, contention

    def __len__(self) -> int:
        return len(self._waiting) + len(self._reported)

    @property
    def unsettled_preloads(self) -> int:
        """How many preloaded keys are neither cached nor given up."""
        return len(self._preloads)

    def preload(self, keys: Iterable[bytes]) -> None:
        """Queue `keys` for admission, in this order."""
        for key in keys:
            if len(key) != KEY_BYTES:
                raise ValueError(f"Cannot preload {key.hex()}: a key has {KEY_BYTES} bytes.")
            if key not in self._context.index and key not in self._preloads:
                self._preloads.add(key)
                self._waiting.setdefault(key, Candidate(key))

    def readmit(self, candidate: Candidate) -> None:
        """Queue a key that was cached before the restart of the switch."""
        self._waiting[candidate.key] = candidate

    def offer(self, record: Record, *, serving: bool) -> bool:
        """Queue a hot key that a server has offered; returns whether the offer is accepted."""
        context, key = self._context, record.key
        if record.deleted or len(record.value) > MAX_CACHED_BYTES:
            return False
        if self._is_known(key):
            return True
        if not serving or len(self._waiting) >= context.parameters.max_waiting:
            return False
        self._waiting[key] = Candidate(key, record, context.options.hot_threshold)
        return True

    def report(self, keys: Iterable[bytes]) -> None:
        """Queue hot keys that an oracle knows, in this order."""
        for key in keys:
            if not self._is_known(key):
                self._reported[key] = None

    def evict(self, generation: int) -> None:
        """Queue the eviction of an entry, without a successor."""
        self._to_evict.append(generation)

    def switch_restarted(self) -> None:
        """The switch is empty: keep only preloaded and readmitted keys, drop offers."""
        waiting = [each for each in self._waiting.values() if each.count is None]
        lost = [entry.candidate for entry in self._context.index if entry.key in self._preloads]
        self._waiting.clear()
        self._reported.clear()
        self._to_evict.clear()
        for candidate in (*lost, *waiting):
            self._waiting[candidate.key] = candidate

    def settled(self, candidate: Candidate, reason: str) -> None:
        """The candidate is cached or given up; `reason` is the counter of that outcome."""
        self._context.counts[reason] += 1
        self._preloads.discard(candidate.key)
        self._on_settled(candidate.key, reason in ("insertions", "cached_already"))

    def start(self) -> None:
        """Begin evictions and admissions, as many as may be in flight."""
        index = self._context.index
        while self._to_evict and self._below_limit():
            entry = index.get(self._to_evict.popleft())
            if entry is not None and entry.state is State.CACHED:
                self._context.counts["evicted_doubtful"] += 1
                self._eviction.begin(entry)
        while self._waiting and self._below_limit():
            self._start(self._waiting.popitem(last=False)[1])
        while self._reported and self._below_limit():
            if not index.free_entries and self._contention.full:
                break
            key, _ = self._reported.popitem(last=False)
            self._start(Candidate(key, count=self._context.options.hot_threshold))

    def _start(self, candidate: Candidate) -> None:
        """Begin to admit a key, or to contend for an entry; or give it up."""
        index = self._context.index
        if candidate.key in index:
            self.settled(candidate, "cached_already")
        elif index.free_entries:
            self._admission.begin(candidate)
        elif candidate.count is None:
            self.settled(candidate, "without_room")
        elif not self._contention.contend(candidate):
            self._context.counts["offers_dropped"] += 1

    def _is_known(self, key: bytes) -> bool:
        """Whether the key has an entry, waits for one or contends for one."""
        queued = key in self._waiting or key in self._reported
        return queued or key in self._context.index or key in self._contention

    def _below_limit(self) -> bool:
        silent = self._context.pending.silent
        stalled = self._eviction.waiting_for(silent) if silent else 0
        in_flight = self._context.index.in_flight - stalled
        return in_flight < self.max_in_flight
