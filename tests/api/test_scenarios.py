"""The API of scenarios: changes of their text, and what a check says."""

from __future__ import annotations

from functools import partial
from typing import Any

import httpx
import pytest
from httpx import Response

from tests.api.serving import Served
from tests.waiting import PATIENCE_S

get = partial(httpx.get, timeout=PATIENCE_S)
post = partial(httpx.post, timeout=PATIENCE_S)

OWN = """\
# Mine.
name: mine
schemes: [nocache]  # one
lab: {servers: 2, service_rate: 100}
workload: {arrivals: {rate: 5000}}
"""


def edit(served: Served, **body: Any) -> Response:
    return post(f"{served.url}/api/v1/scenarios/edit", json=body)


def check(served: Served, **body: Any) -> Response:
    return post(f"{served.url}/api/v1/scenarios/check", json=body)


def test_change_keeps_comments_and_is_an_assignment(served: Served) -> None:
    change = {"path": ["lab", "servers"], "value": 4}
    found = edit(served, scenario="quickstart", changes=[change]).json()
    assert "  servers: 4\n" in found["yaml"]
    assert found["yaml"].startswith("# A skewed, read-mostly load")
    assert found["document"]["lab"]["servers"] == 4
    assert found["set"] == ["lab.servers=4"]
    assert found["exact"]
    assert found["yaml"].splitlines()[found["lines"]["lab.servers"] - 1] == "  servers: 4"
    assert edit(served, scenario="quickstart", set=found["set"]).json() == found


def test_change_of_comments_only_is_not_an_assignment(served: Served) -> None:
    text = edit(served, scenario="quickstart").json()["yaml"]
    found = edit(served, scenario="quickstart", yaml=f"{text}# More.\n").json()
    assert found["set"] == []
    assert not found["exact"]


def test_change_writes_the_options_of_the_base_into_the_text(served: Served) -> None:
    own = "# Mine.\nextends: quickstart\nname: mine\n"
    typed = edit(served, yaml=own).json()
    assert typed["yaml"] == own
    assert typed["document"]["lab"]["servers"] == 8
    changed = edit(served, yaml=own, changes=[{"path": ["lab", "servers"], "value": 4}]).json()
    assert changed["document"] == {**typed["document"], "lab": changed["document"]["lab"]}
    assert changed["yaml"].startswith("# Mine.\nname: mine\ntitle: NoCache")
    assert "  servers: 4\n" in changed["yaml"]
    assert check(served, yaml=own).json()["schemes"] == ["nocache", "netcache"]
    answer = check(served, yaml=own.replace("quickstart", "/etc/mine.yaml"))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "extends"


def test_shipped_text_has_the_options_of_its_base(served: Served) -> None:
    found = get(f"{served.url}/api/v1/scenarios/farreach-skew").json()
    assert "  # All outstanding requests may wait" in found["yaml"]
    assert edit(served, scenario="farreach-skew", yaml=found["yaml"]).json()["exact"]


def test_own_text_has_no_assignments(served: Served) -> None:
    changes = [{"path": ["schemes", 1], "value": "netcache"}, {"path": ["lab"], "remove": True}]
    found = edit(served, yaml=OWN, changes=changes).json()
    assert "schemes: [nocache, netcache]  # one\n" in found["yaml"]
    assert "lab" not in found["document"]
    assert found["set"] is None


def test_edit_of_what_is_no_yaml_names_the_line(served: Served) -> None:
    answer = edit(served, yaml="name: x\nlab: }")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["where"] == "scenario.yaml:2"


def test_edit_needs_a_text_and_a_possible_path(served: Served) -> None:
    assert "give 'scenario', 'yaml', or both" in edit(served).json()["detail"]
    assert edit(served, scenario="nothing").status_code == 404
    answer = edit(served, yaml=OWN, changes=[{"path": ["schemes", 9], "value": "x"}])
    assert answer.status_code == 422
    assert "'schemes.9' does not exist" in answer.json()["detail"]


def test_check_has_the_time_of_each_run_and_warnings(served: Served) -> None:
    found = check(served, yaml=OWN).json()
    (run,) = found["plan"]
    assert run["seconds"] > 13, "warm-up and measured part"
    assert found["wall_seconds"] == run["seconds"]
    (warning,) = found["warnings"]
    assert "5,000" in warning


@pytest.mark.usefixtures("nothing_is_built")
def test_check_has_the_build_of_a_design_that_is_not_built(served: Served) -> None:
    options = ["schemes=[lake]", "sweep={}", "repeat=1", "expect=[]", "plots=[]"]
    found = check(served, scenario="lake-clock", set=options).json()
    (run,) = found["plan"]
    assert found["build_seconds"] > 10 * run["seconds"]
    assert found["wall_seconds"] == pytest.approx(run["seconds"] + found["build_seconds"])
    assert check(served, scenario="quickstart").json()["build_seconds"] == 0


def test_too_many_runs_are_refused_before_they_are_planned(served: Served) -> None:
    values = ", ".join(str(each) for each in range(1, 65))
    sweep = f"sweep: {{lab.servers: [{values}], lab.clients: [{values}]}}\n"
    for path in ("jobs", "scenarios/check"):
        answer = post(f"{served.url}/api/v1/{path}", json={"yaml": OWN + sweep})
        assert answer.status_code == 422
        assert "has 4,096 runs; at most 2,000" in answer.json()["detail"]
        assert answer.json()["errors"][0]["field"] == "sweep"


def test_schema_says_which_options_belong_to_schemes(served: Served) -> None:
    lab = get(f"{served.url}/api/v1/scenarios/schema").json()["$defs"]["LabSpec"]["properties"]
    assert "schemes" not in lab["servers"]
    assert "netcache" in lab["cache_entries"]["schemes"]
    assert "nocache" not in lab["cache_entries"]["schemes"]


def test_unusual_yaml_ends_in_a_text_or_in_a_sentence(served: Served) -> None:
    for value, status in (
        ("2001-99-99", 200),
        ("!!int abc", 422),
        ("&a [*a]", 422),
        ("!!set {a, b}", 422),
        ("!!binary gA==", 422),
        ("1e999", 200),
    ):
        answer = edit(served, yaml=f"{OWN}title: {value}\n")
        assert answer.status_code == status, value
        if status == 422:
            assert answer.json()["detail"]
    found = edit(served, yaml=OWN, changes=[{"path": ["title"], "value": "2001-99-99"}]).json()
    assert found["document"]["title"] == "2001-99-99"
