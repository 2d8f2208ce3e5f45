"""Roles in Python in the simulator: the same results as the engine's roles, and errors."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from typing import Any

import pytest

from netkv import roles, schemes
from netkv.control.base import SECOND
from netkv.errors import NetkvError, UsageError
from netkv.model.messages import CacheMetadata, Message, Op, decode, encode
from netkv.model.report import RackSample
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.model.topology import CONTROLLER_IP, server_ip
from netkv.schemes import checks
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SimRack
from tests.schemes.changed import with_roles
from tests.sim.driving import started

EXAMPLES = "python:tests.roles.examples:"
SPEC = RackSpec(
    scheme="nocache",
    lab=LabSpec(servers=2, clients=2, executor="interpreter", profile="farreach-testbed"),
    workload=WorkloadSpec(keys=50, writes=0.3, deletes=0.1, arrivals=ClosedLoop(outstanding=6)),
)
SPAN_NS = SECOND // 200


def loaded_rack(spec: RackSpec = SPEC, *, threads: int = 1, **roles: str) -> SimRack:
    """A rack with other roles, under load."""
    scheme = with_roles(schemes.get(spec.scheme), **roles)
    rack = started(spec, scheme=scheme, threads=threads)
    rack.command({"do": "phase", "name": "measure"})
    return rack


def sample(rack: SimRack, span: int = SPAN_NS) -> RackSample:
    rack.advance(rack.nanoseconds + span)
    return rack.take_sample()


def verified(rack: SimRack) -> dict[str, Any]:
    """The clients' report after every written key was read back."""
    for phase in ("drain", "verify"):
        rack.command({"do": "phase", "name": phase})
        taken = sample(rack, SECOND)
    return dict(taken.client_statistics)


# --------------------------------------------------------------- equivalents of the engine


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("service_rate", [None, 20_000])
@pytest.mark.parametrize(
    "changed",
    [
        {"server_role": "python:netkv.roles:SingleKeyServer"},
        {"client_role": "python:netkv.roles:SingleKeyClient"},
    ],
    ids=["server", "client"],
)
def test_python_role_gives_the_same_results_as_the_engines(
    changed: dict[str, str], service_rate: float | None, threads: int
) -> None:
    """With the same seed, links that lose and duplicate frames, and a server crash."""
    lab = SPEC.lab.model_copy(update={"service_rate": service_rate, "server_processes": 2})
    documents = []
    for roles_of_rack in ({}, changed):
        spec = SPEC.model_copy(update={"lab": lab, "retry": 0.001})
        rack = loaded_rack(spec, threads=threads, **roles_of_rack)
        taken = [sample(rack)]
        asyncio.run(rack.link("servers-1").impair("to", {"loss": 0.1, "duplicate": 0.2}))
        asyncio.run(rack.link("client").impair("to", {"loss": 0.1, "reorder": 0.2}))
        taken.append(sample(rack))
        asyncio.run(rack.node("servers-0").kill())
        taken.append(sample(rack))
        asyncio.run(rack.node("servers-0").start())
        taken.append(sample(rack))
        documents.append((taken, verified(rack), rack.simulation.statistics()))
    assert documents[0] == documents[1]
    assert documents[0][1]["acked_writes_lost"] == 0
    assert documents[0][0][1].client.retries > 0


def test_whole_server_in_python_serves_like_the_plain_one() -> None:
    samples = [
        sample(loaded_rack(server_role=role)) for role in ("plain", f"{EXAMPLES}WholeServer")
    ]
    assert samples[0].client == samples[1].client
    assert samples[0].server_load == samples[1].server_load
    assert samples[1].client.completed > 100


def test_restarted_whole_server_gets_the_applied_writes() -> None:
    rack = loaded_rack(server_role=f"{EXAMPLES}WholeServer")
    written = sample(rack).client.writes
    rack.command({"do": "phase", "name": "drain"})
    sample(rack, SECOND)
    asyncio.run(rack.node("servers-0").kill())
    asyncio.run(rack.node("servers-0").start())
    counts = rack.simulation.statistics()["servers"]
    assert written / 4 < sum(each["applied"] for each in counts)


# -------------------------------------------------------------------- features of roles


