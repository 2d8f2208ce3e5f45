"""Options and registers of the schemes with cards in clients."""

from __future__ import annotations

import math
from typing import Any

import pytest

from netkv import schemes
from netkv.errors import MisfitError
from netkv.metrics.rises import of_name
from netkv.model import layout, manifest, network, nodes
from netkv.model.card_design import CardDesign
from netkv.model.spec import WorkloadSpec
from netkv.schemes import checks
from netkv.schemes.spec import LabSpec

CACHE, PLAIN = "client-cache", "client-nic"


def card(scheme: str = CACHE, **lab: Any) -> CardDesign:
    make = schemes.get(scheme).card
    assert make is not None
    return make(LabSpec(**lab))


def refusal(**lab: Any) -> MisfitError:
    with pytest.raises(MisfitError) as error:
        checks.check(schemes.get(CACHE), LabSpec(**lab), WorkloadSpec())
    return error.value


@pytest.mark.parametrize("scheme", [CACHE, PLAIN])
def test_registers_exist_and_lifetime_comes_first(scheme: str) -> None:
    wanted = card(scheme, clients=8, card_functions=8, card_controllers=2)
    assert wanted.of_card is not None
    design = manifest.override(manifest.find(wanted.design), wanted.changes)
    assert design.functions == 8
    registers = {**wanted.of_card(0), **wanted.settings}
    for name in registers:
        design.register(name)
    if scheme == CACHE:
        assert next(iter(wanted.settings)) == "lifetime"
        assert [*wanted.settings][-1] == "mode"


def test_each_function_has_the_address_of_its_client() -> None:
    wanted = card(clients=6, card_functions=4)
    assert wanted.of_card is not None
    first, second = wanted.of_card(0), wanted.of_card(1)
    assert len(first) == 8
    assert len(second) == 4, "two clients"
    # 02:00 and the address 10.x.0.5 of client 5, the first byte lowest.
    assert second["mac_low.0"] & 0xFFFF == 0x0002
    assert second["mac_high.0"] == 5 << 8
    assert card(clients=3).of_card(0) == {}, "one function gets every frame"  # type: ignore[misc]


def test_tenants_have_slices_of_their_own() -> None:
    settings = card(clients=4, card_functions=4, card_controllers=2).settings
    places = {
        (settings[f"controller.{group}"], settings[f"slice_base.{group}"]) for group in range(4)
    }
    assert places == {(0, 0), (1, 0), (0, 32_768), (1, 32_768)}
    assert {settings[f"slice_mask.{group}"] for group in range(4)} == {32_767}
    assert [settings[f"group.{function}"] for function in range(4)] == [0, 1, 2, 3]
    shared = card(clients=4, card_functions=4, card_tenants="shared").settings
    assert [shared[f"group.{function}"] for function in range(4)] == [0] * 4
    assert shared["slice_mask.0"] == 65_535


def test_options_of_a_cache_without_room_are_refused() -> None:
    assert "is 1,000" in str(refusal(card_entries=1000))
    more = refusal(clients=4, card_functions=4, card_entries=32_768)
    assert "at most 16,384 with 4 groups on 1 controllers" in str(more)
    assert more.path == ("lab", "card_entries")
    checks.check(schemes.get(CACHE), LabSpec(card_entries=1024), WorkloadSpec())


def test_live_lab_has_one_client_behind_the_card() -> None:
    scheme = schemes.get(CACHE)
    lab = {"fabric": "udp", "target": "engine"}
    checks.check_live(scheme, LabSpec(**lab), WorkloadSpec())
    for option in ("clients", "card_functions"):
        with pytest.raises(MisfitError, match=f"'lab.{option}' must be 1, not 2") as error:
            checks.check_live(scheme, LabSpec(**lab, **{option: 2}), WorkloadSpec())
        assert error.value.path == ("lab", option)


def test_only_writers_elsewhere_make_reads_stale() -> None:
    def staleness(**lab: Any) -> float | None:
        return schemes.get(CACHE).max_staleness(LabSpec(**lab))

    assert staleness() is None
    assert staleness(clients=4, card_functions=4, card_tenants="shared") is None
    assert staleness(clients=2) == math.inf
    ages = {"client_max_age": 0.5, "packet_lifetime": 0.1}
    for lab in (
        {"clients": 2},
        {"clients": 4, "card_functions": 4},
        {"clients": 3, "card_clients": 1},
    ):
        found = staleness(**lab, **ages)
        assert found is not None
        assert 0.6 < found < 0.601
    assert schemes.get("lake").max_staleness(LabSpec()) is None


def test_clients_of_a_card_are_at_one_port() -> None:
    plain = network.rack(clients=5, servers=2)
    shared = network.behind_cards(plain, [(1, 2, 3), (4,)])
    ports = [host.port for host in shared.switch("tor").topology.clients]
    assert ports == [1, 1, 1, 4, 5]
    assert [at.host.port for at in shared.hosts if not at.is_server] == ports
    assert sorted(shared.switch("tor").ports) == [1, 4, 5, 101, 102]
    apart = network.racks(2, clients=2, servers=2, client_racks=0)
    with pytest.raises(ValueError, match="Clients 1, 2 share a card, but not a switch"):
        network.behind_cards(apart, [(1, 2)])


def test_cards_in_clients_are_nodes_of_their_own_kind() -> None:
    lab = LabSpec(clients=5, card_functions=2)
    names = layout.nodes_of(lab, [nodes.ClientCard])
    cards = [name for name, kind in names.items() if kind is nodes.ClientCard]
    assert cards == ["client-card-0", "client-card-1", "client-card-2"]
    assert nodes.kind_of("client-card-1") is nodes.ClientCard
    assert nodes.kind_of("card-1") is nodes.Card
    assert nodes.kind_of("client") is nodes.Client


def test_counters_of_functions_are_added_up() -> None:
    counted = {"hits": 1, "hits.0": 2, "hits.7": 4, "hits_more": 8, "misses.0": 16}
    assert of_name(counted, "hits") == 7
    assert of_name(counted, "misses") == 16
    assert of_name(counted, "none") == 0
