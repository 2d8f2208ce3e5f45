"""The types of an update."""

from __future__ import annotations

from typing import TypeAlias

from finsy.proto import p4r

from netkv.p4rt.errors import invalid

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
UpdateType: TypeAlias = "p4r.Update.Type.ValueType"


def only_modify(kind: UpdateType, what: str) -> None:
    """Raises INVALID_ARGUMENT unless `kind` is MODIFY, for an object that always exists."""
    if kind != MODIFY:
        raise invalid(f"{what} exists from the start and cannot be inserted or deleted; use MODIFY")
