"""The control of one chain: cache management, recovery, incarnations.

The parts of the cache management are FarReach's, for the switches of the chain in place of one.
"""

# Callbacks have the parameters of their type, whether they use them or not.

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from netkv._engine import Outstanding
from netkv.control.base import (
    Action,
    Nanoseconds,
    SendFrame,
    TableRead,
    TableWritten,
    earliest,
)
from netkv.control.cache_index import CacheIndex
from netkv.control.epochs import Epochs
from netkv.control.message_numbers import MessageNumbers
from netkv.control.pending_requests import PendingRequests
from netkv.kits.write_back.admission import Admission
from netkv.kits.write_back.admission_queue import AdmissionQueue
from netkv.kits.write_back.contention import Contention
from netkv.kits.write_back.context import Context
from netkv.kits.write_back.entries import Candidate
from netkv.kits.write_back.eviction import Eviction
from netkv.kits.write_back.loading import Loaded
from netkv.kits.write_back.parameters import WriteBackParameters
from netkv.kits.write_back.record import record_of
from netkv.kits.write_back.removal import Removal
from netkv.kits.write_back.validity import Validity
from netkv.model.messages import CONTROLLER_SENDER, Datagram, Op, Status, encode
from netkv.model.topology import Topology
from netkv.schemes.distreach.chain_switch import ChainSwitch, Content
from netkv.schemes.distreach.incarnations import Incarnations
from netkv.schemes.distreach.options import DistReachOptions
from netkv.schemes.distreach.raising import Raising
from netkv.schemes.distreach.recovery import Recovery


