"""The expected content of a snapshot: the records of all valid entries at its point."""

from netkv.control.base import TableWrite
from netkv.kits.write_back.record import Record
from netkv.model.messages import Bit, Stamp
from netkv.schemes.farreach.checkpoint_format import State, from_bytes
from tests.schemes.farreach.farreach_rack import Rack

Expected = dict[bytes, tuple[int, int, bool, bytes]]


def fields_of(record: Record) -> tuple[int, int, bool, bytes]:
    return (record.incarnation, record.number, bool(record.bits & Bit.DELETED), record.value)


class SnapshotChecker:
    """Records the state of the switch at every snapshot point of a rack, by number."""

    def __init__(self, rack: Rack) -> None:
        self.switch = rack.switch
        self.rack = rack
        self.points: dict[int, Expected] = {}
        carry_out = rack.switch.write

        def carried_out(write: TableWrite, pipeline: int) -> str:
            error = carry_out(write, pipeline)
            action, number = self.switch.snapshot_rows(0).get(0, ("", 0))
            if action == "taking" and number not in self.points:
                self.points[number] = self._now()
            return error

        rack.switch.write = carried_out  # type: ignore[method-assign]

    def _now(self) -> Expected:
        expected: Expected = {}
        for key, record in self.switch.records().items():
            stamp = record.stamp or Stamp()
            deleted = bool(stamp.bits & Bit.DELETED)
            expected[key] = (stamp.incarnation, stamp.number, deleted, record.value)
        return expected

    def check(self) -> State:
        """Check that the saved snapshot equals the state at its point; return the saved state."""
        assert self.rack.disk is not None
        state = from_bytes(self.rack.disk)
        if state.snapshot:
            assert {each.key: fields_of(each) for each in state.records} == self.points[
                state.snapshot
            ]
        return state