def test_server_can_delay_an_answer_by_a_timer() -> None:
    rack = loaded_rack(server_role=f"{EXAMPLES}DelayedAnswers")
    taken = sample(rack, SECOND // 10)
    assert taken.client.writes > 50
    assert sum(each["timers"] for each in taken.server_statistics) > 50
    # Six operations at a time; about every third is a write, which takes over a millisecond.
    assert taken.client.completed < 6 * 100 * 5
    assert verified(rack)["acked_writes_lost"] == 0


@pytest.mark.parametrize(("role", "answered"), [("AnswersFetch", True), ("DelayedAnswers", False)])
def test_server_handles_its_own_messages_and_rejects_others(role: str, answered: bool) -> None:
    rack = loaded_rack(server_role=f"{EXAMPLES}{role}")
    request = Message(Op.FETCH, bytes(16), 7, cache_metadata=CacheMetadata(0, 1))
    # The server rejects frames for keys that it does not own.
    owned = next(
        bytes([number]) * 16
        for number in range(256)
        if rack.network.switches[0].topology.owner(bytes([number]) * 16).index == 0
    )
    request = dataclasses.replace(request, key=owned)
    (server,) = [it.host for it in rack.network.hosts if it.is_server and it.host.index == 0]
    header = (server.port << 7).to_bytes(2, "big")
    rack.simulation.packet_out(0, header + encode(request, CONTROLLER_IP, server_ip(0)))
    end = rack.simulation.now() + SECOND // 100
    replies = []
    while rack.simulation.now() < end:
        for notice in rack.simulation.run(end):
            if notice[0] == "packet-in":
                replies.append(decode(notice[2][2:]).message)
    (reply,) = replies
    assert (reply.op, reply.request) == (Op.FETCH_REPLY, 7)
    assert (reply.status.name == "OK") is answered


def test_sequences_of_a_role_survive_a_restart() -> None:
    rack = loaded_rack(server_role=f"{EXAMPLES}Sequenced")
    sample(rack)
    for index in range(rack.spec.lab.server_processes):
        asyncio.run(rack.node(f"servers-{index}").kill())
        asyncio.run(rack.node(f"servers-{index}").start())
    rack.command({"do": "phase", "name": "drain"})
    sample(rack, SECOND)
    before = max(each["highest"] for each in rack.take_sample().server_statistics)
    report = verified(rack)
    after = max(each["highest"] for each in rack.take_sample().server_statistics)
    assert report["acked_writes_lost"] == 0
    assert after >= before > 0


def test_client_can_ignore_answers() -> None:
    rack = loaded_rack(client_role=f"{EXAMPLES}Stamping", server_role=f"{EXAMPLES}Sequenced")
    counts = sample(rack, SECOND // 2).client.counts
    assert counts["ignored"] > 5
    assert counts["own_reads"] == counts["reads"]
    assert counts["own_writes"] == counts["writes"] > 0


def test_thread_in_a_role_does_not_wait_for_the_one_that_waits_for_it() -> None:
    """The clients may be behind when a message for a controller has arrived."""
    lab = SPEC.lab.model_copy(update={"cache_entries": 10, "hot_threshold": 1})
    spec = SPEC.model_copy(update={"scheme": "netcache", "lab": lab})
    for ask in ("statistics", "sample"):
        rack = loaded_rack(spec, threads=2, client_role="python:netkv.roles:SingleKeyClient")
        simulation = rack.simulation
        asked = 0
        for _ in range(1000):
            if asked < 50 and simulation.run(simulation.now() + SPAN_NS):
                getattr(simulation, ask)()
                asked += 1
        assert asked == 50
        # The thread may be in a role when the rack ends, too.
        del simulation
        asyncio.run(rack.stop())


# ---------------------------------------------------------------------------------- faults


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"server_role": "FailingRead"},
            r"FailingRead failed in on_read: RuntimeError: no read .* now",
        ),
        (
            {"server_role": "FailingDeadline"},
            r"FailingDeadline failed in deadline: LookupError: no time",
        ),
        (
            {"server_role": "EndsTwice"},
            "examples:EndsTwice stores or ends a write of key .*none is",
        ),
        (
            {"server_role": "SequencesNotDeclared"},
            "Declared failed in on_write: .* 'keeps_sequences' of its role",
        ),
        ({"server_role": "FailingWhole"}, r"FailingWhole failed in on_stored: KeyError: \d+"),
        (
            {"client_role": "FailingClient"},
            r"FailingClient failed in judge: ValueError: 'perhaps' is",
        ),
    ],
    ids=lambda value: "".join(value.values()) if isinstance(value, dict) else "",
)
def test_exception_ends_the_run_with_a_message(
    changed: dict[str, str], sentence: str, threads: int, caplog: pytest.LogCaptureFixture
) -> None:
    failing = {kind: EXAMPLES + name for kind, name in changed.items()}
    rack = loaded_rack(SPEC, threads=threads, **failing)
    caplog.set_level(logging.INFO, "netkv.roles")
    with pytest.raises(NetkvError, match=sentence) as raised:
        sample(rack)
    assert str(raised.value).startswith("The simulated rack has stopped: ")
    assert "Traceback" not in str(raised.value)
    raised_in_python = not {"EndsTwice", "FailingClient"} & set(changed.values())
    assert ("Traceback" in caplog.text) is raised_in_python


@pytest.mark.parametrize(
    ("role", "sentence"),
    [
        ("FailingStart", "FailingStart failed in __init__: ValueError: server 0 of 2"),
        ("WrongResult", "WrongResult failed in deadline: TypeError: "),
    ],
)
def test_error_in_the_constructor_is_reported_at_once(role: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        loaded_rack(server_role=f"{EXAMPLES}{role}")


@pytest.mark.parametrize(
    ("kind", "name", "sentence"),
    [
        ("servers", "python:nowhere.at_all:Role", "the module 'nowhere.at_all' cannot be imported"),
        ("servers", f"{EXAMPLES}Absent", "the module 'tests.roles.examples' has no 'Absent'"),
        ("servers", "python:Role", "looks like 'python:package.module:Class'"),
        ("servers", f"{EXAMPLES}Unrelated", "inherits netkv.roles.SingleKeyServer or"),
        ("servers", f"{EXAMPLES}Stamping", "inherits netkv.roles.SingleKeyServer or"),
        ("clients", f"{EXAMPLES}DelayedAnswers", "inherits netkv.roles.SingleKeyClient"),
        ("servers", f"{EXAMPLES}NoCounts", "it has no methods counts, on_stored"),
        ("servers", f"{EXAMPLES}OldRead", r"method on_read must take \(self, now, request, out\)"),
    ],
)
def test_wrong_role_name_is_refused_by_the_check_of_the_scheme(
    kind: str, name: str, sentence: str
) -> None:
    field = "server_role" if kind == "servers" else "client_role"
    scheme = with_roles(schemes.get("nocache"), **{field: name})
    with pytest.raises(UsageError, match=sentence) as raised:
        checks.check(scheme, SPEC.lab, SPEC.workload)
    assert name in str(raised.value)


def test_names_without_prefix_are_roles_of_the_engine() -> None:
    roles.check("servers", "plain")
    with pytest.raises(UsageError, match="'nocash' is not a role of servers; it is one of: plain"):
        loaded_rack(server_role="nocash")
