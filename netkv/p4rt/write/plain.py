"""Plain updates, which the engine reads and carries out without protobuf (engine/python).

An update is plain if it writes an entry of a table with exact matches only, with an action and
without direct resources, priority or timeout. A request of plain updates alone is never turned into
messages. If the engine cannot carry one of them out, `apply` gets it, and explains the fault.
"""

from __future__ import annotations

from dataclasses import dataclass

from finsy.proto import p4i, p4r

from netkv import _engine
from netkv.p4rt.arbitration import Role
from netkv.p4rt.errors import RpcError
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.replicas import refused_late
from netkv.p4rt.schema import Table


@dataclass(frozen=True)
class Request:
    """A WriteRequest."""

    header: p4r.WriteRequest
    """Its fields; the updates only if they are not `plain`."""
    plain: _engine.PlainUpdates | None

    @classmethod
    def read(cls, data: bytes) -> Request:
        """Reads a serialized request; raises `DecodeError`."""
        plain = _engine.PlainUpdates.read(data)
        header = p4r.WriteRequest.FromString(data if plain is None else plain.header)
        return cls(header, plain)

    def __len__(self) -> int:
        return len(self.header.updates if self.plain is None else self.plain)

    def update(self, index: int) -> p4r.Update:
        """An update as a message."""
        if self.plain is None:
            return self.header.updates[index]
        return p4r.Update.FromString(self.plain[index])

    def updates(self) -> list[p4r.Update]:
        """All updates as messages."""
        return [self.update(index) for index in range(len(self))]


class PlainWriter:
    """Carries plain updates out for a role."""

    def __init__(self, pipeline: Pipeline, role: Role) -> None:
        self._switch = pipeline.switch
        self._tables: dict[int, list[int]] = {}
        """The tables whose entries can be plain, and the actions of these entries."""
        if not pipeline.form.differs:
            self._tables = {
                table.id: [
                    number
                    for number, scope in table.actions.items()
                    if scope != p4i.ActionRef.DEFAULT_ONLY
                ]
                for table in pipeline.schema.tables
                if _is_plain(table) and (role.config is None or role.may_access(table.id))
            }

    def write(
        self, updates: _engine.PlainUpdates, first: int, last: int, results: list[RpcError | None]
    ) -> int:
        """Carry the updates from `first` until before `last` out, and set their results, up to the
        first one that the engine refuses. That one has changed nothing; returns its index, or
        `last`."""
        while first < last:
            done, late = self._switch.write_plain(updates, first, last, self._tables)
            first += done
            if late is None:
                break
            results[first] = refused_late(*late)
            first += 1
        return first


def _is_plain(table: Table) -> bool:
    return (
        not table.constant
        and not table.profile
        and table.direct_meter is None
        and all(key.kind == "exact" for key in table.keys)
    )
