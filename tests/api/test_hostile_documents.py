"""Documents of requests that expand, nest or never end: each is refused, and others are served."""

from __future__ import annotations

import errno
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from netkv.api import limits, problems, sandbox
from netkv.api.app import openapi
from netkv.api.body import nested_too_deeply
from netkv.api.errors import LimitError
from netkv.errors import OptionsError, UsageError, WrongOption
from tests.api.serving import Served
from tests.scenarios.test_yaml_limits import HOSTILE
from tests.waiting import PATIENCE_S, until

get = partial(httpx.get, timeout=PATIENCE_S)
post = partial(httpx.post, timeout=PATIENCE_S)

OWN = "name: own\nschemes: [nocache]\nmode: sim\nduration: 1\n"
TEXTS = {name: text for name, text in HOSTILE.items() if "\ud800" not in text}


@pytest.mark.parametrize("route", ["scenarios/check", "scenarios/edit", "jobs"])
def test_every_hostile_text_is_refused_with_a_sentence(served: Served, route: str) -> None:
    for name, text in TEXTS.items():
        answer = post(f"{served.url}/api/v1/{route}", json={"yaml": text[:200_000]})
        if route == "scenarios/edit" and name == "a large exponent":
            continue  # it is YAML; the value is checked by other routes
        assert answer.status_code == 422, (name, answer.text)
        assert answer.json()["detail"]
    assert post(f"{served.url}/api/v1/scenarios/check", json={"yaml": OWN}).status_code == 200


@pytest.mark.parametrize("value", ["[" * 1000, "*a", "&a [*a]", "9" * 190, "!!set {a}"])
def test_hostile_change_is_refused(served: Served, value: str) -> None:
    item = f"seed={value}"[:200]
    for route, more in (
        ("scenarios/check", {"scenario": "quickstart"}),
        ("scenarios/edit", {"scenario": "quickstart"}),
        ("jobs", {"scenario": "quickstart"}),
        ("labs", {"name": "a", "scheme": "nocache"}),
    ):
        answer = post(f"{served.url}/api/v1/{route}", json={**more, "set": [item]})
        if route == "scenarios/edit" and value.isdigit():
            continue
        assert answer.status_code == 422, (route, answer.text)


def test_hostile_requests_at_once_do_not_stop_the_others(served: Served) -> None:
    """More requests than the server has threads, as a script sends them."""
    bodies = [{"yaml": text[:200_000]} for text in list(TEXTS.values())[:15] * 3]
    with ThreadPoolExecutor(len(bodies)) as pool:
        answers = [
            pool.submit(post, f"{served.url}/api/v1/scenarios/{route}", json=body)
            for body, route in zip(bodies, ["check", "edit", "check"] * 15, strict=True)
        ]
        while not all(each.done() for each in answers):
            assert get(f"{served.url}/api/v1/scenarios/quickstart").status_code == 200
        assert {each.result().status_code for each in answers} <= {200, 422, 429}
    assert post(f"{served.url}/api/v1/scenarios/check", json={"yaml": OWN}).status_code == 200


def _routes() -> list[tuple[str, str]]:
    return [
        (method, path)
        for path, methods in openapi()["paths"].items()
        for method, about in methods.items()
        if "requestBody" in about
    ]


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 500, "[" * 900 + "]" * 900])
def test_deep_json_is_refused_by_every_route(served: Served, deep: str) -> None:
    assert len(_routes()) > 10
    for method, path in _routes():
        answer = httpx.request(
            method,
            f"{served.url}{path.replace('{', '').replace('}', '')}",
            content=deep,
            headers={"content-type": "application/json"},
            timeout=PATIENCE_S,
        )
        assert answer.status_code == 422, path
        assert "nested too deeply" in answer.json()["detail"]


@pytest.mark.parametrize(
    "document",
    [
        {"name": "t", "schemes": [["x"] * 200] * 200},
        {"name": "t", "schemes": ["x"] * 30_000},
        {"name": "t" * 100_000, "schemes": ["nocache"]},
        {"name": "t", "schemes": ["nocache"], "seed": 10**300},
        {"name": "t", "schemes": ["nocache"], "lab": {"a": [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}},
        {str(it): it for it in range(15_000)},
        {"name": "t", "schemes": ["nocache"], "sweep": {"seed": [[]]}},
        {"name": "t", "schemes": ["nocache"], "events": [{"at": "x"}] * 4000},
    ],
)
def test_large_json_document_is_refused(served: Served, document: dict[str, Any]) -> None:
    answer = post(f"{served.url}/api/v1/scenarios/check", json={"document": document})
    assert answer.status_code == 422
    assert len(answer.json()["detail"]) < 20_000


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/a/job.json"), 503),
        (OSError(errno.EROFS, "Read-only file system"), 503),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 500),
    ],
)
async def test_full_disk_of_the_server_is_a_sentence(error: OSError, status: int) -> None:
    app = FastAPI()
    problems.install(app)

    @app.get("/")
    def fails() -> None:
        raise error

    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
        answer = await client.get("/")
    assert answer.status_code == status
    assert (str(error.strerror) in answer.json()["detail"]) is (status == 503)


