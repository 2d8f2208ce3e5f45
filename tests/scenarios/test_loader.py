"""Errors of the scenario loader name the line, the field and the valid values."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import resources
from netkv.errors import NetkvError, UsageError
from netkv.model.spec import ClosedLoop, Poisson, UniformSize
from netkv.scenarios import loader

GOOD = """\
name: mine
schemes: [nocache, netcache]
lab:
  servers: 4
workload:
  keys: 1000
  zipf: 0.9
  arrivals: {outstanding: 8}
duration: 5
"""


def error_of(text: str, *overrides: str) -> str:
    with pytest.raises(UsageError) as caught:
        loader.loads(text, "scenarios/mine.yaml", overrides)
    return str(caught.value)


def test_misspelt_option_names_line_and_right_name() -> None:
    assert error_of(GOOD.replace("zipf:", "zipff:")) == (
        "scenarios/mine.yaml:7: 'workload.zipff' is not an option of a workload.\n"
        "  Did you mean 'zipf'? Options: arrivals, conditional, deletes, key_size, keys, mix, "
        "multiget, placement, rotation, shift, value_size, writes, zipf."
    )


def test_all_misspelt_options_are_reported_at_once() -> None:
    text = error_of(GOOD.replace("servers", "serverz").replace("zipf:", "zipff:"))
    assert "mine.yaml:4: 'lab.serverz'" in text
    assert "mine.yaml:7: 'workload.zipff'" in text


def test_value_out_of_range_names_line_value_and_limit() -> None:
    text = error_of(GOOD.replace("zipf: 0.9", "zipf: 3"))
    assert text.startswith("scenarios/mine.yaml:7: 'workload.zipf' is 3; ")
    assert "1.2" in text


@pytest.mark.parametrize(
    ("arrivals", "path", "part"),
    [
        ("{outstanding: 0}", "workload.arrivals.outstanding", "greater than or equal to 1"),
        ("{rate: -1}", "workload.arrivals.rate", "greater than 0"),
        (
            "{rat: 5}",
            "workload.arrivals.rat",
            "Did you mean 'rate'? Options: every, loss, outstanding, rate, threads.",
        ),
    ],
)
def test_error_is_about_the_chosen_kind_of_arrivals(arrivals: str, path: str, part: str) -> None:
    text = error_of(GOOD.replace("{outstanding: 8}", arrivals))
    assert text.startswith(f"scenarios/mine.yaml:8: '{path}'")
    assert part in text
    assert text.count("mine.yaml") == 1


def test_wrong_value_size_is_reported_once() -> None:
    text = error_of(GOOD.replace("  zipf: 0.9", "  value_size: 5000"))
    assert text.startswith("scenarios/mine.yaml:7: 'workload.value_size' is 5000;")
    assert text.count("mine.yaml") == 1
    text = error_of(GOOD.replace("  zipf: 0.9", "  value_size: {min: 64, max: 32}"))
    assert (
        "scenarios/mine.yaml:7: 'workload.value_size.min': min (64) is larger than max (32)" in text
    )


def test_missing_scheme_list_is_reported() -> None:
    assert "'schemes' is missing" in error_of("name: mine\n")


def test_unknown_scheme_lists_the_schemes() -> None:
    text = error_of(GOOD.replace("netcache", "netcach"))
    assert text.startswith("scenarios/mine.yaml:2: There is no scheme 'netcach'.")
    assert "Did you mean 'netcache'?" in text


def test_text_that_is_not_yaml_names_the_line() -> None:
    assert error_of("name: a\nschemes: [nocache\nlab: {}\n").startswith("scenarios/mine.yaml:3: ")
    assert "mine.yaml:1" in error_of("- a\n- b\n")
    assert "mine.yaml:1" in error_of("")


def test_error_about_a_renamed_option_has_the_new_name() -> None:
    text = error_of(GOOD, "lab.guests=2")
    assert "'lab.guests' is not an option of a lab. It is called 'lab.external_clients'" in text


def test_option_given_twice_is_refused() -> None:
    assert "mine.yaml:10: has 'duration' twice" in error_of(GOOD + "duration: 6\n")


def test_missing_file_and_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no scenario file"):
        loader.find(str(tmp_path / "none.yaml"))
    with pytest.raises(UsageError, match="Did you mean 'quickstart'"):
        loader.find("quickstrat")


@pytest.mark.parametrize("name", resources.scenarios())
def test_shipped_scenario_loads_under_its_own_name(name: str) -> None:
    scenario = loader.load(loader.find(name))
    assert scenario.name == name
    assert scenario.title
    assert scenario.description


def test_two_shipped_scenarios_of_one_name_are_refused_with_both_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / "same.yaml", tmp_path / "netcache" / "same.yaml"]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(GOOD)
    monkeypatch.setattr(resources, "path", lambda _: tmp_path)
    with pytest.raises(NetkvError, match="Two scenarios have the name 'same'") as caught:
        loader.find("same")
    assert all(str(file) in str(caught.value) for file in files)


def test_set_overrides_options() -> None:
    scenario = loader.loads(
        GOOD,
        "f",
        ["workload.zipf=0.5", "lab.service_rate=200", "workload.value_size={min: 16, max: 64}"],
    )
    assert scenario.workload.zipf == 0.5
    assert scenario.lab.service_rate == 200
    assert scenario.workload.value_size == UniformSize(min=16, max=64)


def test_set_switches_between_closed_and_open_loop() -> None:
    assert loader.loads(GOOD, "f").workload.arrivals == ClosedLoop(outstanding=8)
    scenario = loader.loads(GOOD, "f", ["workload.arrivals.rate=500"])
    assert scenario.workload.arrivals == Poisson(rate=500)


@pytest.mark.parametrize(
    ("item", "part"),
    [
        (
            "workload.zipff=1",
            "'workload.zipff' is not an option of a workload.\n  Did you mean 'zipf'?",
        ),
        ("nothing=1", "'nothing' is not an option of a scenario."),
        ("workload.zipf.x=1", "'workload.zipf' has no options of its own"),
        ("events.3.at=1", "does not exist: there are 0"),
        ("workload.zipf", "should look like workload.zipf=0.9"),
        ("workload.zipf=9", "'workload.zipf' is 9; it should be less than or equal to 1.2"),
        ("workload.zipf=[", "is not YAML"),
        ("workload={keyz: 3}", "'workload.keyz' is not an option of a workload."),
    ],
)
def test_wrong_set_is_a_usage_error(item: str, part: str) -> None:
    text = error_of(GOOD, item)
    assert text.startswith(f"--set {item}: ")
    assert part in text


def test_event_needs_exactly_one_action_and_a_real_node() -> None:
    assert "exactly one of" in error_of(GOOD + "events:\n  - {at: 1}\n")
    assert "exactly one of" in error_of(GOOD + "events:\n  - {at: 1, stop: switch, rate: 5}\n")
    text = error_of(GOOD + "events:\n  - {at: 1, kill: servers-7}\n")
    assert "no node 'servers-7'" in text
    nodes = "client, controller, servers-0, switch"
    assert f"Did you mean 'servers-0'? Its nodes: {nodes}." in text
    assert "no earlier event" in error_of(GOOD + "events:\n  - {at: 1, start: switch}\n")
    assert "after the end" in error_of(GOOD + "events:\n  - {at: 50, kill: switch}\n")
    loader.loads(GOOD + "events:\n  - {at: 1, kill: switch}\n  - {at: 2, start: switch}\n", "f")


@pytest.mark.parametrize(
    ("lines", "line", "field"),
    [
        # Events may be in any order of time.
        (["- at: 3", "  start: switch"], 12, "start"),
        (["- {at: 1, kill: switch}", "- at: 2", "  kill: switch"], 13, "kill"),
        (["- at: 4", "  kill: switch", "- at: 1", "  stop: switch"], 12, "kill"),
        (["- at: 1", "  kill: servers-9"], 12, "kill"),
        (["- at: 1", "  crash: client"], 12, "crash"),
        (["- kill: switch", "  at: 50"], 12, "at"),
        (["- at: 1", "  heal: controller"], 12, "heal"),
        (
            ["- {at: 1, partition: controller}", "- at: 2", "  partition: controller"],
            13,
            "partition",
        ),
        (["- at: 1", "  link:", "    loss: 1", "    node: switch"], 14, "link.node"),
        (["- at: 1", "  link: {node: client, loss: 1}"], 12, "link"),
        (["- at: 1", "  slow:", "    factor: 2", "    node: servers-5"], 14, "slow.node"),
        (["- at: 1", "  slow: {node: servers-0, factor: 2}"], 12, "slow"),
        (["- at: 1", "  kill: client"], 11, ""),
        (["- at: 1", "  kill: coordinator"], 12, "kill"),
        (["- at: 1", "  kill: switch", "  rate: 5"], 13, "rate"),
        (["- at: 1", "  kill: switch", "  storage: lost"], 13, "storage"),
        (["- at: 1", "  kill: switch", "  after_actions: 1"], 13, "after_actions"),
        (["- at: 1", "  shift:", "    kind: hot-in", "    keys: 2000"], 14, "shift.keys"),
        (["- at: 1", "  shift:", "    kind: hot-in", "    admit: new"], 14, "shift.admit"),
    ],
)
def test_impossible_event_names_the_line_of_its_field(
    lines: list[str], line: int, field: str
) -> None:
    text = error_of(GOOD + "events:\n" + "".join(f"  {each}\n" for each in lines))
    (index,) = {at for at, each in enumerate(events_of(lines)) if each[0] <= line <= each[1]}
    name = ".".join(part for part in ("events", str(index), field) if part)
    assert text.startswith(f"scenarios/mine.yaml:{line}: '{name}': "), text
    assert text.count("mine.yaml") == 1


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ("leaf-1", "or by the two switches at its ends: edge-0:spine-0"),
        ("spine-0:leaf1", "Did you mean 'spine-0:leaf-1'?"),
        ("controller", "the control channel is cut by 'partition: controller'"),
    ],
)
def test_link_between_switches_is_named_by_both(node: str, text: str) -> None:
    good = GOOD.replace("  servers: 4\n", "  servers: 4\n  topology: {kind: spine-leaf}\n")
    event = f"  - {{at: 1, link: {{node: '{node}', loss: 0.5}}}}\n"
    assert text in error_of(good + "events:\n" + event)
    right = event.replace(node, "spine-0:leaf-1").replace("0.5", "0.5, direction: to")
    loader.loads(good + "events:\n" + right, "scenarios/mine.yaml")


def events_of(lines: list[str]) -> list[tuple[int, int]]:
    """First and last line of each event in a file whose events begin at line 11."""
    firsts = [11 + at for at, line in enumerate(lines) if line.startswith("-")]
    return list(zip(firsts, [*(first - 1 for first in firsts[1:]), 10 + len(lines)], strict=True))


@pytest.mark.parametrize(
    ("lines", "line", "field"),
    [
        (["random_faults:", "  every: 1", "  last: 1", "  nodes:", "    - swich"], 14, "nodes.0"),
        (
            ["random_faults: {every: 1, last: 1,", "  kinds: [loss,", "  slow]}"],
            12,
            "kinds.1",
        ),
        (
            ["random_faults:", "  every: 1", "  last: 1", "  kinds:", "    - client-crash"],
            14,
            "kinds.0",
        ),
    ],
)
def test_impossible_random_fault_names_its_line(lines: list[str], line: int, field: str) -> None:
    text = error_of(GOOD + "".join(f"{each}\n" for each in lines))
    assert text.startswith(f"scenarios/mine.yaml:{line}: 'random_faults.{field}': "), text


@pytest.mark.parametrize(
    ("lines", "line", "part"),
    [
        (["events:", "- at: 1", "  kill: controller", "  after_actions: 3"], 13, "two of its"),
        (
            [
                *("events:", "- {at: 1, kill: servers-0}", "- at: 2", "  start: servers-0"),
                "  storage: kept",
            ],
            14,
            "a store in memory",
        ),
    ],
)
def test_error_of_a_simulator_only_event_names_its_line(
    lines: list[str], line: int, part: str
) -> None:
    text = GOOD + "\n".join(lines) + "\n"
    with pytest.raises(UsageError) as caught:
        loader.loads(text, "scenarios/mine.yaml", to_run=True)
    assert str(caught.value).startswith(f"scenarios/mine.yaml:{line}: The event at ")
    assert part in str(caught.value)
    loader.loads(text, "scenarios/mine.yaml", ["mode=sim"], to_run=True)
    loader.loads(text, "scenarios/mine.yaml")


def test_error_of_a_wrong_scheme_names_its_line() -> None:
    block = "schemes:\n  - nocache\n  - {}\n"
    head = "name: mine\n"
    assert error_of(head + block.format("netcach")).startswith("scenarios/mine.yaml:4: There is no")
    twice = error_of(head + block.format("nocache"))
    assert twice == "scenarios/mine.yaml:4: 'schemes.1': 'nocache' is listed twice."


@pytest.mark.parametrize(
    ("workload", "line", "parts"),
    [
        (["shift:", "  kind: random", "  top: 10", "  keys: 100"], 9, ["100 keys", "'top'"]),
        (["shift:", "  kind: hot-in", "  top: 10", "  keys: 100"], 9, ["100 keys", "'top'"]),
        (["shift:", "  kind: random", "  top: 10"], 8, ["200 keys", "10 most popular"]),
        (["shift: {kind: hot-out,", "  keys: 2000}"], 7, ["2,000 keys", "is 1,000"]),
        (["shift: {kind: random,", "  keys: 10, top: 995}"], 7, ["at least 1,005, not 1,000"]),
        (["shift: {kind: random}"], 6, ["at least 10,200, not 1,000"]),
        (["mix: ycsb-d", "shift: {kind: hot-in, keys: 10}"], 7, ["ycsb-d", "newest"]),
        (["writes: 0.6", "deletes: 0.5"], 7, ["more than 1"]),
        (["writes: 0.5", "mix: ycsb-a"], 7, ["leave out"]),
        (["arrivals:", "  rate: 5", "  every: 1", "  loss: 0.1"], 8, ["longer than the deadline"]),
        (["multiget:", "  max: 2", "  min: 4"], 8, ["min (4) is larger than max (2)"]),
    ],
)
def test_error_of_a_contradictory_workload_names_its_line(
    workload: list[str], line: int, parts: list[str]
) -> None:
    lines = ["name: mine", "schemes: [nocache]", "duration: 5", "workload:", "  keys: 1000"]
    text = error_of("\n".join([*lines, *(f"  {each}" for each in workload)]))
    assert text.startswith(f"scenarios/mine.yaml:{line}: 'workload"), text
    for part in parts:
        assert part in text


@pytest.mark.parametrize(
    ("head", "part"),
    [
        ("schemes: [netcache]", "Only the simulator has an oracle"),
        ("schemes: [netcache]\nmode: live", "Only the simulator has an oracle"),
        ("schemes: [nocache]\nmode: sim", "schemes that have one: netcache, farreach, dist"),
    ],
)
def test_oracle_is_refused_where_it_has_no_effect(head: str, part: str) -> None:
    text = f"name: mine\n{head}\nworkload:\n  shift:\n    kind: hot-in\n    admit: new\n"
    line = text.splitlines().index("    admit: new") + 1
    with pytest.raises(UsageError) as caught:
        loader.loads(text, "scenarios/mine.yaml", to_run=True)
    assert str(caught.value).startswith(f"scenarios/mine.yaml:{line}: ")
    assert part in str(caught.value)


def test_oracle_may_run_beside_a_scheme_without_a_cache() -> None:
    shift = "shift: {kind: hot-in, admit: hottest}"
    text = f"name: a\nschemes: [nocache, netcache]\nmode: sim\nworkload: {{{shift}}}\n"
    loader.loads(text, "f", to_run=True)


def test_hot_in_shift_of_many_keys_needs_no_top() -> None:
    shift = "shift: {kind: hot-in, keys: 20000}"
    scenario = loader.loads(f"name: a\nschemes: [nocache]\nworkload: {{{shift}}}\n", "f")
    assert scenario.workload.shift is not None
    assert scenario.workload.shift.keys == 20_000
    again = type(scenario).model_validate(scenario.model_dump(mode="json"))
    assert again.workload == scenario.workload


def test_error_of_too_many_keys_for_a_store_names_the_line() -> None:
    more = GOOD.replace("keys: 1000", "keys: 200_000_000").replace("servers: 4", "backend: redis")
    text = error_of(more)
    assert text.startswith("scenarios/mine.yaml:6: 'workload.keys': all 200,000,000 keys"), text


def test_wrong_value_of_a_sweep_names_its_own_line() -> None:
    text = error_of(GOOD + "sweep:\n  workload.zipf:\n    - 0.9\n    - 7\n")
    assert text.startswith("scenarios/mine.yaml:13: ")


def test_contradictory_plot_names_the_line_of_its_field() -> None:
    text = error_of(GOOD + "plots:\n  - y: hit_ratio\n    x: time\n    kind: bars\n")
    assert text.startswith("scenarios/mine.yaml:13: 'plots.0.kind': over time"), text


def test_wrong_event_names_its_own_line() -> None:
    text = error_of(GOOD + "events:\n  - at: 1\n    kil: switch\n")
    assert text.startswith("scenarios/mine.yaml:12: 'events.0.kil' is not an option of an event.")


def test_sweep_over_unknown_path_or_wrong_value_is_refused() -> None:
    text = error_of(GOOD + "sweep:\n  workload.zipff: [1]\n")
    assert text.startswith("scenarios/mine.yaml:11: 'workload.zipff' is not an option")
    text = error_of(GOOD + "sweep:\n  workload.zipf: [0.9, 7]\n")
    assert text.startswith("scenarios/mine.yaml:11: ")
    assert "1.2" in text
    assert "cannot be swept" in error_of(GOOD + "sweep:\n  schemes: [[nocache]]\n")


def test_sweep_point_sets_its_options() -> None:
    scenario = loader.loads(GOOD + "sweep:\n  workload.zipf: [0.5]\n", "f")
    applied = loader.apply(scenario, {"workload.zipf": 0.5, "workload.arrivals.rate": 10})
    assert applied.workload.zipf == 0.5
    assert applied.workload.arrivals == Poisson(rate=10)
    assert applied.sweep == {}


def test_wrong_expectation_names_its_line() -> None:
    text = error_of(GOOD + "expect:\n  - netcache.throughput >= 2\n")
    assert text.startswith("scenarios/mine.yaml:11: 'throughput' in")
    assert "Did you mean 'throughput_ops'" in text


SWEEP = "sweep:\n  workload.zipf: [0, 0.9]\nplots:\n"


@pytest.mark.parametrize(
    ("plot", "part"),
    [
        ("{y: throughput}", "'plots.0.y' is 'throughput'; it should be 'throughput_ops', "),
        ("{x: workload.writes}", "'plots.0.x': 'workload.writes' is not swept"),
        ("{x: workload.zip}", "Did you mean 'workload.zipf'? Possible: scheme, time, workload."),
        ("{y: server_load, x: time}", "over 'time' use 'load_imbalance'"),
        ("{y: latency_us, x: workload.zipf}", "over 'workload.zipf' use 'latency_p99_us'"),
        ("{kind: stacked}", "kind 'stacked' is for 'served_by' and 'recovery_time'"),
        ("{y: served_by, x: time}", "exists only for whole runs"),
        ("{y: recovery_time, x: time}", "exists only for whole runs"),
        ("{y: recovery_time, kind: lines}", "kind 'stacked' is for"),
        ("{x: time, kind: bars}", "over time there are lines"),
        ("{kind: lines}", "schemes have no order"),
        ("{y: hit_ratio, kind: distribution}", "only 'latency_us' can be drawn as a distribution"),
        ("{x: workload.zipf, log: [x]}", "'plots.0.log': a logarithmic axis cannot show 0 of"),
        ("{x: time, log: [x]}", "needs lines over the numbers of a sweep"),
        ("{relative_to: {}}", "has a 'scheme', a 'point' of the sweep, or both"),
        ("{relative_to: {scheme: netcach}}", "Did you mean 'netcache'?"),
        ("{relative_to: {schem: nocache}}", "is not an option of a baseline"),
        ("{relative_to: {point: {workload.writes: 0}}}", "'workload.writes' is not swept"),
        ("{relative_to: {point: {workload.zipf: 1}}}", "1 is not a value of 'workload.zipf'"),
    ],
)
def test_error_of_an_impossible_plot_names_its_line(plot: str, part: str) -> None:
    text = error_of(f"{GOOD}{SWEEP}  - {plot}\n")
    assert text.startswith("scenarios/mine.yaml:13: ")
    assert part in text


def test_plots_of_all_kinds_are_accepted() -> None:
    loader.loads(
        GOOD
        + SWEEP
        + """\
  - {x: workload.zipf, relative_to: {scheme: nocache, point: {workload.zipf: 0}}, log: [y]}
  - {x: workload.zipf, kind: bars, relative_to: {point: {workload.zipf: 0}}}
  - {y: served_by, x: workload.zipf}
  - {y: served_by, kind: stacked}
  - {y: latency_us}
  - {y: latency_us, kind: distribution}
  - {y: server_load, relative_to: {scheme: nocache}}
  - {y: hit_ratio, x: time, kind: lines}
  - {y: cached, x: workload.zipf, log: []}
