"""Writes that pass the switch before it fails, and reach their server after its recovery."""

from __future__ import annotations

from netkv.control.base import MILLISECOND, Preload
from netkv.model.messages import Op
from netkv.schemes.farreach.control_plane import FarReach
from tests.schemes.farreach.farreach_rack import Rack
from tests.schemes.farreach.farreach_traps import KEY, crash, make_rack, read
from tests.schemes.scripted_rack import Hop


def late_write(rack: Rack) -> Hop:
    """Client 1 writes the key, which is not cached; the frame is held before its server, and the
    client's copies of it are lost until then."""
    held = rack.catch(lambda hop: hop.op is Op.PUT and hop.to.startswith("server"))
    rack.processes[1].begin(Op.PUT, KEY, b"late")
    rack.run(2 * MILLISECOND)
    rack.catches = lambda _: False
    rack.lost = lambda hop: hop.sender == 1 and hop.op is Op.PUT
    (write,) = held
    return write


def cache(rack: Rack) -> None:
    """The key is cached, and its record is the latest."""
    rack.handle(Preload((KEY,)))
    rack.run_until(lambda: KEY in rack.control.cached_keys())
    rack.run(20 * MILLISECOND)
    read(rack, 2)
    reply = rack.run_operation(2, Op.GET, KEY).reply
    assert reply is not None
    assert reply.cache_hit


def value_after(rack: Rack, write: Hop) -> bytes | str | None:
    """The key is cached and read, and then its server gets the write: what both clients read."""
    cache(rack)
    rack.lost = lambda _: False
    rack.deliver(write)
    rack.run(20 * MILLISECOND)
    one, other = (read(rack, client) for client in (1, 2))
    assert one == other
    assert rack.checker.violations == []
    return one


def test_late_write_of_an_earlier_incarnation_is_read() -> None:
    """The key was written before, so its record has a sequence of that incarnation, too."""
    rack = make_rack(FarReach).start()
    rack.put(2, KEY, b"before")
    write = late_write(rack)
    crash(rack)
    assert value_after(rack, write) == b"late"


def test_late_write_of_a_later_incarnation_than_the_record_is_read() -> None:
    """The numbers of the record and of the write are the same."""
    rack = make_rack(FarReach).start()
    rack.put(2, KEY, b"before")
    crash(rack)
    write = late_write(rack)
    crash(rack)
    assert value_after(rack, write) == b"late"


def test_late_write_of_two_incarnations_before_is_older() -> None:
    """A write of the incarnation between them has reached the server first."""
    rack = make_rack(FarReach).start()
    write = late_write(rack)
    crash(rack)
    rack.put(2, KEY, b"between")
    crash(rack)
    assert value_after(rack, write) == b"between"
