"""Documents include parts of files as they are now."""

from __future__ import annotations

import pytest

from tests import includes
from tests.docs.documents import ROOT

CODE = """\
one = 1

def two():
    a = 2

    return a

three = f(
    3,
)
"""


def test_documents_have_the_parts_that_files_have_now() -> None:
    documents = {path: path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))}
    assert any("<!-- begin include " in text for text in documents.values())
    for path, text in documents.items():
        assert includes.updated(text) == text, f"{path.name}: run 'make docs'"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("def two", "def two():\n    a = 2\n\n    return a\n"),
        ("three", "three = f(\n    3,\n)\n"),
        ("one", "one = 1\n"),
    ],
)
def test_block_ends_where_the_indentation_does(words: str, part: str) -> None:
    assert includes.block(CODE, words) == part


def test_block_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(includes.NoSuchPartError):
        includes.block(CODE, "def four")