""",
        "f",
    )


def test_replaced_sweep_drops_plots_over_the_old_one() -> None:
    text = GOOD + SWEEP + "  - {x: workload.zipf}\n  - {y: hit_ratio}\n"
    scenario = loader.loads(text, "f", ["sweep={lab.servers: [2, 4]}"])
    assert [plot.y for plot in scenario.plots] == ["hit_ratio"]
    assert len(loader.loads(text, "f", ["sweep={workload.zipf: [0.5]}"]).plots) == 2


@pytest.mark.parametrize(
    ("schemes", "option", "able"),
    [
        ("[nocache, netcache]", "snapshot_period: 2", "farreach"),
        ("[farreach]", "cache_rows: 8", "netcache, distcache"),
        ("[nocache]", "hot_threshold: 8", "netcache, farreach, distcache, distreach"),
        ("[netmc, climc]", "coordinator_workers: 2", "coordimc"),
    ],
)
def test_option_of_an_unlisted_scheme_is_refused(schemes: str, option: str, able: str) -> None:
    """The error has the line, and the schemes that have the option."""
    text = f"name: mine\nschemes: {schemes}\nlab:\n  servers: 4\n  {option}\n"
    with pytest.raises(UsageError) as wrong:
        loader.loads(text, "mine.yaml")
    name = option.split(":")[0]
    listed = schemes.strip("[]")
    assert str(wrong.value) == (
        f"mine.yaml:5: 'lab.{name}' is not an option of {listed}.\n  Schemes that have it: {able}."
    )


def test_option_of_one_of_several_schemes_is_accepted() -> None:
    text = "name: mine\nschemes: [nocache, netcache, farreach]\nlab: {cache_rows: 8}\n"
    loader.loads(text, "mine.yaml", ["lab.snapshot_period=2", "sweep={lab.hot_threshold: [2, 4]}"])


def test_option_of_a_requested_scheme_is_accepted() -> None:
    text = "name: mine\nschemes: [nocache, netcache]\nlab: {cache_entries: 8}\n"
    changes = ["lab.snapshot_period=2"]
    loader.loads(text, "mine.yaml", changes, also=["farreach"])
    loader.loads(text, "mine.yaml", ["schemes=[nocache]"])
    with pytest.raises(UsageError, match=r"^--set lab.snapshot_period=2: .*is not an option of"):
        loader.loads(text, "mine.yaml", changes)


def test_swept_option_of_an_unlisted_scheme_is_refused() -> None:
    text = "name: mine\nschemes: [netcache]\nsweep:\n  lab.snapshot_period: [1, 2]\n"
    with pytest.raises(UsageError, match=r"^mine.yaml:4: 'lab.snapshot_period' is not an option"):
        loader.loads(text, "mine.yaml")


@pytest.mark.parametrize(
    ("text", "overrides", "place"),
    [
        (GOOD.replace("netcache", "netmc").replace("4", "33"), [], "mine.yaml:4: "),
        (GOOD, ["lab.pipelines=4"], "--set lab.pipelines=4: "),
        (GOOD + "sweep:\n  lab.pipelines: [1, 2]\n", [], "mine.yaml:11: "),
    ],
)
def test_error_of_a_lab_that_a_scheme_refuses_names_the_line(
    text: str, overrides: list[str], place: str
) -> None:
    with pytest.raises(UsageError) as caught:
        loader.loads(text, "mine.yaml", overrides, to_run=True)
    assert str(caught.value).startswith(f"{place}The scheme '")
    loader.loads(text, "mine.yaml", overrides)
