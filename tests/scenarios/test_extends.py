"""A scenario that extends another has its options, and errors name the file that has the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import resources
from netkv.errors import UsageError
from netkv.scenarios import flattening, loader, sources

BASE = """\
# The base.
name: base
schemes: [nocache, netcache]

lab:
  # Few.
  servers: 4
  clients: 2

workload:
  keys: 1000
  arrivals: {rate: 500}

sweep:
  workload.zipf: [0, 0.9]
  lab.servers: [2, 4]

expect:
  - each.linearizable == 1
"""
OWN = """\
# Mine.
extends: base.yaml
name: mine

lab: {servers: 8}
"""


def saved(folder: Path, own: str, base: str = BASE) -> Path:
    (folder / "base.yaml").write_text(base)
    file = folder / "mine.yaml"
    file.write_text(own)
    return file


def error_of(file: Path) -> str:
    with pytest.raises(UsageError) as caught:
        loader.load(file)
    return str(caught.value)


def test_options_of_the_base_are_merged(tmp_path: Path) -> None:
    scenario = loader.load(saved(tmp_path, OWN))
    assert scenario.name == "mine"
    assert scenario.schemes == ["nocache", "netcache"]
    assert (scenario.lab.servers, scenario.lab.clients) == (8, 2)
    assert list(scenario.sweep) == ["workload.zipf", "lab.servers"]


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("sweep: {lab.servers: null}", {"sweep": {"workload.zipf": [0, 0.9]}}),
        (
            "sweep: {workload.zipf: [0.5]}",
            {"sweep": {"workload.zipf": [0.5], "lab.servers": [2, 4]}},
        ),
        ("expect: []", {"expect": []}),
        ("workload: null", {"workload": None}),
        (
            "workload: {arrivals: {outstanding: 3}}",
            {"workload": {"keys": 1000, "arrivals": {"outstanding": 3}}},
        ),
    ],
)
def test_null_removes_and_other_values_replace(
    tmp_path: Path, line: str, options: dict[str, object]
) -> None:
    found = sources.read(saved(tmp_path, f"{OWN}{line}\n")).options
    assert {name: found.get(name) for name in options} == options


def test_sweep_keeps_the_order_of_the_base(tmp_path: Path) -> None:
    """The order of a sweep is that of its runs."""
    found = sources.read(saved(tmp_path, f"{OWN}sweep: {{workload.zipf: [0.5]}}\n")).options
    assert list(found["sweep"]) == ["workload.zipf", "lab.servers"]


def test_shipped_scenario_is_extended_by_its_name() -> None:
    scenario = loader.loads("extends: quickstart\nname: mine\nworkload: {zipf: 0}\n", "f")
    shipped = loader.load(loader.find("quickstart"))
    workload = shipped.workload.model_copy(update={"zipf": 0.0})
    assert scenario == shipped.model_copy(update={"name": "mine", "workload": workload})


def test_chain_of_bases_and_folders(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    saved(tmp_path, OWN)
    last = tmp_path / "below" / "last.yaml"
    last.write_text("extends: ../mine.yaml\nname: last\nduration: 7\n")
    scenario = loader.load(last)
    assert (scenario.duration, scenario.lab.servers, scenario.workload.keys) == (7, 8, 1000)


def test_error_names_the_file_and_line_of_the_option(tmp_path: Path) -> None:
    wrong = BASE.replace("clients: 2", "clients: -2").replace("keys: 1000", "keis: 1000")
    text = error_of(saved(tmp_path, OWN, wrong))
    assert text.startswith(f"{tmp_path}/base.yaml:11: 'workload.keis' is not an option")
    text = error_of(saved(tmp_path, OWN, BASE.replace("clients: 2", "clients: -2")))
    assert text.startswith(f"{tmp_path}/base.yaml:8: 'lab.clients' is -2")
    text = error_of(saved(tmp_path, OWN.replace("8", "-8")))
    assert text.startswith(f"{tmp_path}/mine.yaml:5: 'lab.servers' is -8")
    # The list of the base does not count.
    text = error_of(saved(tmp_path, f"{OWN}expect: [1]\n"))
    assert text.startswith(f"{tmp_path}/mine.yaml:6: 'expect.0' is 1")
    assert "mine.yaml:2: 'name' is missing" in error_of(saved(tmp_path, "\nextends: base.yaml\n"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("extends: [a]", "mine.yaml:1: 'extends' is a list; it should be a name or a path."),
        ("extends:", "mine.yaml:1: 'extends' is empty; it should be a name or a path."),
        ("extends: quickstrat", "'extends' is 'quickstrat', which is no scenario that ships."),
        ("extends: quickstrat", "Did you mean 'quickstart'?"),
        ("extends: none.yaml", "'extends' is 'none.yaml', but there is no file "),
        ("extends: ./mine.yaml", "is a circle: mine.yaml extends mine.yaml."),
    ],
)
def test_impossible_base_is_refused(tmp_path: Path, line: str, message: str) -> None:
    assert message in error_of(saved(tmp_path, f"{line}\nname: mine\n"))


def test_circle_of_files_is_refused(tmp_path: Path) -> None:
    file = saved(tmp_path, OWN, f"extends: mine.yaml\n{BASE}")
    text = error_of(file)
    assert text.startswith(f"{tmp_path}/base.yaml:1: 'extends' is a circle: ")
    assert "mine.yaml extends base.yaml extends mine.yaml." in text


def test_text_without_a_folder_reads_no_file() -> None:
    with pytest.raises(UsageError, match="'extends' is the path '/etc/passwd"):
        loader.loads("extends: /etc/passwd.yaml\nname: mine\n", "f")


def test_base_that_does_not_stand_alone_is_in_no_list() -> None:
    assert [name for name in resources.scenarios() if name.startswith("_")] == []
    with pytest.raises(UsageError, match="There is no scenario '_farreach'"):
        loader.find("_farreach")
    assert loader.loads("extends: _farreach\nname: mine\n", "f").lab.servers == 16


@pytest.mark.parametrize("name", resources.scenarios())
def test_flattened_text_is_the_same_scenario(name: str) -> None:
    source = sources.read(loader.find(name))
    text = flattening.flattened(source)
    assert loader.loads(text, name) == loader.of_source(source)
    assert "extends:" not in text


def test_flattened_text_keeps_comments_and_order(tmp_path: Path) -> None:
    own = f"{OWN}# Long.\nduration: 7\nsweep: {{lab.servers: null}}\n"
    assert (
        flattening.flattened(sources.read(saved(tmp_path, own)))
        == """\
