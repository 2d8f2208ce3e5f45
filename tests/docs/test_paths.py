"""Every file of the repository that a document or a comment names exists."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.documents import ROOT

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([\w.{},*/-]+/[\w.{},*/-]*)`")
_FILE = re.compile(r"`([\w-]+\.(?:py|rs|p4|sv|js))`")
_IN_A_COMMENT = re.compile(r'(?:#|//|/\*|^\s*\*|""").*')
_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")
_PLACEHOLDER = re.compile(r"[A-Z]{4,}")
_TOP = {it.name for it in ROOT.iterdir() if it.is_dir() and not it.name.startswith(".")}
_PATH = re.compile(rf"(?<![\w`/.{{-])((?:{'|'.join(sorted(_TOP))})/[\w./-]*\w)(?![\w{{}}*/<])")
_DOCUMENT = re.compile(r"(?<![\w/-])docs/[\w/-]+\.md")
MADE_BY_THE_READER = {
    "servers/sqlite.py",
    "learning.p4",
    "program.p4",
    "routes.py",
    "netkv/data/docs-site",
}
"""Files of examples that a reader writes, and what a reader builds."""
OF_OTHERS = {"run-bmv2-test.py"}
"""Files of other projects."""
SOURCES = {".css", ".js", ".p4", ".py", ".pyi", ".rs", ".sv", ".toml", ".yaml", ".yml"}


def _tracked() -> list[Path]:
    """The files of the repository, without those of others."""
    command = ["git", "ls-files", "-z", "--", ":!web/vendor"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


FILES = _tracked()
DOCUMENTS = [it for it in FILES if it.suffix == ".md"]


def alternatives(path: str) -> Iterator[str]:
    """The paths for which one with braces stands."""
    if (found := _ALTERNATIVES.search(path)) is None:
        yield path
        return
    for part in found[1].split(","):
        yield from alternatives(path[: found.start()] + part.strip() + path[found.end() :])


def missing(text: str) -> list[str]:
    """The paths in a text at which nothing is; a word in capitals stands for any name."""
    named = [span for span in _SPAN.findall(_FENCED.sub("", text)) if span.split("/")[0] in _TOP]
    return [
        path
        for span in named
        for path in alternatives(span)
        if path not in MADE_BY_THE_READER
        and not any(ROOT.glob(_PLACEHOLDER.sub("*", path).rstrip("/")))
    ]


def missing_in_comments(text: str) -> list[str]:
    """The documents that a source names, and other paths in its comments, at which nothing is."""
    comments = "\n".join(it[0] for line in text.splitlines() if (it := _IN_A_COMMENT.search(line)))
    named = dict.fromkeys((*_DOCUMENT.findall(text), *_PATH.findall(comments)))
    return [it for it in named if not _PLACEHOLDER.search(it) and not (ROOT / it).exists()]


def test_paths_with_alternatives_and_placeholders_are_found() -> None:
    assert missing("`netkv/schemes/{netcache,farreach}/` and `p4/NAME/`") == []
    assert missing("`netkv/schemes/{netcache,gone}.py`") == [
        "netkv/schemes/netcache.py",
        "netkv/schemes/gone.py",
    ]


def test_paths_in_comments_are_found() -> None:
    source = "a = b / c  # as in docs/use/p4.md\n/* (p4/gone.p4, p4/NAME/). */\nsee docs/gone.md\n"
    assert missing_in_comments(source) == ["docs/gone.md", "p4/gone.p4"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda it: str(it.relative_to(ROOT)))
def test_paths_in_a_document_exist(document: Path) -> None:
    assert missing(document.read_text()) == []


def test_file_names_in_documents_exist() -> None:
    """Names without a folder, such as that of a module of a package just named."""
    known = {it.name for it in FILES} | MADE_BY_THE_READER | OF_OTHERS
    gone = [
        (str(document.relative_to(ROOT)), name)
        for document in DOCUMENTS
        for name in _FILE.findall(_FENCED.sub("", document.read_text()))
        if name not in known and not _PLACEHOLDER.search(name)
    ]
    assert gone == []


def test_paths_in_sources_exist() -> None:
    """Documents and paths in back quotes anywhere, other paths in comments."""
    gone = [
        (str(source.relative_to(ROOT)), path)
        for source in FILES
        if source.suffix in SOURCES and source != Path(__file__)
        for text in [source.read_text(encoding="utf-8")]
        for path in (*missing(text), *missing_in_comments(text))
    ]
    assert gone == []
