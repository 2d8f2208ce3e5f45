"""Upgrades of the tables of an older store, version by version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict

from sqlalchemy import (
    Connection,
    RowMapping,
    bindparam,
    column,
    inspect,
    select,
    table,
    text,
    update,
)

from netkv.metrics.common import MIB
from netkv.runs.schema import Base
from netkv.scenarios.results import CANCELLED

_BATCH = 1000
"""Rows in memory at a time."""
_INTERRUPTED = ("Interrupted by the user.", "It was interrupted.")
"""Reasons of runs that netkv marked as failed up to version 5 when the user stopped them."""

_SAMPLES = Base.metadata.tables["samples"]
_RUNS = Base.metadata.tables["runs"]
_EVENTS = Base.metadata.tables["events"]


def _statements(*statements: str) -> Callable[[Connection], None]:
    def execute(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement))

    return execute


def _columns_into_metrics(connection: Connection) -> None:
    """Moves metrics of single schemes from their columns into `samples.metrics`."""
    connection.execute(text("ALTER TABLE samples ADD COLUMN metrics JSON NOT NULL DEFAULT '{}'"))
    present = [each["name"] for each in inspect(connection).get_columns("samples")]
    moved = [name for name in present if name not in _SAMPLES.columns]
    for rows in _batches(connection, [*moved, "control_plane_bytes_per_s"]):
        changed = [
            {
                "row": row["id"],
                "values": {
                    **{name: row[name] for name in moved},
                    "control_plane_mib_per_s": row["control_plane_bytes_per_s"] / MIB,
                },
            }
            for row in rows
        ]
        statement = update(_SAMPLES).where(_SAMPLES.c.id == bindparam("row"))
        connection.execute(statement.values(metrics=bindparam("values")), changed)
    for name in moved:
        connection.execute(text(f"ALTER TABLE samples DROP COLUMN {name}"))
    _complete_figures(connection)


def _batches(connection: Connection, names: list[str]) -> Iterator[list[RowMapping]]:
    samples = table("samples", column("id"), *map(column, names))
    last = 0
    while True:
        query = select(samples).where(samples.c.id > last).order_by(samples.c.id).limit(_BATCH)
        rows = list(connection.execute(query).mappings())
        if not rows:
            return
        last = rows[-1]["id"]
        yield rows


def _complete_figures(connection: Connection) -> None:
    """Adds the bandwidth in MiB/s to runs of version 1 and interrupted runs, which have bytes/s."""
    for run_id, figures in connection.execute(select(_RUNS.c.id, _RUNS.c.figures)).all():
        if figures and "control_plane_mib_per_s" not in figures:
            rate = figures.get("control_plane_bytes_per_s", 0.0) / MIB
            connection.execute(
                update(_RUNS)
                .where(_RUNS.c.id == run_id)
                .values(figures={**figures, "control_plane_mib_per_s": rate})
            )


def _rename_guests(connection: Connection) -> None:
    """Renames the option `lab.guests` to `lab.external_clients`."""
    for run_id, parameters in connection.execute(select(_RUNS.c.id, _RUNS.c.parameters)).all():
        lab = dict(parameters.get("lab", {}))
        if "guests" in lab:
            lab["external_clients"] = lab.pop("guests")
            connection.execute(
                update(_RUNS)
                .where(_RUNS.c.id == run_id)
                .values(parameters={**parameters, "lab": lab})
            )


def _add_what_users_say(connection: Connection) -> None:
    """Adds tags, notes, pins, plans and progress; separates cancelled from failed runs."""
    # `false` is a keyword of SQLite since 3.23 and of PostgreSQL, whose BOOLEAN takes no number.
    _statements(
        "ALTER TABLE runs ADD COLUMN tags JSON NOT NULL DEFAULT '[]'",
        "ALTER TABLE runs ADD COLUMN note VARCHAR NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN pinned BOOLEAN NOT NULL DEFAULT false",
        "ALTER TABLE groups ADD COLUMN plan JSON NOT NULL DEFAULT '[]'",
        "ALTER TABLE groups ADD COLUMN progress JSON",
    )(connection)
    connection.execute(
        update(_RUNS)
        .where(_RUNS.c.status == "failed", _RUNS.c.reason.in_(_INTERRUPTED))
        .values(status="cancelled", reason=CANCELLED)
    )


def _add_changes(connection: Connection) -> None:
    """Adds to events what they have changed, which only their texts had."""
    from netkv.runs.old_changes import OldChanges  # most stores need no upgrade

    connection.execute(text("ALTER TABLE events ADD COLUMN change JSON"))
    changes: dict[str, OldChanges] = {}
    notes = (
        select(_EVENTS.c.id, _EVENTS.c.run_id, _EVENTS.c.text)
        .where(_EVENTS.c.kind == "note")
        .order_by(_EVENTS.c.id)
    )
    for number, run_id, words in connection.execute(notes).all():
        found = changes.setdefault(run_id, OldChanges()).read(words)
        if found is not None:
            connection.execute(
                update(_EVENTS).where(_EVENTS.c.id == number).values(change=asdict(found))
            )


UPGRADES: dict[int, Callable[[Connection], None]] = {
    # Control-plane bandwidth of each switch, and the phases of recoveries.
    2: _statements(
        "ALTER TABLE samples ADD COLUMN control_plane_mib_per_s_by_switch "
        "JSON NOT NULL DEFAULT '{}'",
        "ALTER TABLE events ADD COLUMN recovery JSON",
    ),
    # Version 3 added columns that version 4 removed; upgrades need not create them.
    3: _statements(),
    4: _columns_into_metrics,
    5: _rename_guests,
    6: _add_what_users_say,
    7: _add_changes,
}
"""Version → upgrade from the previous version to this one."""
