"""Links between documents: which are wrong, and what they are on the site."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from tests.docs.documents import ROOT

_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:`[^`]*`|[^\[\]`])*)\]\((?P<target>[^)\s]+)\)")
_OTHERS = ("http:", "https:", "mailto:")


def targets(document: Path) -> Iterator[tuple[Path, str, str]]:
    """The links of a document within the repository: file, heading, and the text of the link."""
    for found in _LINK.finditer(_FENCED.sub("", document.read_text())):
        if not found["target"].startswith(_OTHERS):
            path, _, heading = found["target"].partition("#")
            file = (document.parent / path).resolve() if path else document
            yield file, heading, found["target"]


def headings(document: Path) -> set[str]:
    """The names by which links lead to the headings of a document, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", _FENCED.sub("", document.read_text()), re.MULTILINE)
    return {anchor(heading) for heading in found}


def anchor(heading: str) -> str:
    """The name of a heading in links."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def wrong(document: Path) -> list[str]:
    """The links of a document that lead to no file, or to no heading of it."""
    return [
        f"{document.relative_to(ROOT)}: {text}"
        for file, heading, text in targets(document)
        if not file.exists() or (heading and heading not in headings(file))
    ]


def outside_of_blocks(text: str, change: Callable[[str], str]) -> str:
    """The text with what is outside of fenced blocks changed."""
    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


def rewritten(
    text: str, document: Path, pages: Mapping[Path, str], out: Callable[[str, Path], str]
) -> str:
    """The text of a document with its links as they are on the site.

    `pages`: the page or image of the site that is made of a file of the repository. `out`: the
    Markdown for a link, given its text, to a file that is not on the site.
    """
    here = PurePosixPath(pages[document]).parent

    def link(found: re.Match[str]) -> str:
        path, mark, heading = found["target"].partition("#")
        if found["target"].startswith(_OTHERS) or not path:
            return found[0]
        file = (document.parent / path).resolve()
        if file in pages:
            target = f"{os.path.relpath(pages[file], here)}{mark}{heading}"
            return f"{found['image']}[{found['text']}]({target})"
        return out(found["text"], file.relative_to(ROOT))

    return outside_of_blocks(text, lambda part: _LINK.sub(link, part))
