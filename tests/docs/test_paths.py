"""Every path of the repository that a document names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.documents import DOCUMENTS, ROOT

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([\w.{},*/-]+/[\w.{},*/-]*)`")
_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")
_PLACEHOLDER = re.compile(r"[A-Z]{4,}")
_TOP = {it.name for it in ROOT.iterdir() if it.is_dir() and not it.name.startswith(".")}
WRITTEN_BY_THE_READER = {"servers/sqlite.py"}
"""Files of examples that a reader writes."""


def alternatives(path: str) -> Iterator[str]:
    """The paths for which one with braces stands."""
    if (found := _ALTERNATIVES.search(path)) is None:
        yield path
        return
    for part in found[1].split(","):
        yield from alternatives(path[: found.start()] + part.strip() + path[found.end() :])


def missing(text: str) -> list[str]:
    """The paths in a document at which nothing is; a word in capitals stands for any name."""
    named = [span for span in _SPAN.findall(_FENCED.sub("", text)) if span.split("/")[0] in _TOP]
    return [
        path
        for span in named
        for path in alternatives(span)
        if path not in WRITTEN_BY_THE_READER
        and not any(ROOT.glob(_PLACEHOLDER.sub("*", path).rstrip("/")))
    ]


def test_paths_with_alternatives_and_placeholders_are_found() -> None:
    assert missing("`netkv/schemes/{netcache,farreach}/` and `p4/NAME/`") == []
    assert missing("`netkv/schemes/{netcache,gone}.py`") == [
        "netkv/schemes/netcache.py",
        "netkv/schemes/gone.py",
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda it: it.name)
def test_paths_in_a_document_exist(document: Path) -> None:
    assert missing(document.read_text()) == []
