"""The navigation of the site: that of docs/README.md, in its order, and the generated pages."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.documents import DOCUMENTS, ROOT

INDEX = ROOT / "docs/README.md"
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
_GROUP = re.compile(r"^(\w[^|\n]*):\n\n(?=1\. )", re.MULTILINE)
_LINKED = re.compile(r"\]\(([\w./-]+\.md)\)")

Sections = dict[str, dict[str, list[Path]]]
"""Title of a section → title of a group in it, or nothing → documents in reading order."""


def sections(text: str) -> Sections:
    """The sections of the index with the documents below docs/ that they list.

    A group is a list with a line above it that ends with a colon.
    """
    found: Sections = {}
    titles_and_parts = _HEADING.split(text)[1:]
    for title, part in zip(titles_and_parts[::2], titles_and_parts[1::2], strict=True):
        before, *groups = _GROUP.split(part)
        names = {"": before, **dict(zip(groups[::2], groups[1::2], strict=True))}
        listed = {name: _documents(section) for name, section in names.items()}
        found[title] = {name: documents for name, documents in listed.items() if documents}
    return {title: groups for title, groups in found.items() if groups}


def _documents(text: str) -> list[Path]:
    linked = [(INDEX.parent / path).resolve() for path in _LINKED.findall(text)]
    return list(dict.fromkeys(it for it in linked if it.is_relative_to(INDEX.parent)))


def page(document: Path) -> str:
    """The page of a document, as a path of the site's sources."""
    path = document.relative_to(ROOT)
    if document == INDEX:
        return "index.md"
    if path.parts[0] == "docs":
        return str(path.relative_to("docs"))
    if path.parts[0] == "examples":
        return "examples/index.md" if len(path.parts) == 2 else f"examples/{path.parts[1]}.md"
    return f"project/{path.stem.lower()}.md"


OTHERS = [it for it in DOCUMENTS if ROOT / "docs" not in it.parents]
"""The documents that are not below docs/; they are on the site, too."""


def omitted() -> list[str]:
    """The documents below docs/ that are not in a section of the index."""
    listed = {
        document
        for groups in sections(INDEX.read_text()).values()
        for documents in groups.values()
        for document in documents
    }
    below = {it for it in DOCUMENTS if ROOT / "docs" in it.parents and it != INDEX}
    return sorted(str(it.relative_to(ROOT)) for it in below - listed)
