"""Writes to a switch with several pipelines reach all of them in turn, or none."""

from __future__ import annotations

import pytest
from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import Call, Names, delete, insert, modify
from netkv.p4rt.errors import Code, RpcError
from netkv.p4rt.replicas import in_each_pipeline
from tests.p4rt.conftest import probe, result_of


@pytest.fixture
def switch(bundle: bytes) -> _engine.Switch:
    return _engine.Switch(bundle, pipelines=4)


def entry(names: Names, result: int) -> p4r.Entity:
    return names.table_entry(
        "exact_table", {"h.probe.ip": 1, "h.probe.tag": 2}, Call("set_result", {"result": result})
    )


def route(names: Names) -> p4r.Update:
    """A default entry that forwards all packets to port 1."""
    return modify(names.default_entry("lpm_table", Call("forward", {"port": 1})))


def results(switch: _engine.Switch) -> list[int]:
    """The results of one probe through each pipeline."""
    frames = [switch.process(port, probe(ip=1, tag=2)) for port in range(4)]
    return [result_of(frame) for ((_, frame),) in frames]


async def test_an_answered_write_has_reached_every_pipeline(
    client: P4RuntimeClient, switch: _engine.Switch
) -> None:
    await client.write([route(client.names), insert(entry(client.names, 30))])
    assert results(switch) == [30] * 4
    await client.write([modify(entry(client.names, 31))])
    assert results(switch) == [31] * 4
    await client.write([delete(entry(client.names, 31))])
    assert results(switch) == [0] * 4


def test_packets_are_processed_while_a_write_is_in_progress(
    switch: _engine.Switch, names: Names
) -> None:
    tables, actions = names.schema.tables, names.schema.actions
    forward = actions.named("forward").id
    switch.set_default(tables.named("lpm_table").id, forward, [b"\1"])
    exact, set_result = tables.named("exact_table").id, actions.named("set_result").id
    matches: list[_engine.Match] = [(1, "exact", b"\1"), (2, "exact", b"\2")]
    seen = []

    def write(pipeline: int) -> None:
        action: _engine.Action = ("action", set_result, [b"\7"])
        switch.insert_entry(exact, matches, action, pipeline=pipeline)
        seen.append(results(switch))

    in_each_pipeline(switch, write)
    assert seen == [[7, 0, 0, 0], [7, 7, 0, 0], [7, 7, 7, 0], [7, 7, 7, 7]]


async def test_write_refused_by_the_first_pipeline_reaches_none(
    client: P4RuntimeClient, switch: _engine.Switch
) -> None:
    await client.write([route(client.names), insert(entry(client.names, 30))])
    with pytest.raises(ControllerError) as caught:
        await client.write([insert(entry(client.names, 40))])
    assert caught.value.failed[0].code == Code.ALREADY_EXISTS
    assert results(switch) == [30] * 4


def test_error_names_the_pipeline_whose_state_differs(switch: _engine.Switch, names: Names) -> None:
    exact = names.schema.tables.named("exact_table").id
    action: _engine.Action = ("action", names.schema.actions.named("set_result").id, [b"\7"])
    matches: list[_engine.Match] = [(1, "exact", b"\1"), (2, "exact", b"\2")]
    switch.insert_entry(exact, matches, action, pipeline=2)
    with pytest.raises(
        RpcError, match="pipeline 2 refuses a write that the previous ones accepted"
    ) as caught:
        in_each_pipeline(
            switch, lambda at: switch.insert_entry(exact, matches, action, pipeline=at)
        )
    assert caught.value.code == Code.INTERNAL


def test_unknown_pipeline_is_refused(switch: _engine.Switch, names: Names) -> None:
    table = names.schema.tables.named("exact_table").id
    with pytest.raises(
        _engine.ControlError, match="4 pipelines, from 0, so there is no pipeline 4"
    ):
        switch.read_entries(table, pipeline=4)


def test_a_trace_has_the_numbers_of_the_pipelines(switch: _engine.Switch, names: Names) -> None:
    lpm = names.schema.tables.named("lpm_table").id
    switch.set_default(lpm, names.schema.actions.named("forward").id, [b"\1"])
    _, document, text = switch.trace(2, probe())
    passes = [event for event in document["events"] if event["event"] == "pass"]
    assert [(each["pipeline"], each["number"]) for each in passes] == [
        ("ingress", 2),
        ("egress", 1),
    ]
    assert "ingress of pipeline 2, port 2" in text
