"""The API of schemes, and the schema of scenarios: what a form of a page needs."""

from __future__ import annotations

from functools import partial
from typing import Any

import httpx
import pytest

from netkv import schemes
from netkv.schemes import metric_table
from netkv.schemes.spec import LabSpec
from tests.api.serving import Served
from tests.waiting import PATIENCE_S

get = partial(httpx.get, timeout=PATIENCE_S)


def details(served: Served, name: str) -> dict[str, Any]:
    found: dict[str, Any] = get(f"{served.url}/api/v1/schemes/{name}").json()
    return found


def test_schemes_are_listed_in_the_order_of_figures(served: Served) -> None:
    found = get(f"{served.url}/api/v1/schemes").json()
    assert [each["name"] for each in found["schemes"]] == [
        scheme.name for scheme in schemes.all_schemes()
    ]
    assert found["problems"] == []
    kinds = {each["name"]: each["kind"] for each in found["schemes"]}
    assert kinds["nocache"] == "forwarding"
    assert kinds["netcache"] == "switch-cache"
    assert kinds["coordimc"] == "coordinator"
    assert kinds["lake"] == "server-cards"
    assert kinds["client-cache"] == "client-cards"


def test_programs_of_a_scheme_can_be_opened(served: Served) -> None:
    programs = {each["tier"]: each["name"] for each in details(served, "distcache")["programs"]}
    assert programs.keys() == {"clients", "between", "servers"}
    for name in programs.values():
        assert get(f"{served.url}/api/v1/programs/{name}").status_code == 200


@pytest.mark.parametrize("scheme", schemes.all_schemes(), ids=lambda each: each.name)
def test_options_have_defaults_and_descriptions(served: Served, scheme: schemes.Scheme) -> None:
    found = details(served, scheme.name)
    properties = found["options_schema"].get("properties", {})
    assert properties.keys() == scheme.options.model_fields.keys()
    values = scheme.options.of(LabSpec())
    for name, about in properties.items():
        assert about["description"], name
        assert about["default"] == getattr(values, name), name
    assert [each["name"] for each in found["metrics"]] == [
        each.name for each in metric_table.of_scheme(scheme)
    ]


def test_options_have_limits_and_units(served: Served) -> None:
    properties = details(served, "netcache")["options_schema"]["properties"]
    assert properties["epoch"]["unit"] == "s"
    assert properties["epoch"]["exclusiveMinimum"] == 0
    assert properties["cache_entries"]["maximum"] == 65_536


def test_own_metrics_are_marked(served: Served) -> None:
    found = {each["name"]: each["own"] for each in details(served, "lake")["metrics"]}
    assert {name for name, own in found.items() if own} == {
        each.name for each in schemes.get("lake").metrics
    }


def test_unknown_scheme_is_not_found(served: Served) -> None:
    answer = get(f"{served.url}/api/v1/schemes/netcash")
    assert answer.status_code == 404
    assert "netcache" in answer.json()["detail"]


def test_schema_of_a_scenario_has_every_option(served: Served) -> None:
    schema = get(f"{served.url}/api/v1/scenarios/schema").json()
    assert {"lab", "workload", "schemes", "sweep"} <= schema["properties"].keys()
    lab = schema["$defs"]["LabSpec"]["properties"]
    assert lab["epoch"]["unit"] == "s"
    assert lab["servers"]["description"]
