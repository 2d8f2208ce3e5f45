"""A metric that reads what does not exist is refused, with the names that do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from netkv import _engine, schemes
from netkv.errors import UsageError
from netkv.metrics.metric import Metric
from netkv.metrics.readings import Reading, cards, client, coordinator, links, rack, servers
from netkv.metrics.sources import AtEnd, Gauge, Latest, Peak, Quotient, Source, Sum
from netkv.model.nodes import Client, Servers
from netkv.model.spec import WorkloadSpec
from netkv.roles import SingleKeyServer
from netkv.schemes import checks, counters
from netkv.schemes.scheme import Host, Scheme
from netkv.schemes.spec import LabSpec, RackSpec
from tests.sim.driving import run, started


class CountsHeld(SingleKeyServer):
    """A role in Python with a counter of its own."""

    def counts(self) -> dict[str, int]:
        return {"held": 1}


def with_metric(name: str, source: Source) -> Scheme:
    scheme = schemes.get(name)
    return replace(scheme, metrics=(Metric("made_up", "Made up", "For a test.", source),))


def refusal(scheme: Scheme) -> str:
    def check() -> None:
        counters.check_figures(scheme)
        counters.check_counters(scheme, LabSpec())

    with pytest.raises(UsageError) as refused:
        check()
    return str(refused.value)


@pytest.mark.parametrize("scheme", schemes.all_schemes(), ids=lambda scheme: scheme.name)
def test_metrics_of_every_scheme_read_what_exists(scheme: Scheme) -> None:
    counters.check_figures(scheme)
    counters.check_counters(scheme, LabSpec())


@pytest.mark.parametrize(
    ("scheme", "reading", "what", "near"),
    [
        ("nocache", client("complete"), "a counter of its clients", "completed"),
        ("farreach", client("preserved_peek"), "a counter of its clients", "preserved_peak"),
        ("netmc", client("key_read"), "a counter of its clients", "keys_read"),
        ("nocache", client("preserved"), "a counter of its clients", None),
        ("netcache", servers("serve"), "a counter of its servers", "served"),
        ("farreach", servers("offer"), "a counter of its servers", "offers"),
        ("lake", cards("dram_red"), "a register of its cards", "dram_reads"),
        ("client-cache", cards("evict"), "a register of its cards", "evicted"),
        ("coordimc", coordinator("bussy"), "a figure of the coordinator", "busy"),
        ("nocache", links("cleint"), "a kind of links", "client"),
        ("nocache", rack("recirculate"), "a figure of samples", "recirculated"),
        ("nocache", rack("control_droped"), "a figure of samples", "control_dropped"),
    ],
)
def test_mistyped_name_is_refused(scheme: str, reading: Reading, what: str, near: str) -> None:
    text = refusal(with_metric(scheme, Sum(reading)))
    (name,) = reading.names
    assert (
        f"The metric 'made_up' of the scheme '{scheme}' reads '{name}', which is not {what}."
        in text
    )
    assert (f"Did you mean '{near}'? Names: " in text) == (near is not None)


@pytest.mark.parametrize(
    "source",
    [
        AtEnd(client("nothing")),
        Gauge(client("nothing")),
        Peak(client("reads", "nothing")),
        Quotient(client("reads"), client("nothing")),
        Latest("nothing"),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_source_says_what_it_reads(source: Source) -> None:
    assert "reads 'nothing'" in refusal(with_metric("nocache", source))


def test_cards_of_a_scheme_without_cards_are_refused() -> None:
    text = refusal(with_metric("nocache", Sum(cards("hits"))))
    assert "reads hits of cards, but its racks have none" in text


def test_counter_of_a_role_in_python_is_known() -> None:
    def held(name: str) -> Scheme:
        scheme = with_metric("nocache", Peak(servers(name)))
        hosts = [host for host in scheme.hosts if host.kind is not Servers]
        role = f"python:{CountsHeld.__module__}:CountsHeld"
        return replace(scheme, hosts=(*hosts, Host(Servers, role)))

    counters.check_counters(held("held"), LabSpec())
    assert "Did you mean 'held'? Names: busy_keys, " in refusal(held("hold"))


@pytest.mark.parametrize("name", ["nocache", "netcache", "farreach", "memcached", "netmc"])
def test_names_are_those_of_samples(name: str) -> None:
    """The engine gives the names of a role that has done nothing."""
    scheme = schemes.get(name)
    load: dict[str, Any] = {"key_size": 4, "multiget": 4} if scheme.traits.multigets else {}
    spec = RackSpec(
        scheme=name,
        lab=LabSpec(servers=2, clients=2, profile="netmc-testbed"),
        workload=WorkloadSpec(keys=50, writes=0.3, **load),
    )
    sample = run(started(spec), 0.01)
    findings = {"checked_ops", "unchecked_keys", "violation_count"}
    assert set(sample.client.counts) - findings == set(_engine.client_counters(scheme.role(Client)))
    (server, *_) = sample.server_statistics
    assert set(server) - {"stored"} == set(_engine.server_counters(scheme.role(Servers)))


def test_rack_with_a_mistyped_counter_is_refused() -> None:
    scheme = with_metric("nocache", Sum(client("nothing")))
    with pytest.raises(UsageError, match="reads 'nothing', which is not a counter of its clients"):
        checks.check(scheme, LabSpec(), WorkloadSpec())
