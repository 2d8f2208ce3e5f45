"""The OpenAPI document: complete, with examples that the models accept."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from netkv.api.description import TAGS
from netkv.api.models.jobs import Job, ScenarioRequest
from netkv.api.problems import Problem
from tests.api.serving import Served
from tests.waiting import PATIENCE_S

ALWAYS = {"401", "403", "421", "503"}
OF_BODIES = {"408", "413", "415"}


@pytest.fixture
def document(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(
        f"{served.url}/api/v1/openapi.json", timeout=PATIENCE_S
    ).json()
    return found


def test_each_operation_is_described(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], path
            assert operation["description"], path
            assert set(operation["tags"]) <= set(TAGS), path
            expected = ALWAYS | (OF_BODIES if method != "get" else set())
            assert expected <= set(operation["responses"]), path
            assert all(
                each.get("description") or "$ref" in each
                for each in (operation["responses"].values())
            ), path
    assert {tag["name"] for tag in document["tags"]} == set(TAGS)


def test_references_of_the_description_exist(document: dict[str, Any]) -> None:
    def check(part: Any) -> None:
        if isinstance(part, dict):
            if isinstance(reference := part.get("$ref"), str):
                found: Any = document
                for step in reference.removeprefix("#/").split("/"):
                    found = found[step]
            for each in part.values():
                check(each)
        elif isinstance(part, list):
            for each in part:
                check(each)

    check(document)


def test_description_names_the_token(document: dict[str, Any]) -> None:
    schemes = document["components"]["securitySchemes"]
    assert schemes["token"]["scheme"] == "bearer"
    assert schemes["cookie"]["name"] == "netkv-token"
    assert document["security"] == [{}, {"token": []}, {"cookie": []}]
    assert document["servers"][0]["url"] == "/"


def test_examples_of_the_description_are_valid(document: dict[str, Any]) -> None:
    for model in (ScenarioRequest, Job, Problem):
        examples = document["components"]["schemas"][model.__name__]["examples"]
        assert examples
        for example in examples:
            model.model_validate(example)


def test_examples_of_requests_can_run(served: Served, document: dict[str, Any]) -> None:
    for example in document["components"]["schemas"]["ScenarioRequest"]["examples"]:
        answer = httpx.post(
            f"{served.url}/api/v1/scenarios/check", json=example, timeout=PATIENCE_S
        )
        assert answer.status_code == 200, answer.text


def test_each_schema_has_a_title_of_its_own(document: dict[str, Any]) -> None:
    """Generators of clients name classes after titles, and drop the second of one name."""
    titles = {name: schema["title"] for name, schema in document["components"]["schemas"].items()}
    assert titles == {name: name for name in titles}
    assert not [name for name in titles if not name.isidentifier()]
    assert {"TraceRequest", "TraceRequestInput"} <= set(titles)


def test_names_of_columns_and_orders_are_listed(document: dict[str, Any]) -> None:
    def parameter(path: str, name: str) -> dict[str, Any]:
        found = document["paths"][f"/api/v1{path}"]["get"]["parameters"]
        return next(each["schema"] for each in found if each["name"] == name)

    known, option = parameter("/runs", "sort")["anyOf"]
    assert {"started_at", "throughput_ops", "acked_writes_lost"} <= set(known["enum"])
    assert re.fullmatch(option["pattern"], "workload.zipf")
    known, _ = parameter("/runs/{run_id}/series", "columns")["items"]["anyOf"]
    assert {"throughput_ops", "hit_ratio", "latency_p99_us", "server_load"} <= set(known["enum"])
