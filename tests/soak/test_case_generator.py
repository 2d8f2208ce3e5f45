"""Generated cases are valid, determined by their seeds, and cover all kinds of faults."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from netkv import schemes
from netkv.errors import UsageError
from netkv.events.actions.crash import Crash
from netkv.events.actions.nodes import Kill, Start
from netkv.events.case import Fault
from netkv.events.catalogue import FAULT_KINDS
from netkv.kits.cases.links import bad_link, with_link
from netkv.model import layout, nodes
from netkv.model.spec import ClosedLoop
from netkv.schemes import registry
from netkv.sim.config import lay_out
from netkv.soak import case as cases
from netkv.soak.case_generator import USUAL_KINDS, generate
from tests.schemes.changed import preserving

SEEDS = range(200)


def test_same_seed_gives_the_same_case() -> None:
    drawn = [generate("netcache", seed) for seed in SEEDS]
    assert drawn == [generate("netcache", seed) for seed in SEEDS]
    assert len({case.model_dump_json() for case in drawn}) == len(drawn)


def test_schemes_get_the_same_racks_loads_and_faults() -> None:
    for seed in range(20):
        one, other = generate("nocache", seed), generate("netcache", seed)
        # NetCache's program runs in one pipeline.
        lab = other.rack.lab.model_copy(update={"pipelines": one.rack.lab.pipelines})
        rack = other.rack.model_copy(update={"scheme": "nocache", "lab": lab})
        assert one == other.model_copy(update={"rack": rack})


def test_scheme_for_layers_gets_layers_and_the_same_load() -> None:
    sizes: Counter[tuple[int, int]] = Counter()
    hit: Counter[str] = Counter()
    for seed in SEEDS:
        case, other = generate("distnocache", seed), generate("nocache", seed)
        topology = case.rack.lab.topology
        assert topology.kind == "spine-leaf"
        sizes[topology.layers, topology.switches] += 1
        assert case.rack.workload == other.rack.workload
        assert case.rack.lab == other.rack.lab.model_copy(update={"topology": topology})
        assert case.duration == other.duration
        # Only a rack of several switches has a time until their failures are noticed.
        control = case.profile.control
        noticed = other.profile.control.model_copy(
            update={"detection_time": control.detection_time}
        )
        assert case.profile == other.profile.model_copy(update={"control": noticed})
        known = layout.nodes_of(case.rack.lab)
        for fault in case.faults:
            if (node := fault.begin.action.goes_down) is not None:
                hit[node.rstrip("0123456789")] += known[node] is nodes.Switch
    assert set(sizes) == set(itertools.product((1, 2, 3), repeat=2))
    for layer in ("edge-", "spine-", "spine1-", "spine2-", "leaf-"):
        assert hit[layer] > 5, layer


def test_cases_have_several_pipelines_if_the_scheme_permits() -> None:
    drawn = Counter(generate("nocache", seed).rack.lab.pipelines for seed in SEEDS)
    assert set(drawn) == {1, 2, 4}
    assert min(drawn.values()) > 20
    assert {generate("netcache", seed).rack.lab.pipelines for seed in SEEDS} == {1}


def test_every_fault_hits_a_node_and_ends_before_the_load() -> None:
    for seed in SEEDS:
        case = generate("netcache", seed)
        switches = {plan.name for plan in lay_out(case.rack).switches}
        nodes = {"switch"} if len(switches) == 1 else switches
        nodes |= {"controller", *(f"servers-{i}" for i in range(4))}
        for fault in case.faults:
            assert 0 <= fault.begin.at < case.duration
            assert fault.end is not None, "no client of NetCache crashes: it preserves nothing"
            assert fault.begin.at < fault.end.at < case.duration
            down = fault.begin.action.goes_down
            assert down is None or down in nodes
            assert down == fault.end.action.comes_up


def test_all_kinds_of_racks_loads_and_faults_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    changed = preserving(schemes.get("netcache"))
    monkeypatch.setitem(registry.catalogue().schemes, "netcache", changed)
    for seed in SEEDS:
        case = generate("netcache", seed, FAULT_KINDS)
        lab, load = case.rack.lab, case.rack.workload
        counts[lab.topology.kind] += 1
        counts["closed" if isinstance(load.arrivals, ClosedLoop) else "open"] += 1
        counts["deletes"] += load.deletes > 0
        counts["shift"] += load.shift is not None
        counts["more keys than entries"] += load.keys > lab.cache_entries  # type: ignore[attr-defined]
        counts["in guard"] += case.idle < 1
        for fault in case.faults:
            link = bad_link(fault)
            assert link is None or not link.heals
            kinds = [] if link is None else ["cut" if link.loss == 1 else "link"]
            if link is not None:
                others = ("duplicate", "corrupt", "reorder", "delay")
                kinds += [name for name in others if getattr(link, name)]
                kinds += ["loss"] * (0 < link.loss < 1)
            begin, end = fault.begin.action, fault.end and fault.end.action
            if isinstance(begin, Kill) and begin.after_actions is not None:
                kinds += ["controller-restart"]
            kinds += ["client-crash"] * isinstance(begin, Crash)
            counts.update(kinds or [begin.NAME])
            counts["storage kept"] += isinstance(end, Start) and end.storage == "kept"
    for what in ("rack", "racks", "spine-leaf", "closed", "open", "deletes", "shift", "in guard"):
        assert counts[what] > 5, what
    for what in ("more keys than entries", "storage kept", *USUAL_KINDS):
        assert counts[what] > 20, what


def is_crash(fault: Fault) -> bool:
    return isinstance(fault.begin.action, Crash)


def test_crashes_of_clients_do_not_change_other_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without = [generate("netcache", seed, FAULT_KINDS).faults for seed in range(20)]
    changed = preserving(schemes.get("netcache"))
    monkeypatch.setitem(registry.catalogue().schemes, "netcache", changed)
    with_crashes = [generate("netcache", seed, FAULT_KINDS).faults for seed in range(20)]
    usual = [generate("netcache", seed).faults for seed in range(20)]
    assert not any(is_crash(fault) for faults in usual for fault in faults)
    assert without != with_crashes
    assert without == [tuple(f for f in faults if not is_crash(f)) for faults in with_crashes]


def test_corruption_changes_no_other_draw() -> None:
    """Apart from corruption, a case is that of its seed without it."""
    alone = both = 0
    for scheme, seed in itertools.product(("netcache", "distcache", "lake", "client-cache"), SEEDS):
        case = generate(scheme, seed)
        without = generate(scheme, seed, [kind for kind in USUAL_KINDS if kind != "corrupt"])
        kept = []
        for fault in case.faults:
            link = bad_link(fault)
            if link is None or not link.corrupt:
                kept.append(fault)
                continue
            link = link.model_copy(update={"corrupt": 0.0})
            alone += link.heals
            both += not link.heals
            kept += [] if link.heals else [with_link(fault, link)]
        assert case.model_copy(update={"faults": tuple(kept)}) == without, (scheme, seed)
    assert alone > 50
    assert both > 50


def test_no_link_has_two_faults_at_a_time() -> None:
    for scheme, seed in itertools.product(("netcache", "distcache", "lake", "client-cache"), SEEDS):
        ends: dict[str, float] = {}
        for fault in generate(scheme, seed).faults:
            if (link := bad_link(fault)) is not None:
                assert fault.end is not None
                assert ends.get(link.node, -1.0) < fault.begin.at, (scheme, seed)
                ends[link.node] = fault.end.at


def test_only_requested_kinds_of_faults_are_drawn() -> None:
    for seed in range(30):
        assert generate("netcache", seed, ()).faults == ()
        for kind in ("partition", "slow"):
            faults = generate("netcache", seed, (kind,)).faults
            assert {fault.begin.action.NAME for fault in faults} <= {kind}


@pytest.mark.parametrize("scheme", ["netcache", "distnocache"])
def test_a_case_is_read_back_from_a_file(scheme: str, tmp_path: Path) -> None:
    for seed in range(20):
        case = generate(scheme, seed)
        cases.save(case, tmp_path / "case.json")
        assert cases.load(tmp_path / "case.json") == case


@pytest.mark.parametrize("content", ["", "{}", '{"seed": 1, "rack": {"schem": "netcache"}}', "[1]"])
def test_a_file_without_a_case_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "case.json").write_text(content)
    with pytest.raises(UsageError, match="is not a case of 'netkv soak'"):
        cases.load(tmp_path / "case.json")
    with pytest.raises(UsageError, match="cannot be read"):
        cases.load(tmp_path / "none.json")
