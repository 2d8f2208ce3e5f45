"""The setup commands of a packet test as P4Runtime updates."""

from __future__ import annotations

from pathlib import Path

import pytest
from finsy.proto import p4r

from netkv import _engine
from netkv.errors import UsageError
from netkv.live.bmv2 import setup
from netkv.p4rt import p4info
from netkv.p4rt.entities import Names
from tests.cli.commands import ROOT


@pytest.fixture(scope="module")
def names() -> Names:
    program = ROOT / "tests" / "golden" / "tables.p4"
    return Names(p4info.from_bundle(_engine.compile_p4(str(program))))


def updates(names: Names, *lines: str) -> list[p4r.Update]:
    return setup.updates(names, "\n".join(lines), "file.stf")


def test_golden_setup_becomes_table_entries(names: Names) -> None:
    text = Path(ROOT / "tests" / "golden" / "tables.stf").read_text()
    made = setup.updates(names, text, "tables.stf")
    added = [line for line in text.splitlines() if line.startswith(("add ", "setdefault "))]
    entries = [each for each in made if each.entity.HasField("table_entry")]
    assert len(entries) == len(added) > 10
    kinds = {
        field.WhichOneof("field_match_type")
        for it in entries
        for field in it.entity.table_entry.match
    }
    assert {"exact", "lpm", "ternary", "range"} <= kinds


def test_groups_get_the_nodes_that_are_associated(names: Names) -> None:
    made = updates(
        names,
        "mc_mgrp_create 7",
        "mc_node_create 1 2 3",
        "mc_node_create 2 4",
        "mc_node_associate 7 0",
        "mc_node_associate 7 1  # both",
        "mirroring_add 5 6",
    )
    engines = [each.entity.packet_replication_engine_entry for each in made]
    (group,) = [
        each.multicast_group_entry for each in engines if each.HasField("multicast_group_entry")
    ]
    copies = [(it.egress_port, it.instance) for it in group.replicas]
    assert (group.multicast_group_id, copies) == (7, [(2, 1), (3, 1), (4, 2)])
    (session,) = [
        each.clone_session_entry for each in engines if each.HasField("clone_session_entry")
    ]
    assert (session.session_id, session.replicas[0].egress_port) == (5, 6)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("register_write r 0 1", "P4Runtime has no such command for bmv2"),
        ("mc_node_associate 9 0", "9"),
        ("add nothing x:1 a()", "nothing"),
        ("add I.t_exact k:1", r"no ACTION\(PARAM:VALUE"),
    ],
)
def test_unsupported_command_is_refused_with_its_line(names: Names, line: str, reason: str) -> None:
    with pytest.raises(UsageError, match=rf"file\.stf:2: .*{reason}"):
        updates(names, "# a comment", line)
