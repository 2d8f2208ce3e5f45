"""LOAD: reading the records of many entries (`netkv.control.bulk`)."""

from typing import NamedTuple

from netkv._engine import frame_op, read_frame, write_frame
from netkv.kits.write_back.record import KEPT, Record
from netkv.model.messages import CONTROLLER_SENDER, Op, Status


class Loaded(NamedTuple):
    """A reply to LOAD; `position`: index of its entry in the list of entries."""

    position: int
    ok: bool
    bits: int
    number: int
    generation: int
    record: Record


def write_load(position: int, key: bytes, entry: int, generation: int, number: int) -> bytes:
    """LOAD for the entry with this index in the list; `number`: of the snapshot, 0 for none."""
    return write_frame(
        Op.LOAD,
        key,
        position + 1,
        stamp=(0, 0, generation, 0),
        slot=(entry, number),
    )


def read_loaded(frame: bytes) -> Loaded | None:
    """Decode a reply to LOAD; None if the frame is anything else."""
    if frame_op(frame) is not Op.LOAD_REPLY:
        return None
    _, _, fields = read_frame(frame)
    _, key, request, sender, status, metadata, _, value, _, stamp, slot, _ = fields
    if sender != CONTROLLER_SENDER or metadata is not None or stamp is None or slot is None:
        return None
    incarnation, write_number, generation, bits = stamp
    record = Record(key, incarnation, write_number, bits & KEPT, value)
    return Loaded(request - 1, status is Status.OK, bits, slot[1], generation, record)
