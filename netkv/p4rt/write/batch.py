"""Batches that are applied as a whole or not at all (section 12.2).

Before an update is applied, its inverse is derived from the current state: a deletion undoes an
insertion, an insertion of the deleted entity undoes a deletion. When an update fails, the inverses
of those before it are applied in reverse order. A restored entry has its counter and the
configuration of its meter, but its meter starts with full token buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from finsy.proto import p4r

from netkv.p4rt import read
from netkv.p4rt.arbitration import Role
from netkv.p4rt.errors import Code, RpcError
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.write.kinds import DELETE, INSERT, MODIFY
from netkv.p4rt.write.update import UNRESTRICTED, apply


def all_or_none(
    pipeline: Pipeline, updates: Sequence[p4r.Update], role: Role = UNRESTRICTED
) -> list[RpcError | None]:
    """Apply the updates in order; if one fails, undo those before it and apply none after it.

    Returns a result for each: all None, or the error of the one that failed, and ABORTED for the
    others.
    """
    undo: list[p4r.Update] = []
    for number, update in enumerate(updates):
        try:
            inverse = list(_inverse(pipeline, update))
            apply(pipeline, update, role)
        except RpcError as error:
            for each in reversed(undo):
                apply(pipeline, each)
            return _aborted(number, error, len(updates))
        undo += inverse
    return [None] * len(updates)


def _aborted(failed: int, error: RpcError, count: int) -> list[RpcError | None]:
    text = f"update {failed} of the batch failed, so that"
    undone = RpcError(Code.ABORTED, f"{text} this one was undone")
    left_out = RpcError(Code.ABORTED, f"{text} this one was not tried")
    return [*[undone] * failed, error, *[left_out] * (count - failed - 1)]


def _inverse(pipeline: Pipeline, update: p4r.Update) -> Iterable[p4r.Update]:
    """The updates that restore the current state after `update`."""
    if update.type == INSERT:
        yield p4r.Update(type=DELETE, entity=update.entity)
        return
    for entity in read.existing(pipeline, update.entity):
        entry = entity.table_entry
        if entity.HasField("table_entry") and update.type == MODIFY:
            if not update.entity.table_entry.HasField("counter_data"):
                # The update keeps the counter, which packets still increment.
                entry.ClearField("counter_data")
            if entry.is_const:
                entry.ClearField("action")
                entry.is_const = False
        yield p4r.Update(type=INSERT if update.type == DELETE else MODIFY, entity=entity)
