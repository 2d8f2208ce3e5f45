"""SetForwardingPipelineConfig: every action, and refused requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from finsy.proto import p4r, p4r_grpc
from grpc import aio

from netkv import _engine
from netkv.p4rt import p4info
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import Call, Lpm, Names, insert, modify, multicast_group
from netkv.p4rt.server import P4RuntimeServer
from tests.p4rt.conftest import PROGRAM, probe, result_of

Set = p4r.SetForwardingPipelineConfigRequest
Get = p4r.GetForwardingPipelineConfigRequest
Config = p4r.ForwardingPipelineConfig


@pytest.fixture
async def primary(server: P4RuntimeServer) -> AsyncIterator[P4RuntimeClient]:
    """A client that is primary, on a switch without a pipeline."""
    async with P4RuntimeClient(server.address) as client:
        yield client


@pytest.fixture
async def stub(server: P4RuntimeServer) -> AsyncIterator[Any]:
    async with aio.insecure_channel(server.address) as channel:
        yield p4r_grpc.P4RuntimeStub(channel)


def request(action: Set.Action.ValueType, config: Config | None = None) -> Set:
    return Set(device_id=1, election_id=p4r.Uint128(low=1), action=action, config=config)


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(aio.AioRpcError) as caught:
        await call
    return caught.value.code(), caught.value.details() or ""


async def test_requests_without_a_pipeline_are_refused(
    primary: P4RuntimeClient, stub: Any, names: Names
) -> None:
    assert not (await stub.GetForwardingPipelineConfig(Get(device_id=1))).HasField("config")
    with pytest.raises(ControllerError, match="has no forwarding pipeline config yet"):
        await primary.get_pipeline()
    write = p4r.WriteRequest(
        device_id=1,
        election_id=p4r.Uint128(low=1),
        updates=[insert(names.table_entry("lpm_table", {}, Call("drop", {})))],
    )
    code, text = await refused(stub.Write(write))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "no forwarding pipeline config" in text


async def test_p4_source_is_compiled_and_its_errors_are_returned(
    primary: P4RuntimeClient, stub: Any
) -> None:
    await primary.set_pipeline(PROGRAM.read_bytes(), cookie=42)
    assert "MyIngress.exact_table" in {each.name for each in primary.names.schema.tables}
    config = (await stub.GetForwardingPipelineConfig(Get(device_id=1))).config
    assert config.cookie.cookie == 42
    assert config.p4_device_config == PROGRAM.read_bytes()
    assert config.p4info.pkg_info.arch == "v1model"
    only = Get(device_id=1, response_type=Get.COOKIE_ONLY)
    config = (await stub.GetForwardingPipelineConfig(only)).config
    assert (config.cookie.cookie, config.HasField("p4info")) == (42, False)

    broken = Config(p4_device_config=b"#include <core.p4>\nheader oops {")
    code, text = await refused(
        stub.SetForwardingPipelineConfig(request(Set.VERIFY_AND_COMMIT, broken))
    )
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "p4_device_config" in text
    assert "header oops {" in text
    # The first program still runs.
    assert (await primary.get_pipeline()).cookie.cookie == 42


async def test_invalid_device_configs_are_refused(primary: P4RuntimeClient, stub: Any) -> None:
    del primary
    bmv2 = b'{"header_types": [], "program": "basic.p4"}'
    context = b'{"build_date": "x", "compiler_version": "9.7", "target": "tofino", "tables": []}'
    tar = b"pipe/tofino.bin".ljust(257, b"\0") + b"ustar\0"
    for data, sentence in [
        (b"", "is empty"),
        (b" \r\n\t", "is empty"),
        (bmv2, "is a bmv2 JSON, which cannot run here: send P4 source"),
        (b"\xef\xbb\xbf" + bmv2, "is a bmv2 JSON"),
        (b"\n\n  " + bmv2, "is a bmv2 JSON"),
        (wrapped(bmv2), "is a bmv2 JSON"),
        (wrapped(bmv2 + b" " * 70_000), "is a bmv2 JSON"),
        (wrapped(b""), "is empty"),
        (b'{"a": 1}', "is a JSON document"),
        (b"[1]", "is a JSON document"),
        (context, "is a context JSON of Tofino"),
        (b"\x1f\x8b\x08\0" + bmv2, "is gzip data"),
        (wrapped(b"\x1f\x8b\x08\0"), "is gzip data"),
        (tar, "is a tar archive"),
        (b"\x05\0\0\0basic\xff\xfe pipe/tofino.bin", "is a program compiled for Tofino"),
        (b"\x05\0\0\0basic tofino.bin", "is a program compiled for Tofino"),
        (b"# proto-file: x\n\npkg_info {\n}", "belongs into the field 'p4info'"),
        (b"\xff\xfe\0binary", "neither P4 source in UTF-8 nor a bundle"),
        (b"netkv-bundle 1\n{}", "damaged"),
        (b"netkv-bundle 7\n{}", "begins with"),
    ]:
        code, text = await refused(
            stub.SetForwardingPipelineConfig(request(Set.VERIFY, Config(p4_device_config=data)))
        )
        assert code is grpc.StatusCode.INVALID_ARGUMENT, data
        assert sentence in text


async def test_wrapped_p4_source_is_compiled(primary: P4RuntimeClient, stub: Any) -> None:
    del primary
    source = PROGRAM.read_bytes()
    for config in (wrapped(source), b"\xef\xbb\xbf" + source, wrapped(b"\xef\xbb\xbf" + source)):
        await stub.SetForwardingPipelineConfig(
            request(Set.VERIFY_AND_COMMIT, Config(p4_device_config=config))
        )
        config_back = (await stub.GetForwardingPipelineConfig(Get(device_id=1))).config
        assert config_back.p4_device_config == config


def wrapped(program: bytes) -> bytes:
    """The bytes of a `p4.tmp.P4DeviceConfig` with reassign and device_data."""
    length, varint = len(program), bytearray()
    while length >= 0x80:
        varint.append(length & 0x7F | 0x80)
        length >>= 7
    varint.append(length)
    return b"\x08\x01\x1a" + bytes(varint) + program


async def test_a_p4info_of_another_program_is_refused(
    primary: P4RuntimeClient, stub: Any, bundle: bytes
) -> None:
    del primary
    info = p4info.from_bundle(bundle)
    info.tables[0].match_fields[0].bitwidth += 1
    config = Config(p4_device_config=bundle, p4info=info)
    code, text = await refused(stub.SetForwardingPipelineConfig(request(Set.VERIFY, config)))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert f"{info.tables[0].preamble.name} ({info.tables[0].preamble.id}) differs" in text
    config.p4info.CopyFrom(p4info.from_bundle(bundle))
    del config.p4info.registers[:]
    code, text = await refused(stub.SetForwardingPipelineConfig(request(Set.VERIFY, config)))
    assert "it lacks" in text


async def test_verify_changes_nothing(primary: P4RuntimeClient, stub: Any, bundle: bytes) -> None:
    del primary
    await stub.SetForwardingPipelineConfig(request(Set.VERIFY, Config(p4_device_config=bundle)))
    assert not (await stub.GetForwardingPipelineConfig(Get(device_id=1))).HasField("config")


async def test_writes_to_a_saved_program_take_effect_at_its_commit(
    primary: P4RuntimeClient, stub: Any, bundle: bytes, switch: _engine.Switch
) -> None:
    await primary.set_pipeline(bundle)
    names = primary.names
    route = names.table_entry("lpm_table", {"h.probe.ip": Lpm(0, 1)}, Call("forward", {"port": 1}))
    save = request(Set.VERIFY_AND_SAVE, Config(p4_device_config=bundle))
    await stub.SetForwardingPipelineConfig(save)
    await primary.write([insert(route)])
    assert switch.process(2, probe()) == []
    assert len([each async for each in primary.read(names.table_entries("lpm_table"))]) == 1
    await stub.SetForwardingPipelineConfig(request(Set.COMMIT))
    assert [port for port, _ in switch.process(2, probe())] == [1]
    code, text = await refused(stub.SetForwardingPipelineConfig(request(Set.COMMIT)))
    assert code is grpc.StatusCode.NOT_FOUND
    assert "VERIFY_AND_SAVE comes before COMMIT" in text


async def test_commit_clears_tables_and_reconcile_keeps_them(
    primary: P4RuntimeClient, stub: Any, bundle: bytes
) -> None:
    await primary.set_pipeline(bundle)
    names = primary.names
    entry = names.table_entry("lpm_table", {}, Call("drop", {}))
    await primary.write([insert(entry)])
    reconcile = request(Set.RECONCILE_AND_COMMIT, Config(p4_device_config=bundle))
    await stub.SetForwardingPipelineConfig(reconcile)
    assert len([each async for each in primary.read(names.table_entries("lpm_table"))]) == 1
    await primary.set_pipeline(bundle)
    assert [each async for each in primary.read(names.table_entries("lpm_table"))] == []


async def test_reconcile_carries_the_state_into_another_program(
    primary: P4RuntimeClient, stub: Any, bundle: bytes, switch: _engine.Switch
) -> None:
    await primary.set_pipeline(bundle)
    names = primary.names
    entry = names.table_entry(
        "exact_table",
        {"h.probe.ip": 1, "h.probe.tag": 1},
        Call("set_result", {"result": 0x1234}),
        metadata=b"mine",
    )
    await primary.write(
        [
            insert(entry),
            modify(names.default_entry("lpm_table", Call("to_group", {"group": 3}))),
            insert(multicast_group(3, [(1, 0)])),
            modify(names.register("results", 4, 44)),
            insert(names.digest("hot_t", max_list_size=5)),
        ]
    )
    switch.process(3, probe(ip=1, tag=1))
    source = PROGRAM.read_text()
    other = source.replace("0x5EC1", "0x5EC2").replace("size = 20000;", "size = 30000;")
    config = Config(p4_device_config=other.encode())
    await stub.SetForwardingPipelineConfig(request(Set.RECONCILE_AND_COMMIT, config))
    ((port, frame),) = switch.process(3, probe(ip=1, tag=1))
    assert (port, result_of(frame)) == (1, 0x1234)
    found = [each async for each in primary.read(names.table_entries("exact_table", counters=True))]
    entry.table_entry.counter_data.packet_count = 2
    assert [each.table_entry.metadata for each in found] == [b"mine"]
    assert [each.table_entry.counter_data.packet_count for each in found] == [2]
    (cell,) = [each async for each in primary.read(names.register("results", 4))]
    assert cell.register_entry.data.bitstring == bytes([44])
    (arrivals,) = [each async for each in primary.read(names.counter("arrivals", 3))]
    assert arrivals.counter_entry.data.packet_count == 2
    assert len([each async for each in primary.read(p4r.Entity(digest_entry=p4r.DigestEntry()))])

    lacks = source.replace("exact_table", "another_table")
    code, text = await refused(
        stub.SetForwardingPipelineConfig(
            request(Set.RECONCILE_AND_COMMIT, Config(p4_device_config=lacks.encode()))
        )
    )
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "cannot be preserved" in text
    assert "no table with id" in text
    assert len(switch.process(3, probe(ip=1, tag=1))) == 1, "the first program still runs"


async def test_only_the_primary_sets_the_pipeline(server: P4RuntimeServer, stub: Any) -> None:
    del server
    code, text = await refused(stub.SetForwardingPipelineConfig(request(Set.VERIFY)))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert "no primary controller" in text


async def test_server_of_a_switch_with_a_program_accepts_writes(
    switch: _engine.Switch, bundle: bytes
) -> None:
    server = P4RuntimeServer(switch, bundle=bundle)
    await server.start()
    async with P4RuntimeClient(server.address) as client:
        await client.get_pipeline()
        await client.write([insert(client.names.table_entry("lpm_table", {}, Call("drop", {})))])
    await server.stop()


async def test_capabilities_have_the_api_version(stub: Any) -> None:
    assert (await stub.Capabilities(p4r.CapabilitiesRequest())).p4runtime_api_version == "1.5.0"
    code, text = await refused(stub.Capabilities(p4r.CapabilitiesRequest(device_id=9)))
    assert (code, "its device is 1" in text) == (grpc.StatusCode.NOT_FOUND, True)


async def test_busy_port_is_reported(server: P4RuntimeServer) -> None:
    port = int(server.address.rpartition(":")[2])
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}: the port is in use"):
        await P4RuntimeServer(_NO_SWITCH).start(port)


_NO_SWITCH: Any = None
