"""The HTTP API: figures, scenarios, requests of other web pages, start and end of the server."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import httpx
import pytest

from netkv.report.style import GREY, of_scheme
from netkv.runs import Store, StoreSink
from netkv.schemes import all_schemes
from tests.api.serving import Served, serving
from tests.runs.recorded_runs import record, start
from tests.waiting import PATIENCE_S, until

JSON = {"content-type": "application/json"}

# On a busy machine, drawing figures and reading all scenarios takes long.
get = partial(httpx.get, timeout=PATIENCE_S)
post = partial(httpx.post, timeout=PATIENCE_S)
request = partial(httpx.request, timeout=PATIENCE_S)
stream = partial(httpx.stream, timeout=PATIENCE_S)


PLOTS = [
    {"y": "throughput_ops", "x": "scheme", "title": "Throughput"},
    {"y": "lost_ops", "x": "time", "title": "Losses"},
    {"y": "served_by", "x": "scheme", "relative_to": {"scheme": "farreach"}, "title": "Missing"},
]


def test_figures_of_a_scenario_are_sent_and_downloadable(served: Served) -> None:
    with StoreSink(served.store) as sink:
        for scheme in ("nocache", "netcache"):
            record(sink, start(f"p-{scheme}", scheme, parameters={"plots": PLOTS}))
    runs = {"run": ["p-nocache", "p-netcache"]}
    document = get(f"{served.url}/api/v1/plots", params=runs).json()
    assert [figure["name"] for figure in document["figures"]] == ["throughput", "losses"]
    assert [trace["y"] for trace in document["figures"][1]["data"]] == [
        # A step has a point at both ends.
        [0.0] * 26 + [3.0] * 2 + [0.0] * 18
    ] * 2
    (reason,) = document["left_out"]
    assert reason.startswith("'Missing' cannot be drawn: ")
    for kind, media, begin in (
        ("svg", "image/svg+xml", b"<?xml"),
        ("png", "image/png", b"\x89PN"),
        ("pdf", "application/pdf", b"%PDF-"),
        ("csv", "text/csv", b"Time (s),NoCache,NetCache\n"),
        ("tex", "application/x-tex", b"% Losses."),
    ):
        answer = get(f"{served.url}/api/v1/plots/losses.{kind}", params=runs)
        assert answer.headers["content-type"].startswith(media)
        assert answer.headers["content-disposition"] == f'attachment; filename="losses.{kind}"'
        assert answer.content.startswith(begin)
        again = get(f"{served.url}/api/v1/plots/losses.{kind}", params=runs)
        assert again.content == answer.content


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("/api/v1/plots?run=nope", 404, "There is no run 'nope'"),
        ("/api/v1/plots", 422, "'run': Field required"),
        ("/api/v1/plots/throughput.svg?run=plain", 404, "These runs have no figure 'throughput'"),
        ("/api/v1/plots/throughput.gif?run=plain", 422, "'svg', 'pdf', 'png', 'csv' or 'tex'"),
    ],
)
def test_unknown_figure_is_an_error_in_json(
    served: Served, path: str, status: int, reason: str
) -> None:
    with StoreSink(served.store) as sink:
        record(sink, start("plain"))
    answer = get(served.url + path)
    assert answer.status_code == status
    assert reason in answer.json()["detail"]


@pytest.mark.parametrize(
    "path",
    ["/api/v1/runs/nope", "/api/v1/runs/nope/series", "/api/v1/nope", "/api/v1/groups/x/verdicts"],
)
def test_unknown_resource_is_an_error_in_json(served: Served, path: str) -> None:
    answer = get(served.url + path)
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("There is no")


def test_body_that_is_no_json_is_explained(served: Served) -> None:
    answer = post(f"{served.url}/api/v1/jobs", content=b"{", headers=JSON)
    assert answer.status_code == 422
    assert "JSON" in answer.json()["detail"]


def test_api_styles_of_runs_are_those_of_the_figures(served: Served) -> None:
    looks = get(f"{served.url}/api/v1/looks").json()
    assert list(looks["schemes"]) == [scheme.name for scheme in all_schemes()]
    for name, own in looks["schemes"].items():
        for number, look in enumerate(own):
            style = of_scheme(name, number)
            assert look == {
                "line": style.plotly_line(),
                "marker": style.plotly_marker(),
                "bar": style.plotly_bar(),
            }
    assert looks["others"][0]["line"]["color"] == GREY


def test_scenarios_are_listed_with_their_duration(served: Served) -> None:
    scenarios = get(f"{served.url}/api/v1/scenarios").json()
    listed = {each["name"]: each for each in scenarios}
    quickstart, skew = listed["quickstart"], listed["netcache-skew"]
    assert quickstart["runs"] == 2
    assert 30 < quickstart["wall_seconds"] < 40
    assert (quickstart["wall_seconds_source"], quickstart["virtual_seconds"]) == ("estimated", None)
    assert skew["virtual_seconds"] == 16
    assert "seconds" not in skew, "a field without 'wall' or 'virtual' would be ambiguous"
    details = get(f"{served.url}/api/v1/scenarios/quickstart").json()
    assert details["options"]["workload"]["zipf"] == 0.99
    kinds = {scheme: each["kind"] for scheme, each in details["topologies"].items()}
    assert kinds == {"nocache": "rack", "netcache": "rack"}
    missing = get(f"{served.url}/api/v1/scenarios/quickstrat")
    assert missing.status_code == 404
    assert "quickstart" in missing.json()["detail"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_another_web_page_cannot_start_a_run(
    served: Served, headers: dict[str, str], status: int
) -> None:
    answer = post(
        f"{served.url}/api/v1/jobs",
        content=b'{"scenario": "quickstart"}',
        headers={**JSON, **headers},
    )
    assert answer.status_code == status
    assert answer.json()["detail"]
    assert get(f"{served.url}/api/v1/jobs").json() == {"active": [], "ended": []}


def test_dns_rebinding_cannot_read_results(served: Served) -> None:
    answer = get(f"{served.url}/api/v1/runs", headers={"host": "evil.example"})
    assert answer.status_code == 421


def test_page_and_its_scripts_have_their_media_types(served: Served) -> None:
    answer = get(served.url)
    assert answer.headers["content-type"].startswith("text/html")
    script = get(f"{served.url}/js/main.js")
    assert "javascript" in script.headers["content-type"]


def test_servers_of_one_process_share_nothing_but_routes(served: Served, tmp_path: Path) -> None:
    with StoreSink(served.store) as sink:
        record(sink, start("first"))
    first = f"{served.url}/api/v1/runs"
    with Store(f"sqlite:///{tmp_path}/other.db") as store, serving(store) as other:
        assert get(f"{other.url}/api/v1/runs").json()["total"] == 0
        assert get(first).json()["total"] == 1
    with stream("GET", f"{served.url}/api/v1/stream") as response:
        assert next(response.iter_lines()), "the end of the other server is not that of this one"
    assert get(first).json()["total"] == 1


def is_ready(url: str) -> bool:
    try:
        return get(f"{url}/api/v1/jobs").is_success
    except httpx.ConnectError:
        return False


def test_ctrl_c_ends_the_server_while_a_page_is_connected(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "netkv", "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={"NETKV_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=Path(__file__).parents[2],
    )
    with server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[1]
        until(partial(is_ready, url), "the server answers")
        with stream("GET", f"{url}/api/v1/stream") as response:
            lines = response.iter_lines()
            next(lines)
            server.send_signal(signal.SIGINT)
            assert server.wait(PATIENCE_S) == 0
        assert server.stderr.read() == ""


@pytest.mark.usefixtures("store")
def test_server_reports_a_port_in_use() -> None:
    from netkv.api.server import bound, run
    from netkv.errors import NetkvError

    with bound(0) as listener:
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(NetkvError, match=f"Port {port} on 127.0.0.1 cannot be used"):
            run(port)
