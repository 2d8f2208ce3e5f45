"""The tables of the run store.

Latencies are microseconds and rates operations per second, as in `netkv.scenarios.results`; wall
clock times are seconds since the epoch, times in series seconds since the measured part began.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

VERSION = 3
"""Of the tables below. A store of a newer version is refused, one of an older version is brought up
to it (`UPGRADES`), see `netkv.runs.database`."""
UPGRADES: dict[int, tuple[str, ...]] = {
    # Control-plane bandwidth of each switch, and the phases of recoveries.
    2: (
        "ALTER TABLE samples ADD COLUMN control_plane_mib_per_s_by_switch "
        "JSON NOT NULL DEFAULT '{}'",
        "ALTER TABLE events ADD COLUMN recovery JSON",
    ),
    # What write-back costs clients.
    3: tuple(
        f"ALTER TABLE samples ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0"
        for column in ("unknown", "ignored", "preserved", "preserved_bytes")
    ),
}
"""Statements that make a store of the version before into one of this."""


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        dict[str, Any]: JSON,
        dict[str, float]: JSON,
        list[float]: JSON,
        list[str]: JSON,
    }


class StoreInfo(Base):
    """One row: which version of these tables the store has."""

    __tablename__ = "store_info"
    id: Mapped[int] = mapped_column(primary_key=True)
    version: Mapped[int]


class GroupRow(Base):
    """One `netkv scenario run`: the process that writes it, and the verdicts over its runs."""

    __tablename__ = "groups"
    id: Mapped[str] = mapped_column(primary_key=True)
    created_at: Mapped[float] = mapped_column(index=True)
    command: Mapped[list[str]]
    owner_host: Mapped[str]
    owner_boot: Mapped[str]
    owner_pid: Mapped[int]
    owner_started: Mapped[int]

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
    """One scheme, once: what was asked for and, when it is over, what came out."""

    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(primary_key=True)
    group_id: Mapped[str] = mapped_column(ForeignKey("groups.id", ondelete="CASCADE"), index=True)
    scenario: Mapped[str] = mapped_column(index=True)
    title: Mapped[str]
    scheme: Mapped[str]
    params: Mapped[dict[str, Any]]
    repeat: Mapped[int]
    seed: Mapped[int]
    mode: Mapped[str]
    target: Mapped[str]
    started_at: Mapped[float] = mapped_column(index=True)
    finished_at: Mapped[float | None]
    duration: Mapped[float]
    warmup: Mapped[float]
    parameters: Mapped[dict[str, Any]]
    provenance: Mapped[dict[str, Any]]
    program_hash: Mapped[str] = mapped_column(index=True)
    status: Mapped[str] = mapped_column(index=True)
    """`running`, `done` or `failed`."""
    reason: Mapped[str | None]
    figures: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Result of a finished run, without what the other columns and tables hold."""
    latency_histogram: Mapped[str] = mapped_column(default="")

    group: Mapped[GroupRow] = relationship(back_populates="runs")
    samples: Mapped[list[SampleRow]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True, order_by=lambda: SampleRow.id
    )
    events: Mapped[list[EventRow]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True, order_by=lambda: EventRow.id
    )


class SampleRow(Base):
    """One interval of a run. Ids grow in the order of writing, over all runs, and never return."""

    __tablename__ = "samples"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    time: Mapped[float]
    phase: Mapped[str]
    interval: Mapped[float]
    throughput_ops: Mapped[float]
    hit_ratio: Mapped[float | None]
    latency_us: Mapped[dict[str, Any]]
    server_load: Mapped[list[float]]
    lost_ops: Mapped[int]
    retries: Mapped[int]
    stale_reads: Mapped[int]
    unknown: Mapped[int]
    ignored: Mapped[int]
    preserved: Mapped[int]
    preserved_bytes: Mapped[int]
    cached: Mapped[int]
    control_plane_bytes_per_s: Mapped[float]
    control_plane_mib_per_s_by_switch: Mapped[dict[str, float]]

    __table_args__ = (Index("samples_of_run", "run_id", "id"), {"sqlite_autoincrement": True})


class EventRow(Base):
    """Something that happened in a run."""

    __tablename__ = "events"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    time: Mapped[float]
    kind: Mapped[str]
    node: Mapped[str]
    text: Mapped[str]
    recovery: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))

    __table_args__ = (Index("events_of_run", "run_id", "id"), {"sqlite_autoincrement": True})


class VerdictRow(Base):
    """The verdict on one `expect` line."""

    __tablename__ = "verdicts"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    group_id: Mapped[str] = mapped_column(ForeignKey("groups.id", ondelete="CASCADE"), index=True)
    expr: Mapped[str]
    ok: Mapped[bool]
    value: Mapped[float | None]
    detail: Mapped[str]
