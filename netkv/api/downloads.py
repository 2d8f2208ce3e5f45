"""Answers that a browser stores as a file."""

from __future__ import annotations

import re

from starlette.responses import Response

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def download(content: str | bytes, media: str, name: str, suffix: str) -> Response:
    """A file of that name, in which everything is replaced that a header or a file system may take
    for something else."""
    safe = _UNSAFE.sub("-", name).strip(".-") or "netkv"
    headers = {"content-disposition": f'attachment; filename="{safe}.{suffix}"'}
    return Response(content, media_type=media, headers=headers)
