"""The API of P4 programs: those that ship, compilation of text, traces of packets."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from netkv import _engine, resources, schemes
from netkv.api import sandbox
from netkv.api.errors import RequestFieldError
from netkv.api.models.programs import MAX_PACKETS, SourceText, TraceRequest
from netkv.api.programs import (
    compiling,
    interface,
    packets,
    recording,
    shipped,
    state,
    tracing,
)
from netkv.api.routes import programs as routes
from netkv.p4rt import p4info
from tests.api.serving import Served
from tests.waiting import PATIENCE_S

get = partial(httpx.get, timeout=PATIENCE_S)
post = partial(httpx.post, timeout=PATIENCE_S)

COUNTER = """
#include <core.p4>
#include <v1model.p4>
#include "parts/headers.p4"

struct metadata_t { bit<8> seen; }

parser P(packet_in b, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { b.extract(hdr.ethernet); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<8>>(4) seen;
    counter(2, CounterType.packets) packets;
    action drop() { mark_to_drop(std); }
    action send(bit<9> port) { std.egress_spec = port; }
    action copy(bit<16> group) { std.mcast_grp = group; }
    table exact_dst {
        key = { hdr.ethernet.dst: exact @name("dst"); }
        actions = { send; copy; drop; }
        default_action = drop();
    }
    table acl {
        key = { hdr.ethernet.src: ternary @name("src"); hdr.ethernet.kind: range @name("kind"); }
        actions = { drop; NoAction; }
        default_action = NoAction();
    }
    apply {
        seen.read(meta.seen, 1);
        seen.write(1, meta.seen + 1);
        packets.count(1);
        exact_dst.apply();
        acl.apply();
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out b, in headers_t hdr) { apply { b.emit(hdr.ethernet); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""
PARTS = {
    "parts/headers.p4": """
header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }
struct headers_t { ethernet_t ethernet; }
"""
}
FRAME = "02:00:00:00:00:01 02:00:00:00:00:02 0800 aabb"


def trace(served: Served, name: str, **body: Any) -> httpx.Response:
    return post(f"{served.url}/api/v1/programs/{name}/trace", json=body)


def traced(served: Served, **body: Any) -> dict[str, Any]:
    """The answer to a trace of `COUNTER`."""
    answer = trace(served, "source", source=COUNTER, files=PARTS, **body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def steps(packet: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each for each in packet["steps"] if each["kind"] == kind]


def test_every_program_of_a_scheme_is_listed(served: Served) -> None:
    programs = {each["name"]: each for each in get(f"{served.url}/api/v1/programs").json()}
    used = {use["scheme"] for each in programs.values() for use in each["schemes"]}
    assert used == {scheme.name for scheme in schemes.all_schemes()}
    cache = programs["netcache"]
    assert cache["file"] == "netcache/netcache.p4"
    lookup = next(each for each in cache["tables"] if each["name"] == "NetkvIngress.lookup.cache")
    assert lookup["keys"] == [{"name": "key", "bits": 128, "match": "exact"}]
    assert {each["name"] for each in cache["headers"]} >= {"hdr.ethernet", "hdr.kv"}


def test_program_has_p4info_sources_and_budget(served: Served) -> None:
    found = get(f"{served.url}/api/v1/programs/farreach").json()
    file = resources.path("p4") / "farreach" / "farreach.p4"
    assert found["sources"]["farreach/farreach.p4"] == file.read_text()
    assert found["sources"].keys() == set(found["files"])
    bundle = _engine.compile_p4(str(file), [str(resources.path("p4"))])
    assert len(found["p4info"]["tables"]) == len(p4info.as_p4c(bundle).tables)
    assert found["budget"]["ingress"]["usage"] == _engine.p4_budget(bundle)["ingress"]["usage"]
    assert found["budget"]["paper"]["scheme"] == "FarReach"


@pytest.mark.parametrize("path", ["", "/examples"])
def test_unknown_program_is_not_found(served: Served, path: str) -> None:
    answer = get(f"{served.url}/api/v1/programs/netcash{path}")
    assert answer.status_code == 404
    assert "Did you mean 'netcache'?" in answer.json()["detail"]
    assert trace(served, "netcash", packets=[{"port": 1, "frame": FRAME}]).status_code == 404


def test_errors_of_a_program_have_positions(served: Served) -> None:
    body = {"source": "#include <core.p4>\nheader h { bit<8> a }\n"}
    found = post(f"{served.url}/api/v1/programs/check", json=body).json()
    assert not found["ok"]
    assert found["interface"] is None
    assert found["errors"] == [
        {
            "severity": "error",
            "file": "program.p4",
            "line": 2,
            "column": 21,
            "message": "Expected ';' after a field, not '}'.",
            "source_line": "header h { bit<8> a }",
            "help": None,
        }
    ]


def test_program_with_files_compiles(served: Served) -> None:
    body = {"source": COUNTER, "files": PARTS}
    found = post(f"{served.url}/api/v1/programs/check", json=body).json()
    assert found["ok"], found
    assert found["interface"]["files"] == ["program.p4", "parts/headers.p4"]
    assert [each["name"] for each in found["interface"]["registers"]] == ["I.seen"]


def test_program_may_include_what_ships(served: Served) -> None:
    source = (resources.path("p4") / "forwarding" / "forwarding.p4").read_text()
    found = post(f"{served.url}/api/v1/programs/check", json={"source": source}).json()
    assert found["ok"], found
    assert "common/wire.p4" in found["interface"]["files"]


@pytest.mark.parametrize(
    "include",
    [
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        '#include "../pyproject.toml"',
        '#include "common/../../pyproject.toml"',
        '#include "\\x2fetc/passwd"',
        '/* include "/etc/passwd" */ #include "common/wire.p4"',
        '#/**/include "/etc/passwd"',
        '#\\\ninclude "/etc/passwd"',
        '/* include */ # include "/etc/passwd"',
    ],
)
def test_no_other_file_of_the_server_is_read(
    include: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for request in (
        SourceText(source=include),
        SourceText(source='#include "a.p4"', files={"a.p4": include}),
    ):
        with pytest.raises(RequestFieldError, match="include") as raised:
            compiling.check(request)
        assert "root:" not in str(raised.value)


@pytest.mark.parametrize("name", ["/etc/passwd", "../pyproject.toml", "common/../../a.p4"])
@pytest.mark.parametrize("form", ['#define F "{}"\n#include F', "#define S(x) #x\n#include S({})"])
def test_a_macro_includes_files_of_the_request_only(
    form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outside = compiling.check(SourceText(source=form.format(name)))
    assert [each.line for each in outside.errors][:1] == [2]
    assert "cannot be included" in outside.errors[0].message
    for other in ("parts/a.p4", "common/wire.p4", "core.p4"):
        files = {"parts/a.p4": "const bit<8> a = 1;\n"}
        found = compiling.check(SourceText(source=form.format(other), files=files))
        assert not any("include" in each.message for each in found.errors), found.errors


def test_no_spelling_of_an_include_reaches_a_file_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler refuses what the check of the text may miss: a source is not a file."""
    canary = tmp_path / "canary.p4"
    canary.write_text("CANARY canary;")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    random = Random(1)
    names = [f'"{canary}"', f"<{canary}>", '"../canary.p4"', "<../canary.p4>", "M", "S(x)"]
    names += [f"S({canary})", f'"\\x2f{str(canary)[1:]}"']
    pieces = ["#", "include", "#include", " ", "\t", "\n", "\\\n", "\r\n", "\r", "\x0b", "\x0c"]
    pieces += ["\u00a0", "\u2028", "/*", "*/", "/* x */", "//", '"', "<", ">", "inc", "lude", "\\"]
    starts = ["", f'#define M "{canary}"\n', "#define S(x) #x\n"]
    ends = ["#include", "# include", "#\\\ninclude", "#/**/include", "#inc\\\nlude", "#import"]
    ends += ["#include_next", "include", ""]

    def reaches_the_canary(compiled: Callable[[], bytes]) -> bool:
        with pytest.raises(_engine.CompileError) as raised:
            compiled()
        return "CANARY" in str(raised.value)

    Path("program.p4").write_text(f"#include {names[0]}")
    assert reaches_the_canary(lambda: _engine.compile_p4("program.p4"))
    for _ in range(5_000):
        some = "".join(random.choices(pieces + names, k=random.randint(0, 10)))
        source = random.choice(starts) + some + random.choice(ends) + random.choice(names)
        compile_text = partial(_engine.compile_source, "program.p4", source)
        assert not reaches_the_canary(compile_text), repr(source)


def test_a_program_does_not_find_out_which_files_exist() -> None:
    for spelling in ("__has_include", "__has_\\\ninclude", "HAS"):
        source = (
            "#define JOIN(a, b) a ## b\n#define HAS JOIN(__has_, include)\n"
            f'#if {spelling}("/etc/passwd")\n#error it exists\n#endif\n'
        )
        with pytest.raises(_engine.CompileError) as raised:
            _engine.compile_source("program.p4", source)
        assert "it exists" not in str(raised.value)


@pytest.mark.parametrize("name", ["/etc/a.p4", "../a.p4", "a/../../b.p4", "", "program.p4", ".a"])
def test_file_of_a_request_has_a_relative_path(served: Served, name: str) -> None:
    body = {"source": "", "files": {name: ""}}
    answer = post(f"{served.url}/api/v1/programs/check", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "files"


def test_missing_include_does_not_show_paths_of_the_server(served: Served) -> None:
    body = {"source": '#include "nothing.p4"'}
    found = post(f"{served.url}/api/v1/programs/check", json=body).json()
    assert found["errors"][0]["message"] == (
        "There is no file 'nothing.p4' to include; searched: 'p4'."
    )


def test_too_long_program_is_refused(served: Served) -> None:
    body = {"source": "", "files": {f"{each}.p4": " " * (1 << 19) for each in "abc"}}
    answer = post(f"{served.url}/api/v1/programs/check", json=body)
    assert answer.status_code == 422
    assert "1,048,576 characters" in answer.json()["detail"]


def test_slow_compilation_is_ended(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 0.01)
    slow = "#define TWICE(x) x + x\n" + "x = " + "TWICE(" * 20 + "1" + ")" * 20
    answer = post(f"{served.url}/api/v1/programs/check", json={"source": slow})
    assert answer.status_code == 429
    assert answer.json()["detail"] == (
        "The compilation takes longer than 0.01 s, the limit of this server."
    )
    monkeypatch.setattr(sandbox, "SECONDS", 20.0)
    answer = post(f"{served.url}/api/v1/programs/check", json={"source": COUNTER, "files": PARTS})
    assert answer.json()["ok"]


def test_requests_that_cannot_wait_are_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = threading.BoundedSemaphore(1)
    monkeypatch.setattr(routes._sandbox, "_admitted", one)
    assert one.acquire(blocking=False)
    body = {"source": COUNTER, "files": PARTS}
    answer = post(f"{served.url}/api/v1/programs/check", json=body)
    assert answer.status_code == 429
    assert "Try again later" in answer.json()["detail"]
    one.release()
    assert post(f"{served.url}/api/v1/programs/check", json=body).json()["ok"]


def test_program_that_needs_much_memory_is_ended(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "check", _fill_memory)
    answer = post(f"{served.url}/api/v1/programs/check", json={"source": ""})
    assert answer.status_code == 429
    assert "memory" in answer.json()["detail"]


def _fill_memory(_: SourceText) -> bytes:
    return bytes(1 << 40)


def test_packet_shows_every_step(served: Served) -> None:
    setup = {
        "entries": [
            {
                "table": "exact_dst",
                "match": {"dst": "02:00:00:00:00:01"},
                "action": "send",
                "params": {"port": 7},
            }
        ],
        "registers": [{"register": "seen", "index": 1, "value": "0x10"}],
    }
    found = traced(served, setup=setup, packets=[{"port": 1, "frame": FRAME, "title": "mine"}])
    (packet,) = found["packets"]
    assert packet["title"] == "mine"
    assert packet["leaves"] == [{"port": 7, "bytes": FRAME.replace(":", "").replace(" ", "")}]
    (extracted,) = steps(packet, "extract")
    assert extracted["header"] == "hdr.ethernet"
    assert extracted["file"] == "program.p4"
    assert extracted["fields"][0] == {"name": "dst", "value": "0x020000000001"}
    (read,) = steps(packet, "register_read")
    assert (read["register"], read["index"], read["value"]) == ("I.seen", 1, "0x10")
    first, second = steps(packet, "table")
    assert (first["table"], first["hit"], first["action"]) == ("I.exact_dst", True, "I.send")
    assert first["params"] == [{"name": "port", "value": "0x0007"}]
    assert second["hit"] is False
    assert first["text"].startswith("table I.exact_dst(dst=0x020000000001): hit")
    assert packet["steps"][0]["kind"] == "received"
    assert packet["steps"][-1]["kind"] == "transmitted"


def test_state_persists_between_packets(served: Served) -> None:
    found = traced(served, packets=[{"port": 1, "frame": FRAME}] * 3)
    reads = [steps(packet, "register_read")[0]["value"] for packet in found["packets"]]
    assert reads == ["0x00", "0x01", "0x02"]
    state = found["state"]
    assert state["registers"] == [{"register": "I.seen", "index": 1, "value": "0x3"}]
    assert [(each["counter"], each["packets"]) for each in state["counters"]] == [("I.packets", 3)]
    assert state["statistics"]["dropped_ingress"] == 3
    assert all(packet["leaves"] == [] for packet in found["packets"])


def test_kinds_of_matches_and_groups(served: Served) -> None:
    setup = {
        "entries": [
            {
                "table": "acl",
                "match": {"src": "0x020000000000&&&0xff0000000000", "kind": "0x800..0x8ff"},
                "action": "drop",
                "priority": 5,
            },
        ],
        "defaults": [{"table": "exact_dst", "action": "copy", "params": {"group": 3}}],
        "multicast_groups": [{"group": 3, "replicas": [{"port": 4}, {"port": 5}]}],
    }
    other = FRAME.replace("0800", "0900")
    packets = [{"port": 1, "frame": each} for each in (FRAME, other)]
    found = traced(served, setup=setup, packets=packets)
    dropped, copied = found["packets"]
    assert [each["hit"] for each in steps(dropped, "table")] == [False, True]
    assert dropped["leaves"] == []
    assert [each["port"] for each in copied["leaves"]] == [4, 5]


@pytest.mark.parametrize(
    ("setup", "field", "part"),
    [
        (
            {"entries": [{"table": "exact_dts", "action": "send"}]},
            "setup.entries.0",
            "I.exact_dst",
        ),
        (
            {"entries": [{"table": "exact_dst", "match": {"dst": 1}, "action": "send"}]},
            "setup.entries.0",
            "needs the parameter 'port'",
        ),
        (
            {
                "entries": [
                    {
                        "table": "exact_dst",
                        "match": {"dst": 1},
                        "action": "send",
                        "params": {"port": 512},
                    }
                ]
            },
            "setup.entries.0",
            "9 bits",
        ),
        (
            {"entries": [{"table": "acl", "match": {"kind": 5}, "action": "drop", "priority": 1}]},
            "setup.entries.0",
            "'A..B'",
        ),
        (
            {"registers": [{"register": "seen", "index": 9, "value": 1}]},
            "setup.registers.0",
            "9",
        ),
        (
            {"registers": [{"register": "seen", "index": 0, "value": "x"}]},
            "setup.registers.0",
            "'x' is no number",
        ),
    ],
)
def test_wrong_setup_names_its_field(
    served: Served, setup: dict[str, Any], field: str, part: str
) -> None:
    body = {"setup": setup, "packets": [{"port": 1, "frame": FRAME}]}
    answer = trace(served, "source", source=COUNTER, files=PARTS, **body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field
    assert part in answer.json()["detail"]


@pytest.mark.parametrize(
    ("packet", "field"),
    [
        ({"port": 1}, "packets.0"),
        ({"port": 1, "frame": "zz"}, "packets.0.frame"),
        ({"port": 1, "frame": "00"}, "packets.0.frame"),
        ({"port": 512, "frame": FRAME}, "packets.0.port"),
        ({"port": 1, "message": {"op": "GRAB", "key": "a"}}, "packets.0.message.op"),
        ({"port": 1, "message": {"op": "GET", "key": "a" * 17}}, "packets.0.message.key"),
        (
            {"port": 1, "message": {"op": "GET", "key": "a", "source": "printer"}},
            "packets.0.message.source",
        ),
    ],
)
def test_wrong_packet_names_its_field(served: Served, packet: dict[str, Any], field: str) -> None:
    answer = trace(served, "forwarding", packets=[packet])
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


def test_number_of_packets_is_limited(served: Served) -> None:
    packets = [{"port": 1, "frame": FRAME}] * (MAX_PACKETS + 1)
    answer = trace(served, "forwarding", packets=packets)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "packets"


def test_program_that_does_not_compile_is_not_traced(served: Served) -> None:
    answer = trace(served, "source", source="header", packets=[{"port": 1, "frame": FRAME}])
    assert answer.status_code == 422
    assert "program.p4:1:" in answer.json()["detail"]


@pytest.mark.parametrize("name", list(shipped.programs()))
def test_examples_of_each_program_show_its_way(served: Served, name: str) -> None:
    """The state is that of the scheme's control plane, so no packet is dropped."""
    examples = get(f"{served.url}/api/v1/programs/{name}/examples").json()
    assert examples
    for example in examples:
        job = tracing.Job(name, TraceRequest.model_validate(example["body"]))
        for packet in tracing.trace(job).packets:
            assert packet.leaves, example["name"]
            assert [step for step in packet.steps if step.kind == "table"]


def test_cached_key_is_answered_and_others_go_to_a_server(served: Served) -> None:
    examples = get(f"{served.url}/api/v1/programs/netcache/examples").json()
    bodies = {each["name"]: each["body"] for each in examples}
    hit = trace(served, "netcache", **bodies["read-of-cached-key"]).json()["packets"][0]
    (answer,) = hit["leaves"]
    assert answer["port"] == hit["arrives"]["port"]
    assert answer["message"]["op"] == "GET_REPLY"
    assert answer["message"]["cache_hit"] is True
    miss = trace(served, "netcache", **bodies["read-of-uncached-key"]).json()["packets"][0]
    (forwarded,) = miss["leaves"]
    assert forwarded["message"]["op"] == "GET"
    assert forwarded["message"]["destination"].startswith("server-")


def test_write_makes_the_next_read_of_a_key_miss(served: Served) -> None:
    """A write-through cache invalidates its copy: a session of two packets shows it."""
    examples = get(f"{served.url}/api/v1/programs/netcache/examples").json()
    bodies = {each["name"]: each["body"] for each in examples}
    read, write = (bodies[f"{each}-of-cached-key"] for each in ("read", "write"))
    packets = [*read["packets"], *write["packets"], *read["packets"]]
    found = trace(served, "netcache", **{**read, "packets": packets}).json()
    ops = [packet["leaves"][0]["message"]["op"] for packet in found["packets"]]
    assert ops == ["GET_REPLY", "PUT", "GET"]


def test_state_after_a_trace_is_that_of_the_switch() -> None:
    """The answer reads only the cells that set-up and packets have written."""
    example = next(
        each for each in recording.examples("netcache") if each.name == "read-of-uncached-key"
    )
    found = tracing.trace(tracing.Job("netcache", example.body)).state
    bundle = shipped.compiled(shipped.program("netcache"), example.body.defines or {})
    schema = interface.schema(bundle)
    switch = _engine.Switch(bundle)
    state.write(switch, schema, example.body.setup)
    for packet in example.body.packets:
        switch.process(packet.port, packets.frame(packet, ""))
    before = {(each.register_name, each.index): each.value for each in example.body.setup.registers}
    after = {(each.register_name, each.index): each.value for each in found.registers}
    assert after != before, "the packet was counted"
    every = state.read(switch, schema).registers
    assert after == {(each.register_name, each.index): each.value for each in every}
