"""The files of the dashboard, and the site of the documentation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from netkv import resources
from netkv.api.headers import SITE_POLICY

_OF_API = ("/api", "/metrics")


def routes() -> list[BaseRoute]:
    """The site of the documentation below `/docs-site/`, and the dashboard: every path that is not
    one of the API."""
    return [
        Route("/docs-site", lambda _: RedirectResponse("docs-site/")),
        _Pages("/docs-site", _Site(directory=resources.site(), html=True, check_dir=False)),
        _Pages("/", _Files(directory=resources.path("web"), html=True), name="page"),
    ]


class _Pages(Mount):
    """It leaves the paths of the API to the API, and refuses changes: otherwise it would answer 404
    where a path exists, and the method does not."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        if match is Match.NONE or scope["path"].startswith(_OF_API):
            return Match.NONE, {}
        return (match if scope["method"] in ("GET", "HEAD") else Match.PARTIAL), found


class _Files(StaticFiles):
    """Files, whose contents stay in memory until they change: a view has some forty, and passing
    one through a thread in parts takes the server longer than all else of the request.

    The browser revalidates its cached copies at each request.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._contents: dict[str, tuple[tuple[int, int], bytes]] = {}

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["cache-control"] = "no-cache"
        if not isinstance(response, FileResponse):
            return response  # The browser has it.
        content = self._content(str(full_path), stat_result)
        headers = {name: response.headers[name] for name in ("etag", "last-modified")}
        headers["cache-control"] = "no-cache"
        return Response(content, status_code, headers, response.media_type)

    def _content(self, path: str, found: os.stat_result) -> bytes:
        version = (found.st_mtime_ns, found.st_size)
        kept = self._contents.get(path)
        if kept is None or kept[0] != version:
            kept = self._contents[path] = version, Path(path).read_bytes()
        return kept[1]

    async def get_response(self, path: str, scope: Scope) -> Response:
        return await super().get_response("docs.html" if path == "docs" else path, scope)


class _Site(StaticFiles):
    """The site of the documentation. Until it is built, each path has a page that says so."""

    async def check_config(self) -> None:
        """The directory may be missing."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if not resources.site().is_dir():
            return FileResponse(resources.path("web") / "no-docs.html")
        response = await super().get_response(path, scope)
        response.headers["content-security-policy"] = SITE_POLICY
        response.headers["cache-control"] = "no-cache"
        return response
