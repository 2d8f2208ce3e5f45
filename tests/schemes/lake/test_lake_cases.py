"""Cases of LaKe: races that LaKe must survive, within the limits of its guarantees."""

from __future__ import annotations

from netkv.events.actions.link import LinkFault
from netkv.kits.cases.links import bad_link
from netkv.model.spec import Poisson
from netkv.schemes.lake import soak
from netkv.schemes.lake.options import LakeOptions
from netkv.soak.case import Case
from netkv.soak.case_generator import generate

SEEDS = range(200)


def is_race(case: Case) -> bool:
    return case.duration < 0.3


def links(case: Case) -> list[LinkFault]:
    return [link for fault in case.faults if (link := bad_link(fault)) is not None]


def test_half_of_the_cases_are_races_of_one_card() -> None:
    races = [case for seed in SEEDS if is_race(case := generate("lake", seed))]
    assert 80 < len(races) < 120
    for case in races:
        assert case.rack.lab.servers == 1
        assert isinstance(case.rack.workload.arrivals, Poisson)
        assert 1900 < case.rack.workload.arrivals.rate * case.duration < 9100
    calm = [case for case in races if not case.faults]
    restarted = [
        case
        for case in races
        if any(fault.begin.action.goes_down == "card-0" for fault in case.faults)
    ]
    assert len(calm) > 15
    assert len(restarted) > 15
    assert sum(bool(LakeOptions.of(case.rack.lab).max_age) for case in races) > 40


def test_packets_are_never_on_their_way_for_longer_than_their_lifetime() -> None:
    for seed in SEEDS:
        case = generate("lake", seed)
        late = [
            link.delay + link.jitter + (link.reorder_span if link.reorder else 0)
            for link in links(case)
            if link.node.startswith("servers-")
        ]
        lifetime = LakeOptions.of(case.rack.lab).packet_lifetime
        assert lifetime > 2 * max(late, default=0.0)
        assert lifetime > soak.packet_lifetime(case)


def test_copies_of_requests_and_replies_set_the_option() -> None:
    seen = set()
    for seed in SEEDS:
        case = generate("lake", seed)
        copied = {link.node.startswith("servers-") for link in links(case) if link.duplicate}
        assert LakeOptions.of(case.rack.lab).replies_copied == (copied == {True, False})
        seen.add(frozenset(copied))
    assert len(seen) == 4


def test_half_of_the_cases_have_conditional_writes() -> None:
    shares = [generate("lake", seed).rack.workload.conditional for seed in SEEDS]
    present = [share for share in shares if share]
    assert 80 < len(present) < 120
    assert min(present) >= 0.1
    assert max(present) <= 0.8


def test_visible_at_once_only_if_every_set_reaches_the_server() -> None:
    cases = [generate("lake", seed) for seed in SEEDS]
    at_once = [case for case in cases if LakeOptions.of(case.rack.lab).set_visible == "at-once"]
    assert 15 < len(at_once) < 50
    for case in at_once:
        assert is_race(case)
        assert case.rack.workload.conditional
        assert len(links(case)) == len(case.faults), "no restarts"
        assert not any(link.node.startswith("servers-") for link in links(case))
        assert not any(link.duplicate for link in links(case))
        assert case.profile.server.cores == 1
        assert case.rack.lab.service_rate is None
    assert any(case.faults for case in at_once)


def test_races_have_faults_of_the_requested_kinds_only() -> None:
    for seed in SEEDS:
        case, lossy = generate("lake", seed), generate("lake", seed, ("loss",))
        none = generate("lake", seed, ())
        if not is_race(case):
            continue
        assert none.faults == ()
        assert all(bad_link(fault) is not None for fault in lossy.faults)
        assert not any(link.duplicate or link.reorder or link.delay for link in links(lossy))
