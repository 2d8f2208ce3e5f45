"""Who may use a server, and what it refuses: token, names of the host, limits, hostile names."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from netkv.api import access, limits, tls, token
from netkv.api.server import bound, run
from netkv.errors import NetkvError, UsageError
from netkv.runs import Store, StoreSink
from tests.api.serving import Served, serving
from tests.runs.recorded_runs import record, start
from tests.waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[2]
JSON = {"content-type": "application/json"}
HTML = {"accept": "text/html,*/*"}

get = partial(httpx.get, timeout=PATIENCE_S)
post = partial(httpx.post, timeout=PATIENCE_S)


@pytest.fixture
def guarded(store: Store) -> Iterator[Served]:
    """A server on all addresses of this machine, which needs the token over 127.0.0.1 as well."""
    with serving(store, access.of("0.0.0.0", ["testbed.example"])) as served:
        yield served


def bearer() -> dict[str, str]:
    return {"authorization": f"Bearer {token.read()}"}


# ---------------------------------------------------------------------- the token


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
PATHS = ["/", "/js/main.js", "/docs", "/api/v1/runs", "/api/v1/openapi.json", "/api/v1/stream"]
PATHS += ["/api/v1/jobs", "/metrics", "/logout", "/nothing", "/../../etc/passwd"]


def test_without_the_token_there_is_only_401(guarded: Served) -> None:
    known = token.read()
    credentials = [
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {known}"},
        {"authorization": "Bearer wrong", "cookie": f"netkv-token={known}"},
        {"cookie": "netkv-token="},
        {"cookie": f"netkv-tok={known}"},
        {"host": "evil.example"},
        {"origin": "http://evil.example"},
    ]
    with httpx.Client(base_url=guarded.url, timeout=PATIENCE_S) as client:
        for method, path, headers in product(METHODS, PATHS, credentials):
            answer = client.request(method, path, headers=headers)
            assert answer.status_code == 401, (method, path, headers)
            assert answer.headers["www-authenticate"] == "Bearer"
            if method != "HEAD":
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.json()["detail"].endswith("on the machine of the server.")


def test_token_in_the_url_is_not_accepted(guarded: Served) -> None:
    answer = get(f"{guarded.url}/api/v1/runs", params={"token": token.read()})
    assert answer.status_code == 401


def test_token_opens_the_api_in_the_header_and_in_the_cookie(guarded: Served) -> None:
    known = token.read()
    for headers in (bearer(), {"cookie": f"other=1; netkv-token={known}"}):
        assert get(f"{guarded.url}/api/v1/runs", headers=headers).json()["runs"] == []
        assert get(guarded.url, headers=headers).headers["content-type"].startswith("text/html")


def test_browser_logs_in_with_the_form(guarded: Served) -> None:
    page = get(guarded.url, headers=HTML)
    assert page.status_code == 401
    assert '<form method="post" action="/login">' in page.text
    assert "<script" not in page.text
    policy = page.headers["content-security-policy"]
    assert "script-src" not in policy
    assert "default-src 'none'; style-src 'sha256-" in policy
    origin = {**HTML, "origin": guarded.url, "sec-fetch-site": "same-origin"}
    with httpx.Client(base_url=guarded.url, headers=origin, timeout=PATIENCE_S) as browser:
        wrong = browser.post("/login", data={"token": "wrong"})
        assert wrong.status_code == 401
        assert "This is not the token." in wrong.text
        right = browser.post("/login", data={"token": f" {token.read()}\n"})
        assert [right.status_code, right.headers["location"]] == [303, "/"]
        cookie = right.headers["set-cookie"]
        assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
        assert "Secure" not in cookie
        assert browser.get("/api/v1/runs").status_code == 200
        out = browser.post("/logout")
        assert out.status_code == 303
        assert browser.get("/api/v1/runs").status_code == 401


def test_form_of_another_site_cannot_log_in_or_out(guarded: Served) -> None:
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        answer = post(f"{guarded.url}/login", data={"token": token.read()}, headers=headers)
        assert answer.status_code == 401
        answer = post(f"{guarded.url}/logout", headers={**bearer(), **headers})
        assert answer.status_code == 403


def test_wrong_tokens_in_the_form_are_limited(
    guarded: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOGIN_DELAY_SECONDS", 0.0)
    url = f"{guarded.url}/login"
    for _ in range(limits.LOGIN_ATTEMPTS):
        assert post(url, data={"token": "wrong"}).status_code == 401
    limited = post(url, data={"token": token.read()})
    assert limited.status_code == 429
    assert limited.headers["retry-after"] == "60"
    assert get(f"{guarded.url}/api/v1/runs", headers=bearer()).status_code == 200
    monkeypatch.setattr(limits, "LOGIN_WINDOW_SECONDS", 0.0)
    assert post(url, data={"token": token.read()}).status_code == 303


@pytest.mark.parametrize("body", [b"token=" + b"a" * 5000, b"token=%FF", b"\xff", b"&" * 100])
def test_odd_forms_are_wrong_tokens(guarded: Served, body: bytes) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert post(f"{guarded.url}/login", content=body, headers=headers).status_code == 401


def test_replaced_token_is_refused_at_once(guarded: Served) -> None:
    old = bearer()
    token.make(replace=True)
    assert old != bearer()
    assert get(f"{guarded.url}/api/v1/runs", headers=old).status_code == 401
    assert get(f"{guarded.url}/api/v1/runs", headers=bearer()).status_code == 200
    token.file().chmod(0o644)
    assert get(f"{guarded.url}/api/v1/runs", headers=old).status_code == 401


@pytest.mark.usefixtures("store")
def test_token_file_is_for_its_owner_only() -> None:
    first = token.make()
    assert token.file().stat().st_mode & 0o777 == 0o600
    assert len(first) >= 43
    assert token.make() == first
    token.file().chmod(0o640)
    with pytest.raises(NetkvError, match="mode 640, so others may know the token"):
        token.make()
    with pytest.raises(NetkvError, match="mode 640"):
        run(0, host="0.0.0.0")
    second = token.make(replace=True)
    assert second != first
    token.file().write_text("short\n")
    with pytest.raises(NetkvError, match="has no token"):
        token.read()
    token.file().unlink()
    token.file().symlink_to("/etc/hostname")
    with pytest.raises(NetkvError, match="cannot be read"):
        token.make()


@pytest.mark.usefixtures("store")
def test_command_serves_other_addresses_with_the_token(tmp_path: Path) -> None:
    netkv = [sys.executable, "-m", "netkv"]
    with subprocess.Popen(
        [*netkv, "serve", "--host", "0.0.0.0", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as server:
        assert server.stderr is not None
        said = [server.stderr.readline() for _ in range(3)]
        port = urlsplit(said[0].split()[1]).port
        assert "'netkv token' prints" in said[1]
        assert "the token travels unencrypted" in said[2]
        url = f"http://127.0.0.1:{port}/api/v1/runs"
        assert get(url).status_code == 401
        printed = subprocess.run([*netkv, "token"], cwd=ROOT, check=True, capture_output=True)
        known = printed.stdout.decode().strip()
        assert get(url, headers={"authorization": f"Bearer {known}"}).status_code == 200
        subprocess.run([*netkv, "token", "--new"], cwd=ROOT, check=True, capture_output=True)
        assert get(url, headers={"authorization": f"Bearer {known}"}).status_code == 401
        assert (tmp_path / "server.json").stat().st_mode & 0o777 == 0o600
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE_S) == 0
        assert known not in server.stderr.read()
    assert not (tmp_path / "server.json").exists()


# ---------------------------------------------------------------------- names of the host


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("192.0.2.7:8400", 200),
        ("[2001:db8::1]:8400", 200),
        ("testbed.example", 200),
        ("Testbed.Example:80", 200),
        (socket.gethostname(), 200),
        ("evil.example", 421),
        ("testbed.example.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
        ("127.0.0.1:80:80", 421),
    ],
)
def test_server_of_all_addresses_knows_its_names(guarded: Served, host: str, status: int) -> None:
    answer = get(f"{guarded.url}/api/v1/runs", headers={**bearer(), "host": host})
    assert answer.status_code == status


def test_other_loopback_address_needs_no_token(store: Store) -> None:
    permitted = access.of("127.0.0.2")
    assert permitted.token is None
    assert not token.file().exists()
    with bound(0, permitted) as listener:
        assert listener.getsockname()[0] == "127.0.0.2"
    with serving(store, permitted) as served:
        url = served.url.replace("127.0.0.1", "127.0.0.2") + "/api/v1/runs"
        assert get(url).status_code == 200
        assert get(url, headers={"host": "192.0.2.7"}).status_code == 421


def test_token_can_be_required_on_loopback(store: Store) -> None:
    with serving(store, access.of("127.0.0.1", guarded=True)) as served:
        url = f"{served.url}/api/v1/runs"
        assert get(url).status_code == 401
        assert get(url, headers=bearer()).status_code == 200
        for host in ("evil.example", "192.0.2.7"):
            assert get(url, headers={**bearer(), "host": host}).status_code == 421


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "fe80::1", "::ffff:127.0.0.1"])
def test_every_address_but_loopback_has_a_token(host: str) -> None:
    assert access.of(host).token is not None


@pytest.mark.usefixtures("store")
def test_wrong_addresses_are_explained() -> None:
    with pytest.raises(UsageError, match="should be an IP address of this machine"):
        access.of("testbed.example")
    with pytest.raises(UsageError, match="without scheme and port"):
        access.of("0.0.0.0", ["http://testbed.example"])
    with pytest.raises(UsageError, match="for servers with a token"):
        access.of("::1", ["testbed.example"])
    with pytest.raises(NetkvError, match=r"on 192\.0\.2\.7 cannot be used"):
        run(0, host="192.0.2.7")


def test_origin_must_be_the_url_of_the_server(guarded: Served) -> None:
    url = f"{guarded.url}/api/v1/scenarios/check"
    for origin, status in ((guarded.url, 422), (guarded.url.replace("http", "https"), 403)):
        answer = post(url, content=b"{}", headers={**JSON, **bearer(), "origin": origin})
        assert answer.status_code == status


# ---------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tls.Certificate:
    """A certificate that signs itself."""
    directory = tmp_path_factory.mktemp("tls")
    for name in ("server", "other"):
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"]
        command += ["ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=netkv"]
        files = ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run([*command, *files], cwd=directory, check=True, capture_output=True)
    return tls.Certificate(directory / "server.pem", directory / "server.key")


def test_encrypted_server_sets_a_secure_cookie(store: Store, certificate: tls.Certificate) -> None:
    with serving(store, access.of("0.0.0.0"), certificate) as served:
        trust = ssl.create_default_context(cafile=certificate.cert)
        trust.check_hostname = False
        with httpx.Client(base_url=served.url, verify=trust, timeout=PATIENCE_S) as browser:
            answer = browser.post("/login", data={"token": token.read()})
            assert answer.status_code == 303
            assert "Secure" in answer.headers["set-cookie"].split("; ")
            assert browser.get("/api/v1/runs").json()["runs"] == []
            assert answer.headers["strict-transport-security"] == "max-age=86400"


def test_wrong_files_for_tls_are_explained(tmp_path: Path, certificate: tls.Certificate) -> None:
    other = certificate.key.with_name("other.key")
    with pytest.raises(UsageError, match="'--tls-key' is missing"):
        tls.checked(certificate.cert, None)
    with pytest.raises(UsageError, match="'--tls-cert' is missing"):
        tls.checked(None, certificate.key)
    with pytest.raises(NetkvError, match=r"nowhere\.pem cannot be read: No such file"):
        tls.checked(tmp_path / "nowhere.pem", certificate.key)
    with pytest.raises(NetkvError, match="is not that of the certificate"):
        tls.checked(certificate.cert, other)
    with pytest.raises(NetkvError, match="not a certificate and its key in PEM"):
        tls.checked(certificate.key, certificate.key)
    locked = tmp_path / "locked.key"
    command = ["openssl", "ec", "-aes256", "-passout", "pass:x", "-in", str(certificate.key)]
    subprocess.run([*command, "-out", str(locked)], check=True, capture_output=True)
    with pytest.raises(NetkvError, match="is encrypted"):
        tls.checked(certificate.cert, locked)
    assert tls.checked(None, None) is None


# ---------------------------------------------------------------------- limits


def connection(served: Served) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", urlsplit(served.url).port or 0), PATIENCE_S)
    opened.settimeout(PATIENCE_S)
    return opened


def head(served: Served, *more: str) -> bytes:
    host = urlsplit(served.url).netloc
    lines = ["POST /api/v1/jobs HTTP/1.1", f"Host: {host}", "Content-Type: application/json"]
    return "\r\n".join([*lines, *more, "", ""]).encode()


def status(opened: socket.socket) -> int:
    answer = http.client.HTTPResponse(opened)
    answer.begin()
    answer.read()
    return answer.status


def test_large_body_is_refused(served: Served) -> None:
    for sent in (b"x" * (limits.MAX_BODY + 1), iter([b"x" * 65536] * 40)):
        answer = post(f"{served.url}/api/v1/jobs", content=sent, headers=JSON)
        assert answer.status_code == 413
        assert answer.json()["detail"] == "The body of a request may have at most 2097152 bytes."


def test_large_body_is_refused_before_it_arrives(served: Served) -> None:
    with connection(served) as opened:
        opened.sendall(head(served, f"Content-Length: {10**12}"))
        assert status(opened) == 413
    with connection(served) as opened:
        opened.sendall(head(served, "Transfer-Encoding: chunked"))
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        for _ in range(limits.MAX_BODY // 65536 + 1):
            opened.sendall(chunk)
        assert status(opened) == 413


def test_slow_body_is_cut(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    with connection(served) as opened:
        opened.sendall(head(served, "Content-Length: 100") + b"{")
        assert status(opened) == 408


def test_slow_header_is_cut(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netkv.api.protocol.HEADER_SECONDS", 0.2)
    for sent in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n"):
        with connection(served) as opened:
            opened.sendall(sent)
            try:
                assert opened.recv(100) == b""
            except ConnectionResetError:
                continue


def test_malformed_request_gets_a_problem_document(served: Served) -> None:
    for sent in (
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"a" * 2 * limits.MAX_HEADER,
    ):
        with connection(served) as opened:
            opened.sendall(sent)
            answer = http.client.HTTPResponse(opened)
            answer.begin()
            assert answer.status == 400
            assert answer.getheader("content-type") == "application/problem+json"


def test_too_many_requests_get_a_problem_document(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_REQUESTS", 1)
    with httpx.stream("GET", f"{served.url}/api/v1/stream", timeout=PATIENCE_S) as stream:
        lines = stream.iter_lines()
        next(lines)
        busy = get(f"{served.url}/api/v1/runs")
        assert busy.status_code == 503
        assert busy.json()["detail"].startswith("1 requests are in progress")
    until(lambda: get(f"{served.url}/api/v1/runs").status_code == 200, "the stream has ended")


def test_requests_that_wait_are_limited(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_WAITING", 0)
    job = {"scenario": "quickstart"}
    for answer in (
        get(f"{served.url}/api/v1/jobs/any", params={"wait": 1}),
        post(f"{served.url}/api/v1/jobs", json=job, params={"wait": 1}),
    ):
        assert answer.status_code == 429
        assert "Ask without 'wait'" in answer.json()["detail"]
    assert get(f"{served.url}/api/v1/jobs").json()["active"] == []


# ---------------------------------------------------------------------- responses and names


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/js/main.js", 200),
        ("/nothing", 404),
        ("/api/v1/runs", 200),
        ("/api/v1/nothing", 404),
        ("/api/v1/jobs/x", 404),
    ],
)
def test_each_response_has_the_protecting_headers(served: Served, path: str, status: int) -> None:
    answer = get(served.url + path)
    assert answer.status_code == status
    found = answer.headers
    assert found["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
    assert found["x-content-type-options"] == "nosniff"
    assert found["referrer-policy"] == "no-referrer"
    assert found["cross-origin-opener-policy"] == "same-origin"
    assert found["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in found["permissions-policy"]
    assert "server" not in found
    if path.startswith("/api"):
        assert found["cache-control"] == "no-store"


def test_unexpected_error_has_the_headers_and_no_details(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(served.store, "search", broken)
    answer = get(f"{served.url}/api/v1/runs")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "content-security-policy" in answer.headers


HOSTILE = [
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..\\..\\etc\\passwd",
    "%00",
    "a%00b",
    "a%0d%0aset-cookie:%20x=1",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "~root",
    "-rf",
    "$(id)",
    "a;id",
    "%F0%9F%92%A9",
    "a" * 3000,
    "'%20OR%201=1--",
]
PLACES = [
    "runs/{}",
    "runs/{}/series",
    "jobs/{}",
    "jobs/{}/log",
    "jobs/{}/result",
    "scenarios/{}",
    "groups/{}/verdicts",
    "running-designs/{}",
    "plots/{}.svg?run=plain",
]


def test_names_in_urls_never_become_paths(served: Served) -> None:
    with StoreSink(served.store) as sink:
        record(sink, start("plain"))
    urls = [f"/api/v1/{place.format(name)}" for place in PLACES for name in HOSTILE]
    with httpx.Client(base_url=served.url, timeout=PATIENCE_S) as client:
        for url in urls:
            answer = client.get(url)
            assert answer.status_code in (404, 422), url
            assert answer.headers["content-type"] == "application/problem+json"
            assert "root:" not in answer.text
            assert "set-cookie" not in answer.headers
        for name in HOSTILE:
            answer = client.get(f"/{name}")
            assert answer.status_code == 404, name
            assert "root:" not in answer.text


@pytest.mark.usefixtures("slow_runner")
@pytest.mark.parametrize(
    "wrong",
    [
        {"scenario": "../scenarios/quickstart"},
        {"scenario": "--help"},
        {"scenario": "quickstart", "schemes": ["../netcache"]},
        {"scenario": "quickstart", "schemes": ["--group=x"]},
        {"scenario": "quickstart", "set": ["name=../../x"]},
        {"scenario": "quickstart", "set": ["--help"]},
        {"yaml": "name: ../../x\nschemes: [nocache]\n"},
        {"yaml": "name: !!python/object/apply:os.system [id]\nschemes: [nocache]\n"},
    ],
)
def test_names_in_requests_never_become_paths(served: Served, wrong: dict[str, object]) -> None:
    answer = post(f"{served.url}/api/v1/jobs", json=wrong)
    assert answer.status_code == 422, answer.text
    assert get(f"{served.url}/api/v1/jobs").json()["active"] == []


PORTS = ", ".join(
    f"{{node: {node}, number: {number}, via: eth0}}"
    for number, node in enumerate(["client", "servers-0", "external-1"], 1)
)
ELSEWHERE = [
    "lab.servers=1",
    "lab.external_clients=1",
    "lab.target=p4runtime://127.0.0.1:1",
    f"lab.switch={{config: /etc/passwd, p4info: /etc/passwd, ports: [{PORTS}]}}",
]


@pytest.mark.parametrize(
    ("place", "request_"),
    [
        ("jobs", {"document": {"name": "a", "schemes": ["netcache"]}}),
        ("labs", {"name": "a", "scheme": "netcache"}),
    ],
)
def test_request_cannot_name_files_or_hosts(
    served: Served, place: str, request_: dict[str, object]
) -> None:
    file = "a file of this machine cannot be named"
    hosts = "lab.hosts=[{name: a, ssh: 127.0.0.1, nodes: [switch]}]"
    for changes, text in (
        (ELSEWHERE, file),
        (["lab.profile=/etc/x.json"], file),
        ([hosts], "hosts that are reached with your SSH keys"),
    ):
        answer = post(f"{served.url}/api/v1/{place}", json={**request_, "set": changes})
        assert answer.status_code == 422
        assert text in answer.json()["detail"]


def test_title_of_a_figure_cannot_add_a_header(served: Served) -> None:
    title = 'a"; filename="x.html\r\nset-cookie: a=b/../..'
    with StoreSink(served.store) as sink:
        plots = [{"y": "throughput_ops", "x": "time", "title": title}]
        record(sink, start("plain", parameters={"plots": plots}))
    (figure,) = get(f"{served.url}/api/v1/plots", params={"run": "plain"}).json()["figures"]
    name = figure["name"]
    answer = get(f"{served.url}/api/v1/plots/{name}.svg", params={"run": "plain"})
    assert re.fullmatch(
        r'attachment; filename="[a-z0-9-]+\.svg"', answer.headers["content-disposition"]
    )
    assert "set-cookie" not in answer.headers


def test_operations_of_get_have_names_of_reads(served: Served) -> None:
    """By convention they begin with `list`, `show`, ...; names are checked here, not effects."""
    paths = get(f"{served.url}/api/v1/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            name = operation["operationId"]
            reads = re.match(r"(list|show|compare|stream|search|export|check|trace)", name)
            assert method != "get" or reads, f"GET {path} is '{name}'"


def test_no_command_goes_through_a_shell() -> None:
    shell = re.compile(
        r"shell\s*=\s*True|os\.system|os\.popen|getoutput|create_subprocess_shell|\bsh -c"
    )
    for file in (ROOT / "netkv").rglob("*.py"):
        found = shell.search(file.read_text(encoding="utf-8"))
        assert found is None, f"{file.relative_to(ROOT)}: {found and found[0]}"
