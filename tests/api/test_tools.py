"""Searches for faults and the calibration through the API: their list, and each as a job."""

from __future__ import annotations

import sys

import httpx
import pytest

from netkv.api.jobs import tools
from netkv.api.jobs.commands import Command
from netkv.api_client import ApiError, Client
from tests.api.serving import Served
from tests.waiting import PATIENCE_S


@pytest.fixture
def client(served: Served) -> Client:
    return Client(served.url, timeout=PATIENCE_S)


def test_every_tool_is_listed_with_the_options_of_its_command(served: Served) -> None:
    found = httpx.get(f"{served.url}/api/v1/tools", timeout=PATIENCE_S).json()
    options = {each["id"]: each["options_schema"]["properties"] for each in found}
    assert set(options) == {"soak", "p4-fuzz", "calibrate"}
    assert options["soak"]["seeds"]["anyOf"][0] == {"minimum": 1, "type": "integer"}
    assert "bmv2" not in options["p4-fuzz"], "a program of the machine"
    assert "program" not in options["soak"], "a file"
    assert all(each["summary"].endswith(".") for each in found)


def test_search_runs_as_a_job(client: Client) -> None:
    job = client.follow(client.submit_tool("soak", scheme="nocache", seeds=2, first=7).id)
    assert (job.kind, job.title, job.state, job.ok) == ("tool", "soak", "done", True)
    found = client.document(job)
    assert (found["ok"], found["scheme"], found["seeds"], found["violations"]) == (
        True,
        "nocache",
        2,
        [],
    )


def test_job_that_found_a_fault_is_not_ok(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = 'import json; print(json.dumps({"ok": False, "violations": [{}]})); exit(1)'
    monkeypatch.setattr(Command, "line", lambda *_: [sys.executable, "-c", printed])
    job = client.follow(client.submit_tool("soak", scheme="netcache").id)
    assert (job.state, job.ok) == ("done", False)
    assert client.document(job)["violations"] == [{}]


def test_job_that_cannot_search_says_why(client: Client) -> None:
    job = client.follow(client.submit_tool("soak", scheme="nocache", mutant="serve-pending").id)
    assert job.state == "failed"
    assert job.error is not None
    assert "The scheme 'nocache' has no mutant 'serve-pending'." in job.error


@pytest.mark.parametrize(
    ("name", "options", "field"),
    [
        ("soak", {"scheme": "netcache", "program": "other.p4"}, "options.program"),
        ("soak", {"scheme": "netcache", "out": "/etc/cron.d/x"}, "options.out"),
        ("p4-fuzz", {"bmv2": "sh"}, "options.bmv2"),
        ("p4-fuzz", {"packets": 0}, "options.packets"),
        ("calibrate", {"out": "profile.yaml"}, "options.out"),
    ],
)
def test_wrong_option_is_explained(
    client: Client, name: str, options: dict[str, object], field: str
) -> None:
    with pytest.raises(ApiError) as caught:
        client.submit_tool(name, **options)
    assert caught.value.status == 422
    assert [wrong.field for wrong in caught.value.errors] == [field]
    assert client.jobs().active == []


def test_unknown_tool_is_not_found(client: Client) -> None:
    with pytest.raises(ApiError, match=r"There is no tool 'soap'. Did you mean 'soak'") as it:
        client.submit_tool("soap")
    assert it.value.status == 404


def test_options_become_those_of_the_command() -> None:
    def line(name: str, **options: object) -> list[str]:
        return tools.find(name).command.line(options)[3:]

    assert line("calibrate") == ["calibrate", "--json"]
    assert line("soak", scheme="netcache", first=3, patience=0.5, jobs=1) == [
        *("soak", "--from=3", "--reduce=0.5", "--jobs=1", "--json", "netcache")
    ]
    assert line("p4-fuzz", generated=False, seconds=2.0) == [
        *("p4", "fuzz", "--seconds=2.0", "--no-generated", "--json")
    ]
