"""Benchmarks through the API: their list, and each as a job."""

from __future__ import annotations

import httpx
import pytest
import typer

from netkv.api.jobs import benchmarks
from netkv.api.models.jobs import Job
from netkv.api_client import ApiError, Client, JobError
from netkv.bench import catalogue
from netkv.cli import bench, p4
from tests.api.serving import Served
from tests.waiting import PATIENCE_S, until


@pytest.fixture
def client(served: Served) -> Client:
    return Client(served.url, timeout=PATIENCE_S)


def test_every_benchmark_is_listed(served: Served) -> None:
    found = httpx.get(f"{served.url}/api/v1/benchmarks", timeout=PATIENCE_S).json()
    commands = {f"bench {name}" for name in typer.main.get_command(bench.app).commands}  # type: ignore[attr-defined]
    assert "bench" in typer.main.get_command(p4.app).commands  # type: ignore[attr-defined]
    assert {each["name"] for each in found} == commands | {"p4 bench", "bench"}
    assert len({each["id"] for each in found}) == len(found)
    assert {each["name"] for each in found if each["in_suite"]} == {
        each.name for each in catalogue.in_suite()
    }
    assert all(each["seconds"] > 0 for each in found)
    options = {each["id"]: each["options_schema"] for each in found}
    seconds = options["e2e"]["properties"]["seconds"]
    assert (seconds["default"], seconds["minimum"], seconds["type"]) == (3.0, 0.1, "number")
    assert options["fpga"]["required"] == ["design"]


def test_benchmark_runs_as_a_job(client: Client) -> None:
    found = client.benchmark("startup", rounds=1)
    assert found["seconds"]
    assert found["ratios"]
    (job,) = client.jobs().ended
    assert (job.kind, job.title, job.state, job.ok) == ("benchmark", "bench startup", "done", True)
    assert job.request == {"benchmark": "startup", "options": {"rounds": 1}}
    assert client.job(job.id).runs == []
    assert "[1/" in client.log(job.id)


def test_benchmark_shows_its_progress_and_is_cancelled(client: Client) -> None:
    job = client.submit_benchmark("startup", rounds=100)
    until(lambda: client.job(job.id).state != "queued", "it has begun")
    waiting = client.submit_benchmark("startup")
    assert (waiting.state, waiting.position) == ("queued", 1)
    assert waiting.expected_seconds == 15

    def begun() -> Job | None:
        now = client.job(job.id)
        return now if now.progress is not None and now.progress.done else None

    running = until(begun, "the first step is over")
    assert running.state == "running"
    assert running.progress is not None
    assert 0 < running.progress.fraction < 1
    assert running.progress.left_seconds is not None
    assert client.cancel(waiting.id).state == "cancelled"
    assert client.cancel(job.id, wait=PATIENCE_S).state == "cancelled"
    with pytest.raises(JobError, match="is cancelled"):
        client.document(client.job(job.id))


@pytest.mark.parametrize(
    ("name", "options", "field", "reason"),
    [
        ("startup", {"rounds": 0}, "options.rounds", "greater than or equal to 1"),
        ("startup", {"rounds": "3"}, "options.rounds", "it should be a whole number"),
        ("startup", {"round": 3}, "options.round", "not permitted"),
        ("fpga", {}, "options.design", "required"),
        ("e2e", {"program": "/etc/passwd"}, "options.program", "should match pattern"),
        ("e2e", {"program": "--help"}, "options.program", "should match pattern"),
        ("e2e", {"plot": ["figure.svg"]}, "options.plot", "not permitted"),
        ("memcached", {"write": "table.md"}, "options.write", "not permitted"),
    ],
)
def test_wrong_option_is_explained(
    client: Client, name: str, options: dict[str, object], field: str, reason: str
) -> None:
    with pytest.raises(ApiError) as caught:
        client.submit_benchmark(name, **options)
    assert caught.value.status == 422
    (wrong,) = caught.value.errors
    assert wrong.field == field
    assert reason in wrong.detail
    assert client.jobs().active == []


def test_unknown_benchmark_is_not_found(client: Client) -> None:
    with pytest.raises(ApiError, match=r"There is no benchmark 'redi'. Did you mean 'redis'") as it:
        client.submit_benchmark("redi")
    assert it.value.status == 404


def test_options_become_those_of_the_command() -> None:
    def command(name: str, **options: object) -> list[str]:
        return benchmarks.find(name).command.line(options)[3:]

    assert command("all") == ["bench", "--json"]
    assert command("e2e", stores=False, value_size=[64, 128], program=None) == [
        *("bench", "e2e", "--value-size=64", "--value-size=128", "--no-stores", "--json")
    ]
    assert command("p4", sweep="none", programs=["netcache"]) == [
        *("p4", "bench", "--sweep=none", "--json", "netcache")
    ]
    assert command("fpga", design="lake") == ["bench", "fpga", "--json", "lake"]
    for each in benchmarks.entries():
        assert each.command.schema["properties"]
