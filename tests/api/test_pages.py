"""The files of the dashboard: served as they are now, and not again to a browser that has them."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from netkv import resources
from netkv.api.server import HOST, bound
from netkv.runs import Store
from tests.api.serving import Served, serving
from tests.waiting import PATIENCE_S

get = partial(httpx.get, timeout=PATIENCE_S)


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """A directory with the files of a dashboard."""
    directory = tmp_path / "resources" / "web"
    directory.mkdir(parents=True)
    (directory / "index.html").write_text("<p>page</p>")
    (directory / "main.js").write_text("1;")
    return directory


@pytest.fixture
def own(
    store: Store,
    web: Path,
    own_application: None,  # noqa: ARG001 (builds routes to these files)
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Served]:
    """A server of these files."""
    monkeypatch.setattr(resources, "path", lambda _name: web)
    with serving(store) as served:
        yield served


def test_file_that_a_browser_has_is_not_sent_again(own: Served) -> None:
    first = get(f"{own.url}/main.js")
    assert first.text == "1;"
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert first.headers["cache-control"] == "no-cache"
    for known in (
        {"if-none-match": first.headers["etag"]},
        {"if-modified-since": first.headers["last-modified"]},
    ):
        again = get(f"{own.url}/main.js", headers=known)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["cache-control"] == "no-cache"


def test_changed_file_is_sent_as_it_is_now(own: Served, web: Path) -> None:
    file = web / "main.js"
    first = get(f"{own.url}/main.js")
    before = file.stat()
    # Also a change of the same length, and one within the resolution of the header.
    for text, later_ns in (("2;", 1_000_000), ("33;", 0)):
        file.write_text(text)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + later_ns))
        answer = get(f"{own.url}/main.js", headers={"if-none-match": first.headers["etag"]})
        assert (answer.status_code, answer.text) == (200, text)


def test_head_has_the_headers_of_get(own: Served) -> None:
    answer = httpx.head(f"{own.url}/", timeout=PATIENCE_S)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(len("<p>page</p>"))


def test_deleted_file_is_not_found(own: Served, web: Path) -> None:
    assert get(f"{own.url}/main.js").status_code == 200
    (web / "main.js").unlink()
    assert get(f"{own.url}/main.js").status_code == 404


async def test_small_answers_are_sent_at_once() -> None:
    """Else a browser waits 40 ms for each: its kernel delays the acknowledgement for the header,
    and that of the server the body until it comes."""
    found: asyncio.Queue[int] = asyncio.Queue()

    async def accepted(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        found.put_nowait(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with bound(0) as listener:
        async with await asyncio.start_server(accepted, sock=listener):
            _, writer = await asyncio.open_connection(HOST, listener.getsockname()[1])
            assert await asyncio.wait_for(found.get(), PATIENCE_S)
            writer.close()


@pytest.fixture
def documented(
    store: Store,
    tmp_path: Path,
    own_application: None,  # noqa: ARG001 (builds routes to this site)
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Served]:
    """A server of the documentation's site `tmp_path / "site"`, which is not built yet."""
    monkeypatch.setattr(resources, "site", lambda: tmp_path / "site")
    with serving(store) as served:
        yield served


def test_documentation_says_how_to_build_it(documented: Served) -> None:
    """The dashboard's links lead there whether the site was built or not."""
    for path in ("", "use/scenarios.html"):
        answer = get(f"{documented.url}/docs-site/{path}")
        assert answer.status_code == 200
        assert "make docs-site" in answer.text


def test_documentation_is_served_once_it_is_built(documented: Served, tmp_path: Path) -> None:
    (tmp_path / "site/use").mkdir(parents=True)
    (tmp_path / "site/index.html").write_text("first")
    (tmp_path / "site/use/scenarios.html").write_text("page")
    assert get(f"{documented.url}/docs-site", follow_redirects=True).text == "first"
    page = get(f"{documented.url}/docs-site/use/scenarios.html")
    assert page.text == "page"
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'; style-src 'self' 'unsafe-inline'" in policy
    assert get(f"{documented.url}/docs-site/nothing.html").status_code == 404
    assert get(f"{documented.url}/docs-site/../../secret").status_code == 404