def test_json_that_is_no_number_of_python_is_refused(served: Served) -> None:
    for text in ('{"seed": ' + "9" * 5000 + "}", '{"repeat": NaN}', '{"repeat": 1e999}', "\0", "{"):
        answer = post(
            f"{served.url}/api/v1/scenarios/check",
            content=text,
            headers={"content-type": "application/json"},
        )
        assert answer.status_code in (400, 422), text[:20]
        assert answer.json()["detail"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b'{"seed": ' + b"9" * 5000 + b"}", "a number of more than 4,300 digits"),
        (b'{"yaml": "\xff"}', "not UTF-8: its byte 11 begins no character"),
    ],
)
def test_body_that_json_cannot_read_gets_a_reason(
    served: Served, text: bytes, sentence: str
) -> None:
    answer = post(
        f"{served.url}/api/v1/scenarios/check",
        content=text,
        headers={"content-type": "application/json"},
    )
    assert (answer.status_code, sentence in answer.json()["detail"]) == (400, True), answer.text


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        (b"", False),
        (b"[" * limits.MAX_JSON_DEPTH + b"]" * limits.MAX_JSON_DEPTH, False),
        (b"[" * (limits.MAX_JSON_DEPTH + 1), True),
        (b'{"a":' * (limits.MAX_JSON_DEPTH + 1), True),
        (b"[]," * 1000, False),
        (json.dumps("[" * 1000).encode(), False),
        (b'"' + b'\\"' * 100 + b"[" * 100 + b'"', False),
        (b'"\\\\"' + b"[" * 100, True),
        (b'"' + b"[" * 100, False),
    ],
)
def test_depth_of_json_counts_brackets_outside_texts(text: bytes, deep: bool) -> None:
    assert nested_too_deeply(text, limits.MAX_JSON_DEPTH) is deep


# ------------------------------------------------------------------------ processes with limits


def _forever(_: object) -> None:
    while True:
        pass


def _much(_: object) -> int:
    return len(bytearray(8 << 30))


def _broken(_: object) -> None:
    raise ZeroDivisionError("in the work")


def _wrong(_: object) -> None:
    raise OptionsError([WrongOption("lab.servers", "x.yaml:3", "is wrong.")])


def _process(_: object) -> int:
    import os

    return os.getpid()


def test_work_that_never_ends_is_killed_and_the_next_one_works() -> None:
    checks = sandbox.Sandbox(keeps=True)
    first = checks.run(_process, None, "The work")
    assert checks.run(_process, None, "The work") == first
    with pytest.raises(LimitError, match=r"takes longer than 0\.2 s"):
        checks.run(_forever, None, "The work", seconds=0.2)
    with pytest.raises(LimitError, match="2 GiB of memory"):
        checks.run(_much, None, "The work")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        checks.run(_broken, None, "The work")
    assert checks.run(_process, None, "The work") != first
    with pytest.raises(OptionsError) as error:
        checks.run(_wrong, None, "The work")
    assert error.value.wrong[0].option == "lab.servers"
    assert isinstance(error.value, UsageError)
    checks.close()


def test_processes_are_new_for_each_program() -> None:
    programs = sandbox.Sandbox()
    found = {programs.run(_process, None, "The work") for _ in range(2)}
    assert len(found) == 2


def test_request_beyond_those_that_wait_is_refused() -> None:
    checks = sandbox.Sandbox(waiting=0, keeps=True)
    with ThreadPoolExecutor(sandbox.MAX_PROCESSES) as pool:
        busy = [
            pool.submit(checks.run, _forever, None, "The work", 3.0)
            for _ in range(sandbox.MAX_PROCESSES)
        ]
        until(lambda: checks._admitted._value == 0, "all work")
        with pytest.raises(LimitError, match="Try again later"):
            checks.run(_process, None, "The work")
        assert all(isinstance(each.exception(), LimitError) for each in busy)
