"""The tables of the run store.

Latencies are microseconds and rates operations per second, as in `netkv.scenarios.results`; wall
clock times are seconds since the epoch, times in series seconds since the measured part began.
`doc` of a column is its meaning in docs/use/run-store-tables.md (`make docs`). A new metric needs
no column: `runs.figures` and `samples.metrics` contain metrics by name.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, Integer, delete, select, text
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    MappedColumn,
    Session,
    mapped_column,
    relationship,
)

from netkv.runs.stored_values import CleanText
from netkv.schemes import metric_table

VERSION = 8
"""Version of these tables (`netkv.runs.migrations`). A store of another version is refused."""
OLDEST = 7
"""The oldest version that can be upgraded."""
COLUMNS = (
    "throughput_ops",
    "hit_ratio",
    "lost_ops",
    "retries",
    "stale_reads",
    "cached",
    "control_plane_bytes_per_s",
)
"""Metrics that have a column of `samples`; all others are in `samples.metrics`."""


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        # All integers of SQLite have 64 bits, and only an INTEGER is a key that numbers rows.
        int: BigInteger().with_variant(Integer(), "sqlite"),
        str: CleanText(),
        dict[str, Any]: JSON,
        dict[str, float]: JSON,
        list[float]: JSON,
        list[float | None]: JSON,
        list[str]: JSON,
        list[dict[str, Any]]: JSON,
    }


def _metric(name: str) -> MappedColumn[Any]:
    return mapped_column(doc=metric_table.get(name).meaning)


class StoreInfo(Base):
    """One row: the version of the tables of this store."""

    __tablename__ = "store_info"
    id: Mapped[int] = mapped_column(primary_key=True, doc="Always 1.")
    version: Mapped[int] = mapped_column(doc="Version of the tables.")


class GroupRow(Base):
    """One `netkv scenario run` (group): the process that writes its runs, and the verdicts."""

    __tablename__ = "groups"
    id: Mapped[str] = mapped_column(
        primary_key=True, doc="Id of the group: `g` and ten hexadecimal digits."
    )
    created_at: Mapped[float] = mapped_column(
        index=True, doc="Start of its first run, in seconds since the epoch."
    )
    command: Mapped[list[str]] = mapped_column(doc="The command line, as a list of words.")
    owner_host: Mapped[str] = mapped_column(doc="Name of the machine of the writing process.")
    owner_boot: Mapped[str] = mapped_column(doc="Id of the boot of that machine.")
    owner_pid: Mapped[int] = mapped_column(doc="Pid of the writing process.")
    owner_started: Mapped[int] = mapped_column(
        doc="Start of that process, in clock ticks after the boot. It distinguishes the process "
        "from later ones with the same pid."
    )
    plan: Mapped[list[dict[str, Any]]] = mapped_column(
        default=list,
        doc="The planned runs in order: `scheme`, `params` and `repeat` of each; empty if unknown.",
    )
    progress: Mapped[dict[str, Any] | None] = mapped_column(
        JSON(none_as_null=True),
        doc="How far the group is: `done` and `total` runs, the completed `fraction` of the "
        "expected work, `left_seconds`, `phase`, `runs` in progress (`index` in the plan, "
        "`scheme`, `phase`, `fraction` of the phase, `share` of the run, `left_seconds`, "
        "`recovering` switches), `rate` (runs per second), `failed` runs and their "
        "`failures`, `workers` and a `link` to a page about them, and `updated_at` in seconds "
        "since the epoch.",
    )
    last_change: Mapped[str] = mapped_column(
        default="",
        server_default=text("''"),
        doc="The last change of the writing process that is stored: a name that is drawn for the "
        "process, and a number. It shows whether a commit took effect whose answer was lost.",
    )
    seen_at: Mapped[float | None] = mapped_column(
        doc="Last sign of life of the writing process, in seconds since the epoch by the clock of "
        "the database; NULL in a file, whose processes are those of this machine."
    )

    runs: Mapped[list[RunRow]] = relationship(
        back_populates="group",
        cascade="all, delete-orphan",
        passive_deletes=True,
        order_by=lambda: [RunRow.started_at, RunRow.id],
    )
    verdicts: Mapped[list[VerdictRow]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True, order_by=lambda: VerdictRow.id
    )


class RunRow(Base):
    """One run of a scheme: its parameters and, after its end, its figures."""

    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(
        primary_key=True,
        doc="Id of the run. Live: date, time, scheme, random digits. Simulated: `sim-`, scenario, "
        "scheme, digits of a hash of everything that determines the result.",
    )
    group_id: Mapped[str] = mapped_column(
        ForeignKey("groups.id", ondelete="CASCADE"), index=True, doc="Id of its group."
    )
    scenario: Mapped[str] = mapped_column(index=True, doc="Name of the scenario.")
    title: Mapped[str] = mapped_column(doc="Title of the scenario.")
    scheme: Mapped[str] = mapped_column(doc="Name of the scheme.")
    params: Mapped[dict[str, Any]] = mapped_column(
        doc="Point of the sweep: path and value of each swept option; empty without a sweep."
    )
    repeat: Mapped[int] = mapped_column(doc="Number of the repeat, from 0.")
    seed: Mapped[int] = mapped_column(doc="Seed of all random draws.")
    mode: Mapped[str] = mapped_column(doc="`live` or `sim`.")
    target: Mapped[str] = mapped_column(
        doc="The option `lab.target`: `engine`, `bmv2` or `p4runtime://HOST:PORT`."
    )
    started_at: Mapped[float] = mapped_column(
        index=True, doc="Start of the run, in seconds since the epoch."
    )
    finished_at: Mapped[float | None] = mapped_column(
        doc="End of the run, in seconds since the epoch; NULL while it runs."
    )
    duration: Mapped[float] = mapped_column(doc="Length of the measured part in seconds.")
    warmup: Mapped[float] = mapped_column(doc="Length of the warm-up in seconds.")
    parameters: Mapped[dict[str, Any]] = mapped_column(
        doc="All options of the scenario in this run, defaults included."
    )
    provenance: Mapped[dict[str, Any]] = mapped_column(
        doc="Version of netkv, commit of the source, P4 program, machine."
    )
    program_hash: Mapped[str] = mapped_column(index=True, doc="Hash of the compiled P4 program.")
    status: Mapped[str] = mapped_column(
        index=True, doc="`running`, `done`, `failed`, or `cancelled` by the user."
    )
    reason: Mapped[str | None] = mapped_column(
        doc="Reason of a failure or cancellation, as a sentence."
    )
    figures: Mapped[dict[str, Any]] = mapped_column(
        default=dict,
        doc="Metrics and other figures, named as in `netkv runs show --json`; empty until the run "
        "has ended. `json_extract(figures, '$.NAME')` of SQLite and "
        "`figures ->> 'NAME'` of PostgreSQL read one of them.",
    )
    latency_histogram: Mapped[str] = mapped_column(
        default="",
        doc="Latencies of the measured part in nanoseconds: HDR histogram (V2, deflated, base64).",
    )
    tags: Mapped[list[str]] = mapped_column(default=list, doc="Tags that the user gave it.")
    note: Mapped[str] = mapped_column(default="", doc="Note of the user; empty without one.")
    pinned: Mapped[bool] = mapped_column(
        default=False, doc="Whether the user pinned it; a pinned run cannot be deleted."
    )
    peak_memory: Mapped[int | None] = mapped_column(
        doc="The most memory of the process that executed it, in bytes; NULL if it is not known: a "
        "live run, or one that no process of its own has executed.",
    )

    group: Mapped[GroupRow] = relationship(back_populates="runs")
    samples: Mapped[list[SampleRow]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True, order_by=lambda: SampleRow.id
    )
    events: Mapped[list[EventRow]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True, order_by=lambda: EventRow.id
    )


class SampleRow(Base):
    """One interval of a run, normally a second."""

    __tablename__ = "samples"
    id: Mapped[int] = mapped_column(
        primary_key=True,
        autoincrement=True,
        doc="Increases in the order of writing, over all runs.",
    )
    run_id: Mapped[str] = mapped_column(
        ForeignKey("runs.id", ondelete="CASCADE"), doc="Id of its run."
    )
    time: Mapped[float] = mapped_column(
        doc="End of the interval, in seconds since the measured part began."
    )
    phase: Mapped[str] = mapped_column(doc="`warmup`, `measure`, `drain` or `verify`.")
    interval: Mapped[float] = mapped_column(doc="Length of the interval in seconds.")
    latency_us: Mapped[dict[str, Any]] = mapped_column(
        doc="Mean and percentiles in microseconds: `mean`, `p50`, `p95`, `p99`, `p999`."
    )
    server_load: Mapped[list[float | None]] = mapped_column(
        doc="Operations per second that each server completed; null: it has not answered."
    )
    control_plane_mib_per_s_by_switch: Mapped[dict[str, float]] = mapped_column(
        doc="MiB per second between each switch and its controller, by the name of the switch."
    )
    throughput_ops: Mapped[float] = _metric("throughput_ops")
    hit_ratio: Mapped[float | None] = _metric("hit_ratio")
    lost_ops: Mapped[int] = _metric("lost_ops")
    retries: Mapped[int] = _metric("retries")
    stale_reads: Mapped[int] = _metric("stale_reads")
    cached: Mapped[int] = _metric("cached")
    control_plane_bytes_per_s: Mapped[float] = _metric("control_plane_bytes_per_s")
    metrics: Mapped[dict[str, Any]] = mapped_column(
        doc="All other metrics of the interval, by name. `json_extract(metrics, '$.NAME')` of "
        "SQLite and `metrics ->> 'NAME'` of PostgreSQL read one of them."
    )

    __table_args__ = (Index("samples_of_run", "run_id", "id"), {"sqlite_autoincrement": True})


class EventRow(Base):
    """One event of a run."""

    __tablename__ = "events"
    id: Mapped[int] = mapped_column(
        primary_key=True,
        autoincrement=True,
        doc="Increases in the order of writing, over all runs.",
    )
    run_id: Mapped[str] = mapped_column(
        ForeignKey("runs.id", ondelete="CASCADE"), doc="Id of its run."
    )
    time: Mapped[float] = mapped_column(
        doc="Seconds since the measured part began; negative before."
    )
    kind: Mapped[str] = mapped_column(doc="Kind of the event, one word.")
    node: Mapped[str] = mapped_column(doc="Name of the node or cable, or `rack`.")
    text: Mapped[str] = mapped_column(doc="Description for users.")
    recovery: Mapped[dict[str, Any] | None] = mapped_column(
        JSON(none_as_null=True),
        doc="Details of an event `recovered`: `phases` (name and seconds) and `counts`.",
    )
    change: Mapped[dict[str, Any] | None] = mapped_column(
        JSON(none_as_null=True),
        doc="Details of an event `fault`, `healed` or `load`: `cause` (`scenario`, `user` or "
        "`duration`), `action` (as in a scenario), `what` (a description), and the numbers of the "
        "faults that it `begins` (NULL: none) and `ends` (a list).",
    )

    __table_args__ = (Index("events_of_run", "run_id", "id"), {"sqlite_autoincrement": True})


class VerdictRow(Base):
    """The verdict on one `expect` line."""

    __tablename__ = "verdicts"
    id: Mapped[int] = mapped_column(
        primary_key=True,
        autoincrement=True,
        doc="Increases in the order of writing, over all groups.",
    )
    group_id: Mapped[str] = mapped_column(
        ForeignKey("groups.id", ondelete="CASCADE"), index=True, doc="Id of the group."
    )
    expr: Mapped[str] = mapped_column(doc="The line of `expect`.")
    ok: Mapped[bool] = mapped_column(doc="Whether it holds.")
    value: Mapped[float | None] = mapped_column(doc="Value of its left side; NULL if unknown.")
    detail: Mapped[str] = mapped_column(
        doc="The compared values, or the reason why there are none."
    )


def delete_if_empty(session: Session, group: str) -> None:
    """Deletes a group that has no run any more."""
    if session.scalar(select(RunRow.id).where(RunRow.group_id == group).limit(1)) is None:
        session.execute(delete(GroupRow).where(GroupRow.id == group))
