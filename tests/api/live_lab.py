"""Fixtures of tests of labs through the API: one lab for most tests of a module, which leave it as
they have found it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.api.serving import serving_labs
from tests.waiting import PATIENCE_S, until

OPTIONS = {
    "scheme": "netcache",
    "set": [
        "lab.servers=4",
        "lab.server_processes=2",
        "lab.cache_entries=32",
        "lab.service_rate=20000",
        "lab.external_clients=2",
        "workload.keys=1000",
    ],
}
NODES = {"switch", "servers-0", "servers-1", "client", "controller", "external-1", "external-2"}


@dataclass
class Api:
    """A server, for requests below `/api/v1/labs`."""

    url: str

    def get(self, path: str = "", **query: Any) -> Any:
        return self.ask("GET", path, 200, **query)

    def post(self, path: str, body: object, status: int = 200, **query: Any) -> Any:
        return self.ask("POST", path, status, body, **query)

    def ask(self, method: str, path: str, status: int, body: object = None, **query: Any) -> Any:
        answer = httpx.request(
            method,
            f"{self.url}/api/v1/labs{path}",
            params=query,
            json={} if body is None and method != "GET" else body,
            timeout=PATIENCE_S,
        )
        assert answer.status_code == status, answer.text
        if status >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
        return answer.json()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API over a state directory of its own; its labs are taken down at the end."""
    with serving_labs(tmp_path_factory.mktemp("home")) as served:
        yield Api(served.url)


@pytest.fixture(scope="module")
def lab(api: Api) -> str:
    """A lab that is up; its name in paths."""
    made = api.post("", {"name": "one", **OPTIONS}, 202, wait=120)
    assert made["state"] == "ready", made["text"]
    return "/one"


@pytest.fixture
def load(api: Api, lab: str) -> Iterator[None]:
    """The load generator of the lab runs, at a rate that leaves the processors to other tests."""
    api.post(f"{lab}/load", {"running": True, "rate": 1000})
    yield
    api.post(f"{lab}/load", {"running": False})


def state_of(api: Api, lab: str, node: str) -> bool:
    return bool(api.get(f"{lab}/nodes/{node}")["node"]["running"])


def sampled(api: Api, lab: str) -> list[dict[str, Any]]:
    """The samples that the lab has, at least two with load."""

    def loaded() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = api.get(f"{lab}/samples")["samples"]
        return found if sum(each["throughput"] > 0 for each in found) > 1 else []

    return until(loaded, "the lab has samples")
