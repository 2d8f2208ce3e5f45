"""Host memory behind an AXI4 master, for benches: latency, random delays, and bad addresses.

Each function has its own address space, of pages that are mapped. An access to another page is
answered with an error. Every byte that is written must be allowed (`allow`): a write to memory that
no driver has offered fails the bench.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from streams import Bench, Pace

PAGE = 4096
WORD = 64
ERROR = 2  # SLVERR


@dataclass
class _Read:
    function: int
    id: int
    address: int
    beats: int
    ready_at: int
    data: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class _Write:
    function: int
    id: int
    address: int
    beats: int
    data: list[tuple[int, int]] = field(default_factory=list)
    ready_at: int = 0


class Memory:
    """The memory of functions, each with its own addresses: pages of bytes."""

    def __init__(self, functions: int = 1) -> None:
        self._pages: list[dict[int, bytearray]] = [{} for _ in range(functions)]
        self._allowed: list[dict[int, bytearray]] = [{} for _ in range(functions)]

    def map(self, function: int, address: int, length: int) -> None:
        for page in range(address // PAGE, (address + length - 1) // PAGE + 1):
            if page not in self._pages[function]:
                self._pages[function][page] = bytearray(PAGE)
                self._allowed[function][page] = bytearray(PAGE)

    def unmap(self, function: int, address: int) -> None:
        """Forgets the page of an address."""
        self._pages[function].pop(address // PAGE, None)
        self._allowed[function].pop(address // PAGE, None)

    def mapped(self, function: int, address: int) -> bool:
        return address // PAGE in self._pages[function]

    def read(self, function: int, address: int, length: int) -> bytes:
        found = bytearray()
        while length:
            at = address % PAGE
            count = min(length, PAGE - at)
            found += self._pages[function][address // PAGE][at : at + count]
            address, length = address + count, length - count
        return bytes(found)

    def write(self, function: int, address: int, data: bytes) -> None:
        done = 0
        while done < len(data):
            at = (address + done) % PAGE
            count = min(len(data) - done, PAGE - at)
            page = self._pages[function][(address + done) // PAGE]
            page[at : at + count] = data[done : done + count]
            done += count

    def read_int(self, function: int, address: int, length: int) -> int:
        return int.from_bytes(self.read(function, address, length), "little")

    def write_int(self, function: int, address: int, length: int, value: int) -> None:
        self.write(function, address, value.to_bytes(length, "little"))

    def allow(self, function: int, address: int, length: int, allowed: bool = True) -> None:
        """The device may write these bytes; pages that are not mapped are left out."""
        while length > 0:
            at = address % PAGE
            count = min(length, PAGE - at)
            page = self._allowed[function].get(address // PAGE)
            if page is not None:
                page[at : at + count] = bytes([allowed]) * count
            address, length = address + count, length - count

    def forbid_all(self, function: int) -> None:
        """The device may write nothing: what a driver expects after a reset."""
        for page in self._allowed[function]:
            self._allowed[function][page] = bytearray(PAGE)

    def load(self, function: int, address: int, beats: int) -> list[tuple[int, int]]:
        """Words of a burst, each with its response."""
        page = self._pages[function].get(address // PAGE)
        if page is None:
            return [(0x5EED << 300, ERROR)] * beats  # what comes with an error means nothing
        at = address % PAGE
        return [
            (int.from_bytes(page[at + i * WORD : at + (i + 1) * WORD], "little"), 0)
            for i in range(beats)
        ]

    def store(self, function: int, address: int, words: Sequence[tuple[int, int]]) -> int:
        """Writes the words of a burst, each with its byte enables; the response."""
        page = self._pages[function].get(address // PAGE)
        if page is None:
            return ERROR
        allowed = self._allowed[function][address // PAGE]
        for beat, (data, strobe) in enumerate(words):
            if not strobe:
                continue
            at = address % PAGE + beat * WORD
            low = (strobe & -strobe).bit_length() - 1
            count = strobe.bit_length() - low
            assert strobe >> low == (1 << count) - 1, f"byte enables {strobe:#x} have a gap"
            assert allowed[at + low : at + low + count] == b"\x01" * count, (
                f"function {function} writes {count} bytes at "
                f"{address + beat * WORD + low:#x}, which no driver has offered"
            )
            page[at + low : at + low + count] = data.to_bytes(WORD, "little")[low : low + count]
        return 0


class _Absent:
    """A signal that the master does not have."""

    @property
    def value(self) -> int:
        return 0

    @value.setter
    def value(self, value: int) -> None:
        pass


_ABSENT = _Absent()


class HostMemory(Memory):
    """Answers bursts in the order of their requests; writes become visible with their response.

    Args:
        bench: what moves it.
        prefix: of the names of the signals.
        functions: address spaces; with more than one, the user signals choose.
        pace: the probability of each handshake in a cycle; None: random phases.
        read_cycles: from the request to its first word.
        write_cycles: from the last word to its response.
        early: words are read when they are requested, not when they are delivered.
        user: the master has user signals.
        partial: the master has some of the signals only.
    """

    def __init__(
        self,
        bench: Bench,
        prefix: str = "m_axi",
        *,
        functions: int = 1,
        pace: float | None = None,
        read_cycles: int = 10,
        write_cycles: int = 10,
        early: bool = False,
        user: bool = False,
        partial: bool = False,
    ) -> None:
        super().__init__(functions)
        self._bench = bench

        def signal(name: str) -> Any:
            if partial:
                return getattr(bench.dut, f"{prefix}_{name}", _ABSENT)
            return getattr(bench.dut, f"{prefix}_{name}")

        self._aw = {name: signal(f"aw{name}") for name in ("id", "addr", "len", "size", "burst")}
        self._ar = {name: signal(f"ar{name}") for name in ("id", "addr", "len", "size", "burst")}
        self._awuser: Any
        self._aruser: Any
        self._awuser, self._aruser = (signal("awuser"), signal("aruser")) if user else (None, None)
        self._awvalid, self._awready = signal("awvalid"), signal("awready")
        self._arvalid, self._arready = signal("arvalid"), signal("arready")
        self._wvalid, self._wready = signal("wvalid"), signal("wready")
        self._wdata, self._wstrb, self._wlast = signal("wdata"), signal("wstrb"), signal("wlast")
        self._bid, self._bresp = signal("bid"), signal("bresp")
        self._bvalid, self._bready = signal("bvalid"), signal("bready")
        self._rid, self._rdata, self._rresp = signal("rid"), signal("rdata"), signal("rresp")
        self._rlast, self._rvalid, self._rready = (
            signal("rlast"),
            signal("rvalid"),
            signal("rready"),
        )
        self.read_cycles, self.write_cycles, self.early = read_cycles, write_cycles, early
        self._paces = {name: Pace(bench.rng, pace) for name in ("aw", "w", "b", "ar", "r")}
        self.read_words = [0] * functions
        self.written_words = [0] * functions
        self.bursts = 0
        self.errors = 0
        self.reset()
        bench.drivers.append(self)

    @property
    def idle(self) -> bool:
        return not (self._reads or self._addresses or self._data or self._writes)

    # The slave.

    def reset(self) -> None:
        self._reads: deque[_Read] = deque()
        self._addresses: deque[_Write] = deque()  # words are still to come
        self._data: deque[tuple[int, int, int]] = deque()  # words before their address
        self._writes: deque[_Write] = deque()  # whole, not visible
        for each in (self._awready, self._arready, self._wready, self._bvalid, self._rvalid):
            each.value = 0
        self._ready = {"aw": 0, "w": 0, "ar": 0}
        self._r_offered = self._b_offered = False
        self._beat = 0
        self._held: dict[str, tuple[int, ...]] = {}

    def drive(self) -> None:
        cycle = self._bench.cycle
        for name, handle in (("aw", self._awready), ("w", self._wready), ("ar", self._arready)):
            value = int(self._paces[name].active())
            if value != self._ready[name]:
                self._ready[name] = value
                handle.value = value
        if not self._r_offered:
            offers = (
                bool(self._reads) and self._reads[0].ready_at <= cycle and self._paces["r"].active()
            )
            if offers:
                first = self._reads[0]
                if not first.data:
                    self._load(first)
                data, response = first.data[self._beat]
                self._rdata.value = data
                self._rresp.value = response
                self._rid.value = first.id
                self._rlast.value = int(self._beat == first.beats - 1)
            if offers or self._r_was:
                self._rvalid.value = int(offers)
            self._r_offered = self._r_was = offers
        if not self._b_offered:
            offers = (
                bool(self._writes)
                and self._writes[0].ready_at <= cycle
                and self._paces["b"].active()
            )
            if offers:
                first_write = self._writes[0]
                response = self.store(first_write.function, first_write.address, first_write.data)
                self.errors += bool(response)
                self._bresp.value = response
                self._bid.value = first_write.id
            if offers or self._b_was:
                self._bvalid.value = int(offers)
            self._b_offered = self._b_was = offers

    _r_was = False
    _b_was = False

    def sample(self) -> None:
        if int(self._arvalid.value):
            self._stable("ar", self._ar)
            if self._ready["ar"]:
                self._held.pop("ar", None)
                address, beats = self._burst(self._ar)
                read = _Read(
                    int(self._aruser.value) if self._aruser is not None else 0,
                    int(self._ar["id"].value),
                    address,
                    beats,
                    self._bench.cycle + self.read_cycles,
                )
                if self.early:
                    self._load(read)
                self._reads.append(read)
        else:
            assert "ar" not in self._held, "arvalid fell before arready"
        if int(self._awvalid.value):
            self._stable("aw", self._aw)
            if self._ready["aw"]:
                self._held.pop("aw", None)
                address, beats = self._burst(self._aw)
                self._addresses.append(
                    _Write(
                        int(self._awuser.value) if self._awuser is not None else 0,
                        int(self._aw["id"].value),
                        address,
                        beats,
                    )
                )
        else:
            assert "aw" not in self._held, "awvalid fell before awready"
        if int(self._wvalid.value):
            word = (int(self._wdata.value), int(self._wstrb.value), int(self._wlast.value))
            assert self._held.get("w", word) == word, "a waiting word of a write changed"
            self._held["w"] = word
            if self._ready["w"]:
                self._held.pop("w")
                self._data.append(word)
        else:
            assert "w" not in self._held, "wvalid fell before wready"
        self._match()
        if self._r_offered and int(self._rready.value):
            self._r_offered = False
            self.read_words[self._reads[0].function] += 1
            self._beat += 1
            if self._beat == self._reads[0].beats:
                self._reads.popleft()
                self._beat = 0
        if self._b_offered and int(self._bready.value):
            self._b_offered = False
            done = self._writes.popleft()
            self.written_words[done.function] += done.beats

    def _stable(self, name: str, handles: dict[str, Any]) -> None:
        now = tuple(int(each.value) for each in handles.values())
        assert self._held.get(name, now) == now, f"a waiting request changed: {name}"
        self._held[name] = now

    def _burst(self, handles: dict[str, Any]) -> tuple[int, int]:
        address, beats = int(handles["addr"].value), int(handles["len"].value) + 1
        assert int(handles["size"].value) == 6
        assert int(handles["burst"].value) == 1
        assert address % WORD == 0, f"{address:#x} is not the address of a word"
        last = address + beats * WORD - 1
        assert address // PAGE == last // PAGE, f"{beats} words at {address:#x} cross 4 KiB"
        self.bursts += 1
        return address, beats

    def _match(self) -> None:
        """Words find the bursts that they belong to."""
        while self._addresses and self._data:
            burst = self._addresses[0]
            data, strobe, last = self._data.popleft()
            burst.data.append((data, strobe))
            assert bool(last) == (len(burst.data) == burst.beats), "wlast at a wrong word"
            if last:
                self._addresses.popleft()
                burst.ready_at = self._bench.cycle + self.write_cycles
                self._writes.append(burst)

    def _load(self, read: _Read) -> None:
        read.data = self.load(read.function, read.address, read.beats)
        self.errors += any(response for _, response in read.data)


class Readers:
    """Answers readers inside a function: requests with `valid` and `ready`, one bus of responses.

    Args:
        bench: what moves it.
        memory: what is read.
        readers: names of the signals of each reader: prefix of the request, and the response.
        last: the bus has `response_last`, and requests have `beats`.
        cycles: at least, from a request to its response.
        pace: the probability of each handshake in a cycle; None: random phases.
    """

    def __init__(
        self,
        bench: Bench,
        memory: Memory,
        readers: Sequence[tuple[str, str]],
        *,
        last: bool = False,
        cycles: int = 5,
        pace: float | None = None,
    ) -> None:
        dut = bench.dut
        self._bench, self._memory, self.cycles = bench, memory, cycles
        self._requests = [
            tuple(getattr(dut, f"{prefix}_{name}") for name in ("valid", "ready", "address"))
            for prefix, _ in readers
        ]
        self._beats = getattr(dut, f"{readers[0][0]}_beats") if last else None
        self._responses = [getattr(dut, response) for _, response in readers]
        self._data, self._error = dut.response_data, dut.response_error
        self._last = dut.response_last if last else None
        self._paces = [Pace(bench.rng, pace) for _ in range(len(readers) + 1)]
        self.count = 0
        self.reset()
        bench.drivers.append(self)

    def reset(self) -> None:
        # Reader, cycle, words that are left.
        self._open: deque[tuple[int, int, list[tuple[int, int]]]] = deque()
        self._accepts = [False] * len(self._requests)
        for _, ready, _ in self._requests:
            ready.value = 0
        for response in self._responses:
            response.value = 0

    @property
    def idle(self) -> bool:
        return not self._open

    def drive(self) -> None:
        for number, (_, ready, _) in enumerate(self._requests):
            self._accepts[number] = self._paces[number].active()
            ready.value = int(self._accepts[number])
        responds = None
        if self._open and self._open[0][1] <= self._bench.cycle and self._paces[-1].active():
            responds, _, words = self._open[0]
            data, error = words.pop(0)
            self._data.value = data
            self._error.value = int(error != 0)
            if self._last is not None:
                self._last.value = int(not words)
            if not words:
                self._open.popleft()
        for number, response in enumerate(self._responses):
            response.value = int(number == responds)

    def sample(self) -> None:
        for number, (valid, _, address) in enumerate(self._requests):
            if self._accepts[number] and int(valid.value):
                self.count += 1
                place = int(address.value)
                beats = 1 if self._beats is None else int(self._beats.value) + 1
                assert place // PAGE == (place // WORD * WORD + beats * WORD - 1) // PAGE
                words = self._memory.load(0, place // WORD * WORD, beats)
                self._open.append((number, self._bench.cycle + self.cycles, words))