# Mine.
name: mine
schemes: [nocache, netcache]

lab:
  # Few.
  servers: 8
  clients: 2

workload:
  keys: 1000
  arrivals: {rate: 500}
# Long.
duration: 7

sweep:
  workload.zipf: [0, 0.9]

expect:
  - each.linearizable == 1
"""
    )


@pytest.mark.parametrize(
    ("base", "own"),
    [
        ('{"name": "base", "schemes": ["nocache"], "lab": {"servers": 2}}', OWN),
        (BASE, '{"extends": "base.yaml", "name": "mine", "workload": {"zipf": 0.5}}'),
        (BASE, f"{OWN}x-load: &load {{zipf: 0.5}}\nworkload: {{<<: *load, keys: 7}}\n"),
        (f"x-lab: &lab {{servers: 4}}\n{BASE.replace('  servers: 4', '  <<: *lab')}", OWN),
        (BASE, f"{OWN}sweep: {{lab.servers: null, workload.zipf: null}}\nworkload: null\n"),
    ],
)
def test_any_form_of_the_texts_can_be_flattened(tmp_path: Path, base: str, own: str) -> None:
    source = sources.read(saved(tmp_path, own, base))
    text = flattening.flattened(source)
    assert loader.loads(text, "f") == loader.of_source(source)
