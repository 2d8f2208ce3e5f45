"""The tables of netkv before it could upgrade a store"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "7"
down_revision = None


def _text(name: str, *, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=null)


def _number(name: str, *, null: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=null)


def _integer(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _json(name: str, *, null: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.JSON(), nullable=null)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False)


def _of(table: str, name: str) -> sa.Column[str]:
    key = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(name, sa.String(), key, nullable=False)


def _number_of_row() -> sa.Column[int]:
    return sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True)


def upgrade() -> None:
    """Create all tables, in an order that the references between them allow."""
    op.create_table(
        "groups",
        sa.Column("id", sa.String(), primary_key=True),
        _number("created_at"),
        _json("command"),
        _text("owner_host"),
        _text("owner_boot"),
        _integer("owner_pid"),
        _integer("owner_started"),
        _json("plan"),
        _json("progress", null=True),
    )
    op.create_index("ix_groups_created_at", "groups", ["created_at"])
    info = op.create_table(
        "store_info", sa.Column("id", sa.Integer(), primary_key=True), _integer("version")
    )
    op.bulk_insert(info, [{"id": 1, "version": 7}])
    op.create_table(
        "runs",
        sa.Column("id", sa.String(), primary_key=True),
        _of("groups", "group_id"),
        _text("scenario"),
        _text("title"),
        _text("scheme"),
        _json("params"),
        _integer("repeat"),
        _integer("seed"),
        _text("mode"),
        _text("target"),
        _number("started_at"),
        _number("finished_at", null=True),
        _number("duration"),
        _number("warmup"),
        _json("parameters"),
        _json("provenance"),
        _text("program_hash"),
        _text("status"),
        _text("reason", null=True),
        _json("figures"),
        _text("latency_histogram"),
        _json("tags"),
        _text("note"),
        _flag("pinned"),
    )
    for column in ("group_id", "program_hash", "scenario", "started_at", "status"):
        op.create_index(f"ix_runs_{column}", "runs", [column])
    op.create_table(
        "verdicts",
        _number_of_row(),
        _of("groups", "group_id"),
        _text("expr"),
        _flag("ok"),
        _number("value", null=True),
        _text("detail"),
    )
    op.create_index("ix_verdicts_group_id", "verdicts", ["group_id"])
    op.create_table(
        "events",
        _number_of_row(),
        _of("runs", "run_id"),
        _number("time"),
        _text("kind"),
        _text("node"),
        _text("text"),
        _json("recovery", null=True),
        _json("change", null=True),
        sqlite_autoincrement=True,
    )
    op.create_index("events_of_run", "events", ["run_id", "id"])
    op.create_table(
        "samples",
        _number_of_row(),
        _of("runs", "run_id"),
        _number("time"),
        _text("phase"),
        _number("interval"),
        _json("latency_us"),
        _json("server_load"),
        _json("control_plane_mib_per_s_by_switch"),
        _number("throughput_ops"),
        _number("hit_ratio", null=True),
        _integer("lost_ops"),
        _integer("retries"),
        _integer("stale_reads"),
        _integer("cached"),
        _number("control_plane_bytes_per_s"),
        _json("metrics"),
        sqlite_autoincrement=True,
    )
    op.create_index("samples_of_run", "samples", ["run_id", "id"])
