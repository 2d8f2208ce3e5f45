"""Signs of life of writers, memory of runs, integers of 64 bits, order of texts by code points"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "8"
down_revision = "7"

_INTEGERS = {
    "store_info": ("id", "version"),
    "groups": ("owner_pid", "owner_started"),
    "runs": ("repeat", "seed"),
    "verdicts": ("id",),
    "events": ("id",),
    "samples": ("id", "lost_ops", "retries", "stale_reads", "cached"),
}
_TEXTS = {
    "groups": ("id", "owner_host", "owner_boot"),
    "runs": (
        "id",
        "group_id",
        "scenario",
        "title",
        "scheme",
        "mode",
        "target",
        "program_hash",
        "status",
        "reason",
        "latency_histogram",
        "note",
    ),
    "verdicts": ("group_id", "expr", "detail"),
    "events": ("run_id", "kind", "node", "text"),
    "samples": ("run_id", "phase"),
}
_KEYS = (
    ("runs", "group_id", "groups"),
    ("verdicts", "group_id", "groups"),
    ("events", "run_id", "runs"),
    ("samples", "run_id", "runs"),
)
_NUMBERED = ("store_info", "verdicts", "events", "samples")
"""Tables whose ids are of a sequence."""


def upgrade() -> None:
    """SQLite has integers of 64 bits and the order of code points by itself."""
    on_server = op.get_context().dialect.name == "postgresql"
    text = sa.String(collation="C") if on_server else sa.String()
    none = sa.text("''")
    op.add_column("groups", sa.Column("last_change", text, nullable=False, server_default=none))
    op.add_column("groups", sa.Column("seen_at", sa.Double()))
    integer = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("runs", sa.Column("peak_memory", integer))
    if not on_server:
        # Each row has a value for each column then, as in a new store.
        op.execute("UPDATE groups SET last_change = ''")
        op.execute("UPDATE runs SET peak_memory = NULL")
        return
    op.execute(
        "UPDATE groups SET seen_at = extract(epoch FROM clock_timestamp()) "
        "WHERE id IN (SELECT group_id FROM runs WHERE status = 'running')"
    )
    for table, column, _ in _KEYS:
        op.drop_constraint(f"{table}_{column}_fkey", table, type_="foreignkey")
    # One statement for each table writes it once.
    for table, integers in _INTEGERS.items():
        changes = [f"ALTER COLUMN {name} TYPE BIGINT" for name in integers]
        changes += [
            f'ALTER COLUMN {name} TYPE VARCHAR COLLATE "C"' for name in _TEXTS.get(table, ())
        ]
        op.execute(f"ALTER TABLE {table} {', '.join(changes)}")
    for table in _NUMBERED:
        op.execute(f"ALTER SEQUENCE {table}_id_seq AS BIGINT")
    for table, column, other in _KEYS:
        op.create_foreign_key(
            f"{table}_{column}_fkey", table, other, [column], ["id"], ondelete="CASCADE"
        )