class Chain:
    """One chain.

    Rules, in addition to those of the parts
    -----
    1. Keys are admitted and evicted only while all switches of the chain serve.
    2. Each change of one of its switches begins the recovery again.
    """

    def __init__(
        self,
        switches: Sequence[ChainSwitch],
        topology: Topology,
        options: DistReachOptions,
        parameters: WriteBackParameters,
        incarnations: Incarnations,
        next_number: Callable[[], int],
        counts: Counter[str],
    ) -> None:
        """`switches`: from the head to the tail. `topology`: of the tail. `next_number`: of table
        writes and reads."""
        self.switches = tuple(switches)
        self._incarnations = incarnations
        self._counts = counts
        numbers = MessageNumbers(parameters.numbers_per_second)
        self._outstanding = Outstanding(numbers, parameters.timeouts)
        self._context = context = Context(
            options,
            parameters,
            topology,
            CacheIndex(options.cache_entries),
            PendingRequests(self._outstanding, parameters.tries, counts),
            tuple(switch.access for switch in self.switches),
            numbers,
            counts,
            self._observe,
        )
        self._index, self._pending = context.index, context.pending
        self.pending_requests = dict.fromkeys(
            (switch.name for switch in self.switches), self._pending
        )
        """As in `ControlPlane`, and so `table_writes`."""
        self.table_writes = {switch.name: switch.access.writes for switch in self.switches}
        self._epochs = Epochs(options.epoch_ns)
        self._validity = Validity(context.pending)
        self._queue = AdmissionQueue(
            context, lambda key, cached: self.recovery.settled(key, cached=cached)
        )
        removal = Removal(context, self._validity)
        admission = Admission(context, self._validity, removal, self._queue)
        self._eviction = Eviction(context, self._validity, removal, admit=admission.begin)
        self._contention = Contention(context, self._eviction)
        self._queue.connect(admission, self._eviction, self._contention)
        self.recovery = Recovery(
            context,
            self.switches,
            incarnations,
            next_read=next_number,
            opened=self._opened,
            readmit=lambda key: self._queue.readmit(Candidate(key)),
        )
        self._raising = Raising(
            self.switches, self.recovery, incarnations, parameters.incarnation_length
        )
        self._begins_again = False

    # -------------------------------------------------------------------------- queries

    def ready(self) -> bool:
        """Whether the chain serves and every preloaded key is cached or given up."""
        return self.recovery.serving and not self._queue.unsettled_preloads

    def deadline(self) -> Nanoseconds | None:
        """When a message is to be sent or repeated, or a period ends."""
        return earliest(
            self._pending.deadline(),
            self.recovery.deadline(),
            self._epochs.ends,
            self._raising.deadline(),
        )

    def tolerates(self, switch: str, kept: Container[str]) -> bool:
        """Whether no acknowledged write is lost if a switch fails now. `kept`: switches that run
        and have not restarted since a controller handled them."""
        others = (it for it in self.switches if it.name != switch and it.name in kept)
        return not self.recovery.exposed or any(it.content is Content.RECORDS for it in others)

    def gauges(self) -> dict[str, int]:
        """The state of its cache."""
        return {
            "cached": self._index.cached,
            "in_flight": self._index.in_flight,
            "waiting": len(self._queue),
            "free_entries": self._index.free_entries,
            "messages_repeated": self._outstanding.retries + self.recovery.repeated,
            "recoveries": self.recovery.completed,
        }

    @property
    def cached_count(self) -> int:
        """Number of keys that all its switches have cached."""
        return self._index.cached if self.recovery.serving else 0

    def cached_keys(self) -> list[bytes]:
        """The keys that all its switches have cached, the oldest first."""
        if not self.recovery.serving:
            return []
        return self._index.cached_keys()

    def limit_in_flight(self, keys: int) -> None:
        """Admissions and evictions under way."""
        self._queue.max_in_flight = keys

    # -------------------------------------------------------------------------- events

    def started(self, now: Nanoseconds) -> None:
        """The controller starts."""
        self._outstanding.numbers.start(now)

    def changed(self, now: Nanoseconds) -> Iterator[Action]:
        """A switch of the chain has restarted, was lost, or was found: recover."""
        self._begins_again = False
        cached = self._index.cached_keys()
        self._queue.switch_restarted()
        for part in (self._pending, self._index, self._validity, self._eviction, self._contention):
            part.clear()
        for switch in self.switches:
            switch.access.writes.clear()
        self._epochs.pause()
        self._raising.pause()
        yield from self.recovery.begin(now, cached)

    def preload(self, keys: Iterable[bytes]) -> None:
        """Cache keys of the chain, in this order, as far as there is room."""
        self._queue.preload(keys)

    def report(self, keys: Iterable[bytes]) -> None:
        """Admit hot keys that an oracle knows; a chain that recovers drops them, as it rejects
        offers."""
        if self.recovery.serving:
            self._queue.report(keys)

    def on_written(
        self, now: Nanoseconds, switch: ChainSwitch, written: TableWritten
    ) -> Iterator[Action]:
        """A table write of one of its switches is answered."""
        yield from switch.on_written(now, written)

    def on_read(self, now: Nanoseconds, read: TableRead) -> Iterator[Action]:
        """A table of one of its switches was read."""
        yield from self.recovery.on_table_read(now, read)

    def on_loaded(self, now: Nanoseconds, loaded: Loaded) -> Iterator[Action]:
        """A LOAD is answered."""
        yield from self.recovery.on_loaded(now, loaded)

    def on_message(self, now: Nanoseconds, switch: str, datagram: Datagram) -> Iterator[Action]:
        """A frame of a switch or a server of the chain."""
        message = datagram.message
        if message.op is Op.OFFER:
            yield self._on_offer(switch, datagram)
        elif message.op is Op.FILL_REPLY and message.slot is not None and message.slot.number:
            yield from self.recovery.on_filled(now, switch, message)
        elif message.sender == CONTROLLER_SENDER:
            yield from self._pending.on_reply(now, message)

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Repeat or give up requests; begin the next epoch if it is due."""
        yield from self._pending.on_timer(now)
        yield from self.recovery.on_timer(now)
        ends = self._epochs.ends
        if ends is not None and now >= ends:
            self.switches[-1].set_epoch(self._epochs.begin(now))

    def pump(self, now: Nanoseconds) -> Iterator[Action]:
        """Begin the operations that are due and possible now, and send requests."""
        if self._begins_again:
            yield from self.changed(now)
        yield from self.recovery.pump(now)
        if self.recovery.serving:
            self._queue.start()
        yield from self._raising.pump(now)
        for switch in self.switches:
            yield from switch.pump()
        yield from self._pending.ready(now)

    # ----------------------------------------------------------------------- callbacks

    def _on_offer(self, switch: str, datagram: Datagram) -> Action:
        """A server offers a hot key: accept or reject the offer."""
        message = datagram.message
        self._counts["offers"] += 1
        record = record_of(message)
        if record is not None:
            self._observe(record.incarnation)
        status = Status.OK
        if record is None or not self._queue.offer(record, serving=self.recovery.serving):
            status = Status.REJECTED
            self._counts["offers_rejected"] += 1
        frame = encode(message.reply(status=status), destination=datagram.source)
        return SendFrame(frame, switch=switch)

    def _opened(self, now: Nanoseconds) -> Iterator[Action]:
        """The chain serves from now on."""
        self.switches[-1].set_epoch(self._epochs.begin(now))
        self._raising.begin(now)
        return iter(())

    def _observe(self, incarnation: int) -> bool:
        """A record of this incarnation exists. If it is above all that were given, the saved state
        was lost: the chain needs one above it."""
        later = self._incarnations.go_above(incarnation)
        if later:
            self._begins_again = True
        return later
